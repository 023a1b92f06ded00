"""Runs kubectl with one kubeconfig, independent of the environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.errors import WorldError

__all__ = ["PLURALS", "Kubectl", "KubernetesObject", "on_path"]

JsonObject = dict[str, Any]
_SKEW = 1
"""Kubernetes supports a kubectl one minor version older or newer than the API server:
https://kubernetes.io/releases/version-skew-policy/#kubectl"""

FIELD_MANAGER = "edgetenants-sandbox"

_IDENTITIES = (
    '{{define "o"}}{{.apiVersion}} {{.kind}} {{or .metadata.namespace "-"}} {{.metadata.name}} '
    '{{.metadata.uid}}{{"\\n"}}{{end}}'
    '{{if .items}}{{range .items}}{{template "o" .}}{{end}}'
    '{{else if .metadata.name}}{{template "o" .}}{{end}}'
)

_TRUE_CONDITIONS = (
    "{{range .items}}{{$name := .metadata.name}}{{range .status.conditions}}"
    '{{if and (eq .type "TYPE") (eq .status "True")}}{{$name}}{{"\\n"}}{{end}}{{end}}{{end}}'
)

PLURALS = {
    "ClusterProviderConfig": "clusterproviderconfigs",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "CompositeResourceDefinition": "compositeresourcedefinitions",
    "Composition": "compositions",
    "ConfigMap": "configmaps",
    "CustomResourceDefinition": "customresourcedefinitions",
    "FunctionRevision": "functionrevisions",
    "Namespace": "namespaces",
    "ProviderConfig": "providerconfigs",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
}
"""The plural of each kind that the sandbox applies, for the paths of deletions."""


@dataclass(frozen=True)
class KubernetesObject:
    """One object of an API server, identified by its uid. A later namesake has another uid."""

    api_version: str
    kind: str
    namespace: str
    """Empty if the object is cluster-scoped."""
    name: str
    uid: str

    def __str__(self) -> str:
        """For messages: kind/name, with the namespace in parentheses."""
        return f"{self.kind}/{self.name}" + (f" ({self.namespace})" if self.namespace else "")

    @property
    def path(self) -> str:
        """Its path on the API server."""
        prefix = "/apis" if "/" in self.api_version else "/api"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{prefix}/{self.api_version}{inside}/{PLURALS[self.kind]}/{self.name}"

    def to_json(self) -> dict[str, str]:
        """As a JSON object."""
        return asdict(self)


class Kubectl:
    """Runs kubectl against one API server."""

    def __init__(self, binary: Path, kubeconfig: Path, cache: Path) -> None:
        self.binary = binary
        self.kubeconfig = kubeconfig
        self._cache = cache

    def command(self, *args: str) -> list[str]:
        """The command line, for callers that start the process themselves."""
        return [str(self.binary), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self._cache}", *args]

    def run(self, *args: str, input: str | None = None, check: bool = True, timeout: float = 120) -> str:  # noqa: A002 - as in subprocess
        """Run kubectl; what it printed to stdout.

        Raises:
            WorldError: it failed and `check` is set; the message contains kubectl's.
        """
        try:
            done = subprocess.run(
                self.command(*args),
                input=input,
                capture_output=True,
                text=True,
                timeout=timeout,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as e:
            raise WorldError(f"kubectl {' '.join(args)}: no response in {timeout:.0f} s") from e
        if check and done.returncode != 0:
            raise WorldError(f"kubectl {' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def apply(
        self, objects: Iterable[Mapping[str, Any]] = (), files: Iterable[Path] = ()
    ) -> tuple[KubernetesObject, ...]:
        """Server-side apply objects and files (or folders of files), with --force-conflicts."""
        options = (
            "--server-side",
            "--force-conflicts",
            f"--field-manager={FIELD_MANAGER}",
            "--validate=false",
        )
        return self._identities("apply", *options, objects=objects, files=files)

    def existing(self, objects: Iterable[Mapping[str, Any]]) -> tuple[KubernetesObject, ...]:
        """The objects that already exist, by kind, namespace and name."""
        return self._identities("get", "--ignore-not-found", objects=objects)

    def exists(self, *what: str) -> bool:
        """Whether `kubectl get` finds it; False if the API server does not serve the kind."""
        return bool(self.run("get", *what, "--ignore-not-found", "-o", "name", check=False).strip())

    def delete(self, obj: KubernetesObject) -> bool:
        """Delete the object, but not another one with the same name; False if it no longer exists.

        Raises:
            WorldError: the API server refuses for another reason.
        """
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": obj.uid}}
        try:
            self.run("delete", f"--raw={obj.path}", "-f", "-", input=json.dumps(options))
        except WorldError as e:
            # Another uid is a conflict: our object is gone and someone else has created a new one.
            if (
                "NotFound" in str(e)
                or "not found" in str(e)
                or "onflict" in str(e)
                or "UID in precondition" in str(e)
            ):
                return False
            raise
        return True

    def with_condition(self, resource: str, condition: str) -> frozenset[str]:
        """The names of the objects of a cluster-scoped kind with this condition True."""
        out = self.run("get", resource, "-o", f"go-template={_TRUE_CONDITIONS.replace('TYPE', condition)}")
        return frozenset(out.split())

    def _identities(
        self, verb: str, *options: str, objects: Iterable[Mapping[str, Any]], files: Iterable[Path] = ()
    ) -> tuple[KubernetesObject, ...]:
        manifests = "\n---\n".join(json.dumps(o) for o in objects)
        places = [f"--filename={f}" for f in files] + (["--filename=-"] if manifests else [])
        out = self.run(verb, *options, *places, "-o", f"go-template={_IDENTITIES}", input=manifests or None)
        return tuple(_identity(line.split()) for line in out.splitlines() if line.strip())


def on_path(server: str, *, outside: Path) -> Path | None:
    """The kubectl on PATH, if it supports an API server of version `server`, such as v1.35.7.

    Programs in the folder `outside` do not count: they are removed with a sandbox.
    """
    found = shutil.which("kubectl")
    if found is None or Path(found).absolute().is_relative_to(outside):
        return None
    program = Path(found).absolute()
    client, wanted = _minor(_client_version(program)), _minor(server)
    supported = client and wanted and client[0] == wanted[0] and abs(client[1] - wanted[1]) <= _SKEW
    return program if supported else None


def _client_version(program: Path) -> str:
    """The version of a kubectl, or "" if it does not say."""
    command = [str(program), "version", "--client", "-o", "json"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, env=_environment(), check=False
        )
        return str(json.loads(done.stdout)["clientVersion"]["gitVersion"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return ""


def _minor(version: str) -> tuple[int, int] | None:
    found = re.match(r"v(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def _identity(words: list[str]) -> KubernetesObject:
    api_version, kind, namespace, name, uid = words
    return KubernetesObject(api_version, kind, "" if namespace == "-" else namespace, name, uid)


def _environment() -> dict[str, str]:
    """The user's environment without KUBECONFIG. Exec plugins of a kubeconfig may need it."""
    return {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "KUBECACHEDIR"}}
