"""Generate the reference pages from the models: every field of every kind, and every condition reason."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from edgetenants_runtime.api.conditions import (
    AsyncOperationReason,
    ConditionType,
    LastAsyncOperationReason,
    ReadyReason,
    SyncedReason,
    UnknownReason,
)
from edgetenants_runtime.api.model import RULES_KEY
from edgetenants_runtime.api.providerconfig import ProviderConfigConditionType, ProviderConfigReason

from . import conditions, kinds
from .kinds import Kind
from .schema import Schema, structural

_BOTH: Final = "DistributionTenant, ConnectionGroup"
_TENANT: Final = "DistributionTenant"
_CLAIM: Final = "TenantClaim"
_CHANGING: Final = "TenantClaim, DistributionTenant, ConnectionGroup"
_SOURCE: Final = "TenantSource"
_CONFIGS: Final = "ProviderConfig, ClusterProviderConfig"

REASONS: Final[tuple[tuple[str, StrEnum, tuple[type[StrEnum], ...]], ...]] = (
    (_BOTH, ConditionType.READY, (ReadyReason, conditions.TenantReadyReason)),
    (_BOTH, ConditionType.SYNCED, (SyncedReason,)),
    (_BOTH, ConditionType.ASYNC_OPERATION, (AsyncOperationReason,)),
    (_BOTH, ConditionType.LAST_ASYNC_OPERATION, (LastAsyncOperationReason,)),
    (_BOTH, ConditionType.UNKNOWN, (UnknownReason,)),
    (_BOTH, conditions.TenantConditionType.DEPLOYED, (conditions.DeployedReason,)),
    (_BOTH, conditions.TenantConditionType.IN_SYNC, (conditions.InSyncReason,)),
    (_TENANT, conditions.TenantConditionType.CERTIFICATE_READY, (conditions.CertificateReason,)),
    (_TENANT, conditions.TenantConditionType.DNS_READY, (conditions.DnsReason,)),
    (_CONFIGS, ProviderConfigConditionType.TERMINATING, (ProviderConfigReason,)),
    (_CLAIM, conditions.ClaimConditionType.LIVE, (conditions.LiveReason, conditions.TenantReadyReason)),
    (_CHANGING, conditions.ClaimConditionType.RECONCILING, (conditions.ReconcilingReason,)),
    (_CLAIM, conditions.ClaimConditionType.DEGRADED, (conditions.DegradedReason,)),
    (_CLAIM, conditions.ClaimConditionType.SUSPENDED, (conditions.SuspendedReason,)),
    (_CLAIM, conditions.ClaimConditionType.BLOCKED, (conditions.BlockedReason,)),
    (_CLAIM, conditions.ClaimConditionType.NEEDS_REVIEW, (conditions.NeedsReviewReason,)),
    (_SOURCE, conditions.SourceConditionType.READY, (conditions.SourceReadyReason,)),
    (_SOURCE, conditions.SourceConditionType.SYNCED, (conditions.SourceSyncedReason,)),
    (_SOURCE, conditions.SourceConditionType.DEGRADED, (conditions.SourceDegradedReason,)),
    (_SOURCE, conditions.SourceConditionType.SUSPENDED, (conditions.SourceSuspendedReason,)),
)
"""Condition types, each with the kinds that have it and the enums of its reasons."""

FIELD_PAGES: Final[Mapping[str, tuple[Kind, ...]]] = {
    "tenantclaim": (kinds.TENANT_CLAIM,),
    "tenantplans": (kinds.TENANT_PLANS,),
    "tenantreport": (kinds.TENANT_REPORT,),
    "tenantsource": (kinds.TENANT_SOURCE,),
    "distributiontenant": (kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT),
    "connectiongroup": (kinds.CONNECTION_GROUP, kinds.LEGACY_CONNECTION_GROUP),
    "providerconfig": (
        kinds.CLUSTER_PROVIDER_CONFIG,
        kinds.PROVIDER_CONFIG,
        kinds.LEGACY_PROVIDER_CONFIG,
    ),
}
"""For each page: the kinds whose fields it lists. It lists all fields of the first, and the differences of
the others."""


def member_docs(enum: type[StrEnum]) -> dict[str, str]:
    """The docstring of each member of an enum, by the member's value; without members that have none."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(enum)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs: dict[str, str] = {}
    for statement, following in pairwise(body):
        match statement, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[enum[name].value] = _line(text)
    return docs


