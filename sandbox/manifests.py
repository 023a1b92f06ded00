"""The manifests that `up` applies: our generated package, and what Crossplane's package manager would add."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.errors import WorldError
from sandbox.state import Crossplane

__all__ = [
    "CREDENTIALS",
    "NAMESPACE",
    "WEBHOOKS_HOST",
    "Package",
    "accounts",
    "core_webhooks",
    "credentials",
    "documents",
    "function_revision",
    "provider_role",
]

Manifest = dict[str, Any]

NAMESPACE = "crossplane-system"
FUNCTION = "function-edgetenants"
PROVIDER = "provider-edgetenants"
ROLE = f"crossplane:provider:{PROVIDER}:system"
CREDENTIALS = "edgetenants-emulator-credentials"
WEBHOOKS = "crossplane-webhooks"
"""The Service of core's webhooks, as Crossplane's Helm chart calls it."""
WEBHOOKS_HOST = f"{WEBHOOKS}.{NAMESPACE}.svc"
PORT_ANNOTATION = "sandbox.edgetenants.io/loopback-port"
"""The annotation of a Service by which the sandbox's API server finds the process of a webhook."""

_REVISION = "v1alpha1"
_READ = ("get", "list", "watch")
_OWN = ("get", "list", "watch", "update", "patch", "create")


@dataclass(frozen=True)
class Package:
    """Our generated manifests."""

    crds: tuple[Manifest, ...]
    """The CRDs of the active managed resources and of the provider configs."""
    inactive: tuple[Manifest, ...]
    """The CRDs of inactive managed resources. Core would keep them as definitions, with RBAC rules for the
    provider."""
    xrd: Manifest
    composition: Manifest
    crossplane: Crossplane = Crossplane.V2
    claims_reader: tuple[Manifest, ...] = ()
    """The provider's optional permission to read claims."""

    @classmethod
    def load(
        cls,
        root: Path,
        crossplane: Crossplane = Crossplane.V2,
        *,
        legacy: bool,
        legacy_claim: bool = False,
    ) -> Package:
        """Read the manifests for this version of Crossplane from `root`/package.

        v1 has the legacy claim, and all its managed resources are active. v2 has the namespaced claim unless
        `legacy_claim` is set, and the cluster-scoped kinds only with `legacy`.

        Raises:
            WorldError: a file or folder is missing, or a file is not valid YAML.
        """
        package = root / "package"
        namespaced, cluster = (_crds(package / folder) for folder in ("crds", "crds-legacy"))
        v1 = crossplane is Crossplane.V1
        active, inactive = ((*namespaced, *cluster), ()) if legacy or v1 else (namespaced, cluster)
        old = v1 or legacy_claim
        [xrd] = documents(package / "xrds" / ("legacy/xtenantclaim.yaml" if old else "tenantclaim.yaml"))
        [composition] = documents(package / ("composition-legacy.yaml" if old else "composition.yaml"))
        reader = tuple(documents(package / "claims-reader.yaml"))
        return cls(active, inactive, xrd, composition, crossplane, reader)

    @property
    def legacy(self) -> bool:
        """Whether the cluster-scoped kinds are active."""
        return not self.inactive


def accounts() -> tuple[Manifest, ...]:
    """The namespace, and the ServiceAccounts of core and the provider."""
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _account("crossplane"),
        _account(PROVIDER),
    )


def provider_role(crds: Iterable[Mapping[str, Any]], *, reads_crds: bool = True) -> tuple[Manifest, Manifest]:
    """The ClusterRole that Crossplane's RBAC manager would create for a provider with these CRDs, and its
    binding.

    The rules are those that crossplane/internal/controller/rbac/provider/roles/roles.go renders for a
    revision with the capability safe-start: no delete, no namespaces, no events.k8s.io. v1 does not support
    capabilities, so it grants no permission to read CRDs.
    """
    resources: dict[str, list[str]] = {}
    for crd in sorted(crds, key=lambda c: c["spec"]["names"]["plural"] + c["spec"]["group"]):
        plural = crd["spec"]["names"]["plural"]
        resources.setdefault(crd["spec"]["group"], []).extend((plural, f"{plural}/status"))
    rules = [_rule([group], names, _OWN) for group, names in resources.items()]
    rules += [
        _rule(list(resources), ["*/finalizers"], ["update"]),
        _rule(["", "coordination.k8s.io"], ["secrets", "configmaps", "events", "leases"], ["*"]),
    ]
    if reads_crds:
        rules.append(_rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], _READ))
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": ROLE}}
    role = {**kind, "kind": "ClusterRole", "rules": rules}
    binding = {
        **kind,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": PROVIDER}],
    }
    return role, binding


