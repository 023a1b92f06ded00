"""The runtime configs of examples/install: what they lock down, and whether the programs serve their probes.

tests/integration/test_packages.py applies them to Crossplane.
"""

from __future__ import annotations

from typing import Any

import click
import pytest
import yaml

from function.main import main as function
from provider.main import main as provider
from xpkg.__main__ import ROOT

INSTALL = ROOT / "examples" / "install"
USER = 2000


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((INSTALL / name).read_text()))


CONFIGS = {config["metadata"]["name"]: config for config in documents("runtime-config.yaml")}


def pod(name: str) -> Any:
    return CONFIGS[name]["spec"]["deploymentTemplate"]["spec"]["template"]["spec"]


def container(name: str) -> Any:
    [found] = pod(name)["containers"]
    return found


def default(command: click.Command, flag: str) -> Any:
    [option] = [one for one in command.params if flag in one.opts]
    return option.default


def test_each_package_with_a_process_has_its_config() -> None:
    refers = {
        package["kind"]: package["spec"].get("runtimeConfigRef", {}).get("name")
        for package in documents("packages.yaml")
    }
    assert refers == {
        "Function": "edgetenants-function",
        "Provider": "edgetenants-provider",
        "Configuration": None,
    }
    assert set(CONFIGS) == {"edgetenants-function", "edgetenants-provider"}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_pod_meets_the_standard_restricted(name: str) -> None:
    assert pod(name)["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(name)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("name", CONFIGS)
def test_crossplane_finds_the_container_and_it_has_a_memory_limit(name: str) -> None:
    assert container(name)["name"] == "package-runtime"
    assert set(container(name)["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container(name)["resources"]["limits"]) == {"memory"}


def test_the_providers_probes_ask_where_it_serves_them() -> None:
    probes = container("edgetenants-provider")
    port = default(provider, "--health-port")
    assert probes["livenessProbe"] == {"httpGet": {"path": "/healthz", "port": port}}
    assert probes["readinessProbe"] == {"httpGet": {"path": "/readyz", "port": port}}


def test_the_functions_probes_ask_where_it_serves() -> None:
    probes = container("edgetenants-function")
    [metrics] = [e["value"] for e in probes["env"] if e["name"] == "EDGETENANTS_FUNCTION_METRICS_ADDRESS"]
    assert probes["livenessProbe"] == {"httpGet": {"path": "/healthz", "port": port_of(metrics)}}
    assert probes["readinessProbe"] == {"tcpSocket": {"port": port_of(default(function, "--address"))}}


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])
