"""The pytest plugin, in a pytest of its own: its fixtures, and that no one else notices it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from edgetenants_emulator import AdminError, pytest_plugin

PLUGIN = ("-p", "edgetenants_emulator.pytest_plugin")


@pytest.fixture
def run(tmp_path):
    """A test file in a pytest of its own, the plugin as the entry point would load it: its output."""

    def run(text, *options, passes):
        (tmp_path / "test_it.py").write_text(text)
        asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ended = subprocess.run(
            [*asked, *PLUGIN, "test_it.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert f"{passes} passed" in ended.stdout, ended.stdout + ended.stderr
        return ended.stdout

    return run


TENANTS = """
import pytest

@pytest.fixture
def cloudfront(cloudfront_emulator):
    return cloudfront_emulator.client("cloudfront")

@pytest.mark.parametrize("time", [1, 2])
def test_the_same_tenant_in_each_test(cloudfront_emulator, cloudfront, tenant_distribution, time):
    assert not cloudfront_emulator.state()["tenants"]
    made = cloudfront.create_distribution_tenant(
        DistributionId=tenant_distribution.id,
        Name="acme",
        Domains=[{"Domain": "acme.example.com"}],
        Parameters=[{"Name": tenant_distribution.parameters[0], "Value": "acme"}],
    )["DistributionTenant"]
    assert made["Status"] == "InProgress"
    assert made["ConnectionGroupId"] == tenant_distribution.connection_group_id
    cloudfront_emulator.step(60)
    assert cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Status"] == "Deployed"
    assert cloudfront_emulator.calls(operation="CreateDistributionTenant")["total"] == 2

def test_faults_and_settings(cloudfront_emulator, cloudfront):
    cloudfront_emulator.change_settings({"page_size_max": 1})
    cloudfront_emulator.set_rate(60)
    cloudfront_emulator.arm("throttle", every=True)
    with pytest.raises(cloudfront.exceptions.ClientError, match="Rate exceeded"):
        cloudfront.list_distribution_tenants()

def test_nothing_is_left_of_them(cloudfront_emulator, cloudfront):
    assert cloudfront.list_distribution_tenants()["DistributionTenantList"] == []
    assert cloudfront_emulator.settings()["page_size_max"] == 100
    assert cloudfront_emulator.clock()["rate"] == 0
    assert not any(cloudfront_emulator.state().values())
    assert cloudfront_emulator.client("acm").list_certificates()["CertificateSummaryList"] == []
"""


def test_each_test_has_an_empty_emulator(run):
    run(TENANTS, passes=4)


UNUSED = """
import sys, threading

def test_nothing_is_loaded():
    assert not {"moto", "botocore", "edgetenants_emulator.server"} & set(sys.modules)
    assert threading.active_count() == 1
"""


def test_whoever_does_not_use_it_does_not_load_it(run):
    assert "hypothesis" not in run(UNUSED, passes=1)


def test_it_is_an_entry_point_and_pytest_is_no_dependency():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"edgetenants_emulator": pytest_plugin.__name__}
    assert not [each for each in project["dependencies"] if "pytest" in each]
    assert project["optional-dependencies"]["pytest"]


def test_a_refusal_says_what_and_why(emulator):
    with pytest.raises(AdminError, match=r"(?s)refused POST /seed: 400 .*distributions: expected a list"):
        emulator.admin.seed({"distributions": 1})
    url = emulator.url
    emulator.stop()
    with pytest.raises(AdminError, match=f"does not respond at {url}"):
        emulator.admin.health()