def function_revision() -> Manifest:
    """A revision of our function, paused so that the package manager does not change it."""
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "FunctionRevision",
        "metadata": {
            "name": f"{FUNCTION}-sandbox",
            "labels": {"pkg.crossplane.io/package": FUNCTION},
            "annotations": {"crossplane.io/paused": "true"},
        },
        "spec": {
            "desiredState": "Active",
            "image": f"sandbox.invalid/edgetenants/{FUNCTION}:v0",
            "revision": 1,
        },
    }


def function_status(port: int, crossplane: Crossplane = Crossplane.V2) -> Manifest:
    """The status from which core gets the function's endpoint and, since v2, its capabilities."""
    capabilities = {"capabilities": ["composition", "operation"]} if crossplane is Crossplane.V2 else {}
    return {"status": {"endpoint": f"dns:///127.0.0.1:{port}", **capabilities}}


def core_webhooks(folder: Path, port: int, ca: bytes) -> tuple[Manifest, ...]:
    """The Service of core's webhooks, and their configurations as `crossplane core init` completes them.

    Raises:
        WorldError: the folder contains no configuration.
    """
    metadata = {"name": WEBHOOKS, "namespace": NAMESPACE, "annotations": {PORT_ANNOTATION: str(port)}}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"ports": [{"name": "webhooks", "port": 9443}]},
    }
    configurations = [document for file in sorted(folder.glob("*.yaml")) for document in documents(file)]
    if not configurations:
        raise WorldError(f"{folder} does not contain Crossplane's webhook configurations")
    for webhook in (each for configuration in configurations for each in configuration["webhooks"]):
        client = webhook["clientConfig"]
        client["caBundle"] = base64.b64encode(ca).decode()
        client["service"] |= {"name": WEBHOOKS, "namespace": NAMESPACE}
    return service, *configurations


def credentials(endpoint: str, *, legacy: bool) -> tuple[Manifest, ...]:
    """A Secret with the emulator's credentials, and the provider configs `default` that refer to it."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": CREDENTIALS, "namespace": NAMESPACE},
        "stringData": {
            "credentials": "[default]\naws_access_key_id = sandbox\naws_secret_access_key = sandbox\n"
        },
    }
    reference = {"namespace": NAMESPACE, "name": CREDENTIALS, "key": "credentials"}
    spec = {
        "credentials": {"source": "Secret", "secretRef": reference},
        "endpoint": {"url": endpoint},
        # The emulator has no quotas.
        "rateLimits": {"cloudfront": 200, "acm": 200},
    }
    kinds = [("m.edgetenants.io", "ClusterProviderConfig")] + (
        [("edgetenants.io", "ProviderConfig")] if legacy else []
    )
    configs = [
        {"apiVersion": f"{group}/{_REVISION}", "kind": kind, "metadata": {"name": "default"}, "spec": spec}
        for group, kind in kinds
    ]
    return (secret, *configs)


def seed() -> Manifest:
    """The initial content of the emulator's account: the distribution that the examples refer to."""
    return {
        "account": "123456789012",
        "distributions": [
            {
                "id": "E1EDGETENANTS",
                "certificateDomains": ["*.example.com", "example.com", "*.acme.com", "acme.com"],
                "parameters": [
                    {"name": "tenantName", "required": False, "default": "default"},
                    {"name": "tier", "required": False, "default": "standard"},
                ],
            }
        ],
    }


def _account(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}


def _rule(groups: list[str], resources: list[str], verbs: Iterable[str]) -> Manifest:
    return {"apiGroups": groups, "resources": resources, "verbs": list(verbs)}


def _crds(folder: Path) -> tuple[Manifest, ...]:
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise WorldError(f"{folder} contains no manifests; run `make generate` to write them")
    return tuple(manifest for file in files for manifest in documents(file))


def documents(file: Path) -> list[Manifest]:
    """The objects in a YAML file.

    Raises:
        WorldError: the file is missing or is not valid YAML.
    """
    if not file.is_file():
        raise WorldError(f"{file} not found; run `make generate` to write it")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return [d for d in yaml.load_all(file.read_text(), Loader=loader) if d]
    except yaml.YAMLError as e:
        raise WorldError(f"{file}: invalid YAML: {e}") from e
