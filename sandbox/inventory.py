"""Lists what `up` created and what exists in the sandbox now."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sandbox.report import process_rows, processes_table, table
from sandbox.state import Crossplane
from sandbox.world import World

__all__ = ["Inventory", "take"]

JsonObject = dict[str, Any]

# Short names, because the other names of the namespaced kinds are also those of the cluster-scoped ones.
_KINDS = ("tenantclaims", "edt", "ecg")
_LEGACY_KINDS = ("ledt", "lecg")
_COMPOSITES = "xtenantclaims"


@dataclass(frozen=True)
class Inventory:
    """Processes, objects and external resources of one sandbox."""

    sandbox: str
    processes: list[JsonObject]
    """name, pid, ports, state."""
    applied: list[JsonObject]
    """Kubernetes objects that `up` created: api_version, kind, namespace, name, uid."""
    kept: list[str]
    """Objects that already existed in a given cluster, which `up` left unchanged."""
    kubernetes: list[JsonObject]
    """Claims and managed resources: kind, namespace, name, ready, synced."""
    aws: JsonObject
    """distributions, tenants and connectionGroups of the emulated accounts, with AWS's field names."""

    def to_json(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=2)

    def text(self) -> str:
        """As text for people."""
        parts = [
            f"sandbox {self.sandbox}",
            _section("Processes", processes_table(self.processes)),
            _section("Objects created by up", _grouped(self.applied)),
            *([_section("Existing objects, unchanged", "\n".join(self.kept))] if self.kept else []),
            _section("Claims and managed resources", _objects(self.kubernetes)),
            _section(
                "Distributions in AWS (emulated)",
                _external(self.aws["distributions"], ("Id", "Status", "Enabled")),
            ),
            _section("Distribution tenants in AWS (emulated)", _external(self.aws["tenants"], NAMED)),
            _section("Connection groups in AWS (emulated)", _external(self.aws["connectionGroups"], NAMED)),
        ]
        return "\n\n".join(parts)


def take(world: World) -> Inventory:
    """Look at everything now.

    Raises:
        WorldError: the API server or the emulator does not respond.
    """
    alone = world.state.control_plane_only
    return Inventory(
        sandbox=world.name,
        processes=process_rows(world),
        applied=[o.to_json() for o in world.state.created],
        kept=list(world.state.kept),
        kubernetes=[] if alone else _claims_and_managed(world),
        aws={"distributions": [], "tenants": [], "connectionGroups": []} if alone else world.emulator.state(),
    )


def _claims_and_managed(world: World) -> list[JsonObject]:
    v1 = world.state.crossplane is Crossplane.V1
    kinds = (*_KINDS, *(_LEGACY_KINDS if v1 or world.state.legacy else ()), *((_COMPOSITES,) if v1 else ()))
    found = json.loads(world.kubectl("get", ",".join(kinds), "-A", "-o", "json"))["items"]
    return [
        {
            "kind": obj["kind"],
            "namespace": obj["metadata"].get("namespace", ""),
            "name": obj["metadata"]["name"],
            "ready": _condition(obj, "Ready"),
            "synced": _condition(obj, "Synced"),
        }
        for obj in found
    ]


def _condition(obj: JsonObject, type_: str) -> str:
    conditions = obj.get("status", {}).get("conditions", [])
    return next((f"{c['status']} ({c['reason']})" for c in conditions if c["type"] == type_), "")


def _section(title: str, body: str) -> str:
    return f"{title}\n" + "\n".join(f"  {line}" for line in (body or "none").splitlines())


def _grouped(applied: Iterable[JsonObject]) -> str:
    """One line per kind, with the names."""
    kinds: dict[str, list[str]] = {}
    for obj in applied:
        kinds.setdefault(obj["kind"], []).append(obj["name"])
    return table(
        ("KIND", "COUNT", "NAMES"), [(k, str(len(n)), ", ".join(sorted(n))) for k, n in sorted(kinds.items())]
    )


def _objects(found: Iterable[JsonObject]) -> str:
    rows = [(o["kind"], o["namespace"], o["name"], o["ready"], o["synced"]) for o in found]
    return table(("KIND", "NAMESPACE", "NAME", "READY", "SYNCED"), rows)


NAMED = ("Name", "Id", "Status", "Enabled")


def _external(found: Iterable[JsonObject], columns: tuple[str, ...]) -> str:
    rows = [tuple(str(o.get(column, "")) for column in columns) for o in found]
    return table(tuple(column.upper() for column in columns), rows)
