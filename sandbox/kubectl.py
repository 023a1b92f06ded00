"""kubectl, with one kubeconfig and nothing of the environment's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.errors import WorldError

__all__ = ["PLURALS", "Kubectl", "KubernetesObject"]

JsonObject = dict[str, Any]

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
"""Plural of each kind that is ever applied, so that one can be deleted by its path."""


@dataclass(frozen=True)
class KubernetesObject:
    """One object of an API server, for ever: another of the same name has another uid."""

    api_version: str
    kind: str
    namespace: str
    """Empty when cluster-scoped."""
    name: str
    uid: str

    def __str__(self) -> str:
        """As people write it: kind/name, with the namespace in brackets."""
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
        """The command line, for callers that run it themselves."""
        return [str(self.binary), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self._cache}", *args]

    def run(self, *args: str, input: str | None = None, check: bool = True, timeout: float = 120) -> str:  # noqa: A002 - as in subprocess
        """Run kubectl; what it printed to stdout.

        Raises:
            WorldError: it failed and `check` is set; the message has kubectl's words.
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
            raise WorldError(f"kubectl {' '.join(args)}: no answer within {timeout:.0f} s") from e
        if check and done.returncode != 0:
            raise WorldError(f"kubectl {' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def apply(
        self, objects: Iterable[Mapping[str, Any]] = (), files: Iterable[Path] = ()
    ) -> tuple[KubernetesObject, ...]:
        """Server-side apply of objects and files (or folders of files), overruling other field managers."""
        options = (
            "--server-side",
            "--force-conflicts",
            f"--field-manager={FIELD_MANAGER}",
            "--validate=false",
        )
        return self._identities("apply", *options, objects=objects, files=files)

    def existing(self, objects: Iterable[Mapping[str, Any]]) -> tuple[KubernetesObject, ...]:
        """Those of the objects that exist already, by kind, namespace and name."""
        return self._identities("get", "--ignore-not-found", objects=objects)

    def exists(self, *what: str) -> bool:
        """Whether `kubectl get` finds it; False also where the API server does not know the kind."""
        return bool(self.run("get", *what, "--ignore-not-found", "-o", "name", check=False).strip())

    def delete(self, obj: KubernetesObject) -> bool:
        """Delete this very object and no namesake; False when it is gone already.

        Raises:
            WorldError: the API server refuses for another reason.
        """
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": obj.uid}}
        try:
            self.run("delete", f"--raw={obj.path}", "-f", "-", input=json.dumps(options))
        except WorldError as e:
            # A namesake with another uid is a conflict: it was made by somebody else, after ours had gone.
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
        """The names of the objects of a cluster-scoped kind whose condition of that type is True."""
        out = self.run("get", resource, "-o", f"go-template={_TRUE_CONDITIONS.replace('TYPE', condition)}")
        return frozenset(out.split())

    def _identities(
        self, verb: str, *options: str, objects: Iterable[Mapping[str, Any]], files: Iterable[Path] = ()
    ) -> tuple[KubernetesObject, ...]:
        manifests = "\n---\n".join(json.dumps(o) for o in objects)
        places = [f"--filename={f}" for f in files] + (["--filename=-"] if manifests else [])
        out = self.run(verb, *options, *places, "-o", f"go-template={_IDENTITIES}", input=manifests or None)
        return tuple(_identity(line.split()) for line in out.splitlines() if line.strip())


def _identity(words: list[str]) -> KubernetesObject:
    api_version, kind, namespace, name, uid = words
    return KubernetesObject(api_version, kind, "" if namespace == "-" else namespace, name, uid)


def _environment() -> dict[str, str]:
    """The user's environment, which an exec plugin of a kubeconfig may need, without the user's cluster."""
    return {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "KUBECACHEDIR"}}