def conditions_page() -> str:
    """The page with every condition type and reason, its meaning and who acts."""
    parts = ["# Conditions and reasons\n"]
    for carriers, type_, enums in REASONS:
        about = member_docs(type(type_))[type_.value]
        parts.append(f"## {type_.value}\n\nOf {carriers}. {about}\n")
        # Two enums may share a reason; the description of the kind's own enum is more specific and wins.
        rows = {reason: text for enum in enums for reason, text in member_docs(enum).items()}
        parts.append(_table(("Reason", "Meaning"), [(f"`{reason}`", text) for reason, text in rows.items()]))
    return "\n".join(parts)


def fields_page(listed: tuple[Kind, ...]) -> str:
    """The page with every field of the first kind, and the fields of the other kinds that differ from it."""
    parts: list[str] = []
    seen: dict[str, tuple[str, ...]] = {}
    for kind in listed:
        rows = dict(_kind_rows(kind))
        fresh = {path: row for path, row in rows.items() if seen.get(path) != row}
        seen = seen or rows
        title = f"# {kind.kind}\n" if kind is listed[0] else f"## {kind.kind} (`{kind.api_version}`)\n"
        parts += [title, f"`{kind.api_version}`, {kind.scope.value.lower()}. {kind.description}\n"]
        if kind is not listed[0]:
            parts.append(
                "Fields that differ from those above:\n" if fresh else "Its fields are those above.\n"
            )
        if fresh:
            parts.append(
                _table(("Field", "Type", "Description"), [(f"`{p}`", *row) for p, row in fresh.items()])
            )
    return "\n".join(parts)


def _kind_rows(kind: Kind) -> Iterator[tuple[str, tuple[str, ...]]]:
    if kind.fields is not None:
        yield from _rows(structural(kind.fields, kind.scope), "")
    if kind.spec is not None:
        yield from _rows(structural(kind.spec, kind.scope), "spec.")
    if kind.status is not None:
        yield from _rows(structural(kind.status, kind.scope, defaults=False), "status.")


def _rows(schema: Schema, prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, field in schema.get("properties", {}).items():
        path = prefix + name
        if path.endswith("Provider") and path.startswith("spec.init"):
            yield path, (_type(field), field["description"] + " The fields are those of forProvider.")
            continue
        required = name in schema.get("required", ())
        yield path, (_type(field), _described(field, required=required))
        if name.endswith(("Ref", "Selector")) and "policy" in field.get("properties", {}):
            continue
        yield from _rows(field, f"{path}.")
        yield from _rows(field.get("items", {}), f"{path}[].")
        values = field.get("additionalProperties", {})
        yield from _rows(values, f"{path}.<key>.")


def _type(field: Schema) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field["type"] == "array":
        keys = ", ".join(field.get("x-kubernetes-list-map-keys", ()))
        name = {"set": "set", "map": f"list by {keys}"}.get(field.get("x-kubernetes-list-type", ""), "list")
        return f"{name} of {_type(field['items'])}"
    if "policy" in field.get("properties", {}):
        return "selector" if "matchLabels" in field["properties"] else "reference"
    if "additionalProperties" in field:
        return f"map of {_type(field['additionalProperties'])}"
    return str(field["type"])


def _described(field: Schema, *, required: bool) -> str:
    parts = ["**Required.** " if required else "", field.get("description", "")]
    if "default" in field and field["default"] not in ({}, []):
        parts.append(f" Default: `{_plain(field['default'])}`.")
    parts += [f" Rule: {rule['message']}." for rule in field.get(RULES_KEY, ())]
    return "".join(parts)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_plain(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return (
        "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        + "\n"
    )
