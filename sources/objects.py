"""The objects of a TenantSource, as the API server has them: what marks them, and what is read of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from apis.conditions import ClaimConditionType
from apis.domains import normalise
from apis.kinds import TENANT_CLAIM, Kind
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.clock import parse_rfc3339
from edgetenants_runtime.managed import Managed
from sources.names import label_value

__all__ = [
    "ANNOTATIONS",
    "BY_OWNER",
    "CONFIRM",
    "GONE",
    "HASH",
    "KEY",
    "LONGEST_KEY",
    "OWNER",
    "OWN_PREFIX",
    "Existing",
    "by_owner",
    "domains_in",
    "manager_of",
    "owner_value",
]

OWN_PREFIX: Final = "edgetenants.io/"
OWNER: Final = "edgetenants.io/source"
"""Label of an object: the TenantSource that it belongs to. It names no uid, so that a TenantSource that is
created again, as after a restored backup, has its objects again."""
KEY: Final = "edgetenants.io/source-key"
"""Annotation of an object: the key of its row."""
HASH: Final = "edgetenants.io/source-hash"
"""Annotation of an object: a digest of what was last applied, so that a row that did not change costs no
write, also after a restart."""
GONE: Final = "edgetenants.io/row-gone"
"""Annotation of an object: it was suspended at that time, as its row was gone. It is for people, and to take
back the suspension when the row is back; nothing is removed because of it."""
CONFIRM: Final = "edgetenants.io/confirm"
"""Annotation of a TenantSource: confirms the removal of exactly the set whose token it has, once."""
BY_OWNER: Final = "owner"
"""Index of the objects by namespace and label OWNER."""
LONGEST_KEY: Final = 512
"""Characters of a row's key."""
ANNOTATIONS: Final[Mapping[str, int]] = {KEY: LONGEST_KEY, HASH: 64, GONE: 64}
"""What is read of the annotations of objects, in characters."""


def by_owner(obj: Mapping[str, Any]) -> str:
    """The value of the index BY_OWNER for an object."""
    managed = Managed(obj)
    return f"{managed.namespace}/{managed.labels.get(OWNER, '')}"


def owner_value(source: str) -> str:
    """The value of the label OWNER for a TenantSource."""
    return label_value(source)


def manager_of(source: str) -> str:
    """The field manager of a TenantSource."""
    return f"edgetenants-source-{label_value(source)}"


def domains_in(kind: Kind, spec: Mapping[str, Any]) -> Iterator[str]:
    """The domains of an object of that kind, in one form for each name."""
    holder = spec if kind.kind == TENANT_CLAIM.kind else spec.get("forProvider")
    domains = holder.get("domains") if isinstance(holder, Mapping) else None
    for domain in domains if isinstance(domains, list | tuple) else ():
        try:
            yield normalise(str(domain))
        except ValueError:
            continue


@dataclass(frozen=True)
class Existing:
    """One object, as last seen."""

    kind: Kind
    raw: Mapping[str, Any]

    @cached_property
    def managed(self) -> Managed:
        """Its metadata, spec and conditions."""
        return Managed(self.raw)

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.managed.name

    @property
    def owner(self) -> str:
        """The value of its label OWNER; "" without one."""
        return self.managed.labels.get(OWNER, "")

    @property
    def key(self) -> str:
        """The key of its row; "" if it does not say."""
        return self.managed.annotations.get(KEY, "")

    @property
    def hash(self) -> str:
        """The digest of what was last applied."""
        return self.managed.annotations.get(HASH, "")

    @property
    def mark(self) -> str:
        """The annotation GONE; "" without one."""
        return self.managed.annotations.get(GONE, "")

    @property
    def marked_gone(self) -> bool:
        """Its row's absence may have disabled it."""
        return GONE in self.managed.annotations

    @property
    def created(self) -> datetime | None:
        """When it was created."""
        try:
            return parse_rfc3339(str(self.managed.metadata.get("creationTimestamp")))
        except ValueError:
            return None

    @property
    def live(self) -> bool:
        """A claim's condition Live, or a managed resource's Ready, is True."""
        type_ = ClaimConditionType.LIVE if self.kind.kind == TENANT_CLAIM.kind else ConditionType.READY
        found = (each.get("status") for each in self.managed.conditions if each["type"] == type_)
        return next(found, None) == ConditionStatus.TRUE

    @property
    def suspended(self) -> bool:
        """Its tenant is to be disabled."""
        if self.kind.kind == TENANT_CLAIM.kind:
            return self.managed.spec.get("suspended") is True
        return self.managed.for_provider.get("enabled") is False

    @cached_property
    def domains(self) -> frozenset[str]:
        """Its domains, in one form for each name."""
        return frozenset(domains_in(self.kind, self.managed.spec))
