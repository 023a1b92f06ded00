"""Generate the CRDs, XRDs and Compositions of edgetenants' kinds."""

from collections.abc import Iterable
from typing import Any, Final

from edgetenants_runtime.api.model import Scope

from . import kinds
from .kinds import Column, Kind
from .schema import Schema, structural

FUNCTION: Final = "function-edgetenants"
"""Name of the function in the Composition of the examples."""
PACKAGED_FUNCTION: Final = "edgetenants-function-edgetenants"
"""Name of the function in the Composition of a package. Crossplane names a package that it installs for
another one by its repository path, as does `crossplane xpkg install` (internal/controller/pkg/resolver)."""
PLANS: Final = "edgetenants-plans"
"""Name of the EnvironmentConfig that a packaged Composition requires."""
PLANS_LABEL: Final = "edgetenants.io/plans"
"""Label of the EnvironmentConfigs whose plans a packaged Composition adds."""

_OBJECT_FIELDS: Final[Schema] = {
    "apiVersion": {
        "description": "Group and version of the schema of this object.",
        "type": "string",
    },
    "kind": {
        "description": "Kind of this object.",
        "type": "string",
    },
    "metadata": {"type": "object"},
}
"""Fields of every Kubernetes object."""


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a provider's kind or of a function's input."""
    version: dict[str, Any] = {
        "name": kinds.VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object_schema(kind)},
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    if kind.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in kind.columns]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "names": _names(kind) | {"listKind": f"{kind.kind}List"},
            "scope": "Namespaced" if kind.scope is Scope.NAMESPACED else "Cluster",
            "versions": [version],
        },
    }


def xrd(kind: Kind) -> dict[str, Any]:
    """The CompositeResourceDefinition of a namespaced composite (Crossplane v2)."""
    return {
        "apiVersion": "apiextensions.crossplane.io/v2",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "scope": "Namespaced",
            "group": kind.group,
            "names": _names(kind),
            "versions": [_xrd_version(kind)],
        },
    }


def legacy_xrd(kind: Kind, claim: Kind) -> dict[str, Any]:
    """The CompositeResourceDefinition of a cluster-scoped composite with a claim (Crossplane v1, and
    LegacyCluster on v2)."""
    return {
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "claimNames": _names(claim),
            "connectionSecretKeys": list(kinds.CONNECTION_KEYS),
            "versions": [_xrd_version(kind)],
        },
    }


def composition(kind: Kind, name: str) -> dict[str, Any]:
    """The Composition of the examples: one plan, which uses the distribution's certificate."""
    return {
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": name},
        "spec": {
            "compositeTypeRef": {"apiVersion": kind.api_version, "kind": kind.kind},
            "mode": "Pipeline",
            "pipeline": [
                {"step": "tenants", "functionRef": {"name": FUNCTION}, "input": _example_plans()},
            ],
        },
    }


def legacy_composition(kind: Kind, name: str) -> dict[str, Any]:
    """The same for cluster-scoped composites, whose connection Secrets Crossplane itself writes."""
    made = composition(kind, name)
    made["spec"]["writeConnectionSecretsToNamespace"] = "crossplane-system"
    return made


def packaged(made: dict[str, Any]) -> dict[str, Any]:
    """The Composition of a Configuration package: its plans come from EnvironmentConfigs, which a package
    cannot contain. The one named PLANS is required; those with the label PLANS_LABEL are added to it."""
    [step] = made["spec"]["pipeline"]
    sources = [{"name": PLANS}, {"matchLabels": {PLANS_LABEL: "true"}}]
    plans = {
        "apiVersion": kinds.TENANT_PLANS.api_version,
        "kind": kinds.TENANT_PLANS.kind,
        "defaultPlan": "standard",
        "plansFrom": [{"environmentConfig": source} for source in sources],
    }
    packaged_step = {**step, "functionRef": {"name": PACKAGED_FUNCTION}, "input": plans}
    return {**made, "spec": {**made["spec"], "pipeline": [packaged_step]}}


def activation(name: str, activated: Iterable[Kind]) -> dict[str, Any]:
    """The policy with which Crossplane v2 activates these managed kinds, and no others."""
    return {
        "apiVersion": "apiextensions.crossplane.io/v1alpha1",
        "kind": "ManagedResourceActivationPolicy",
        "metadata": {"name": name},
        "spec": {"activate": [f"{kind.plural}.{kind.group}" for kind in activated]},
    }


def _example_plans() -> dict[str, Any]:
    plan = {
        "distributionId": "E1EDGETENANTS",
        "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
        "certificate": {"mode": "Inherited"},
        "dns": {"mode": "Manual"},
        "parameters": {"tier": "standard"},
        "allow": {"override": ["parameters"]},
    }
    return {
        "apiVersion": kinds.TENANT_PLANS.api_version,
        "kind": kinds.TENANT_PLANS.kind,
        "defaultPlan": "standard",
        "plans": {"standard": plan},
    }


def _names(kind: Kind) -> dict[str, Any]:
    names: dict[str, Any] = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _column(column: Column) -> dict[str, Any]:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    return shown | ({"priority": column.priority} if column.priority else {})


def _object_schema(kind: Kind) -> Schema:
    """The schema of a whole object: the fields of every Kubernetes object, and those of the kind."""
    properties: Schema = dict(_OBJECT_FIELDS)
    required: list[str] = []
    rules: Schema = {}
    if kind.fields is not None:
        fields = structural(kind.fields, kind.scope)
        properties = fields.pop("properties") | properties
        required = [name for name in fields.pop("required", ()) if name not in _OBJECT_FIELDS]
        rules = {key: fields[key] for key in fields if key.startswith("x-kubernetes-")}
    if kind.spec is not None:
        properties["spec"] = structural(kind.spec, kind.scope) | {"description": "The desired state."}
        required = ["spec"]
    if kind.status is not None:
        properties["status"] = structural(kind.status, kind.scope, defaults=False)
    schema = {"type": "object", "description": kind.description, "properties": properties} | rules
    return schema | ({"required": required} if required else {})


def _xrd_version(kind: Kind) -> dict[str, Any]:
    schema = _object_schema(kind)
    schema["properties"] = {name: schema["properties"][name] for name in ("spec", "status")}
    # Crossplane adds the conditions of a composite to the schema.
    schema["properties"]["status"]["properties"].pop("conditions")
    return {
        "name": kinds.VERSION,
        "served": True,
        "referenceable": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": schema},
    }
