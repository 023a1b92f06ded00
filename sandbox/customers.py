"""The table of customers that the demo turns into claims: the objects that a platform team applies for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["COLUMNS", "SOURCE", "TenantTable"]

JsonObject = dict[str, Any]

SOURCE: Final = "customers"
"""The name of the TenantSource, and of the ConfigMap with its rows."""
COLUMNS: Final = ("id", "domain", "tier")
_KEY: Final = "customers.csv"


class TenantTable:
    """A table in a ConfigMap, and the TenantSource that follows it."""

    def __init__(self, namespace: str, *, plan: str) -> None:
        self._namespace, self._plan = namespace, plan

    def rows(self, rows: Sequence[Sequence[str]]) -> JsonObject:
        """The ConfigMap with these rows, each with a value for each of COLUMNS."""
        lines = [",".join(row) for row in (COLUMNS, *rows)]
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": self._metadata(),
            "data": {_KEY: "\n".join(lines) + "\n"},
        }

    def source(self) -> JsonObject:
        """The TenantSource: each row becomes a claim."""
        return {
            "apiVersion": "platform.edgetenants.io/v1alpha1",
            "kind": "TenantSource",
            "metadata": self._metadata(),
            "spec": {
                "source": {"configMap": {"name": SOURCE, "key": _KEY, "format": "csv"}},
                "key": "id",
                "template": {
                    "kind": "TenantClaim",
                    "name": "{id}",
                    "spec": {
                        "plan": self._plan,
                        "domains": ["{domain}"],
                        "parameters": {"tenantName": "{id}", "tier": "{tier}"},
                    },
                    "defaults": {"tier": "standard"},
                },
                "pollInterval": "10s",
            },
        }

    def _metadata(self) -> JsonObject:
        return {"name": SOURCE, "namespace": self._namespace}
