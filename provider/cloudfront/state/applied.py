"""What the provider last wrote (status.applied): the third side of the three-way diff (pure).

It tells a removed field of ours from one that somebody else set, and a change of the spec from drift. `hash`
holds one short digest for each field in a fixed order, so that both questions are answered for each field
alone; `-` where the field was never set, `x` where it was set once and is no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from provider.cloudfront.state import identity

__all__ = ["FIELDS", "Applied", "Asked", "field_of", "read", "record"]

FIELDS: Final = (
    "distributionId",
    "connectionGroupId",
    "domains",
    "enabled",
    "parameters",
    "customizations.webAcl",
    "customizations.certificate",
    "customizations.geoRestrictions",
    "tags",
)
_VERSION: Final = "1"
_UNSET: Final = "-"
_CLEARED: Final = "x"
_NOTHING: Final = (_UNSET, _CLEARED)


class Asked(Protocol):
    """What is asked of an external resource."""

    @property
    def tags(self) -> Mapping[str, str] | None:
        """All tags, the provider's own included."""
        ...

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters; empty for a kind without."""
        ...

    def values(self) -> Mapping[str, Any]:
        """Each field with its value, None where nothing is said; in the order of the record."""
        ...


@dataclass(frozen=True)
class Applied:
    """The record of the last write."""

    known: bool = False
    """There is a record: the tenant was made or taken over by this managed resource."""
    hash: str | None = None
    """As it is stored."""
    digests: Mapping[str, str] | None = None
    """The same by field; None when there is no record, or one of another version of this format."""
    etag: str | None = None
    tag_keys: frozenset[str] = frozenset()
    parameter_keys: frozenset[str] = frozenset()

    def had(self, field: str) -> bool:
        """The field was set by the last write."""
        return self.digests is not None and self.digests.get(field, _UNSET) not in _NOTHING

    def was_said(self, field: str) -> bool:
        """The field was set by the last write or by one before it, or that cannot be told."""
        return self.digests is None or self.digests.get(field, _UNSET) != _UNSET

    def changed(self, field: str, asked: Asked) -> bool:
        """The spec asks for something else now than at the last write."""
        return self.digests is None or self.digests.get(field) != _digest(asked.values()[field])

    def wrote(self, field: str, value: Any) -> bool:
        """The last write set the field to that value."""
        return self.digests is not None and self.digests.get(field) == _digest(value)


def read(status: Mapping[str, Any], fields: tuple[str, ...] = FIELDS) -> Applied:
    """The record in a status; `fields` are those of the kind."""
    stored = status.get("applied") or {}
    return Applied(
        known=bool(stored),
        hash=stored.get("hash"),
        digests=_parse(stored.get("hash") or "", fields),
        etag=stored.get("etag"),
        tag_keys=frozenset(stored.get("tagKeys") or ()),
        parameter_keys=frozenset(stored.get("parameterKeys") or ()),
    )


def record(
    asked: Asked, etag: str, before: Applied = Applied(), left: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The record, as it is stored, once AWS has what is asked.

    Args:
        asked: what spec.forProvider says.
        etag: of the tenant.
        before: the record until now.
        left: fields in which AWS still differs. They keep their old digest, so that a removed field stays
            ours until it is gone, and a change that waits does not turn into drift.
    """
    values, old = asked.values(), before.digests or {}
    digests = (
        old.get(field, _UNSET) if field in left else _next(old.get(field, _UNSET), _digest(values[field]))
        for field in values
    )
    return {
        "hash": ".".join((_VERSION, *digests)),
        "etag": etag,
        "owner": (asked.tags or {}).get(identity.OWNER_TAG),
        "tagKeys": sorted(_users(asked) | (before.tag_keys if "tags" in left else frozenset())),
        "parameterKeys": sorted(
            asked.parameters.keys() | (before.parameter_keys if "parameters" in left else frozenset())
        ),
    }


def _next(before: str, now: str) -> str:
    return _CLEARED if now == _UNSET and before != _UNSET else now


def field_of(path: str) -> str:
    """The field of the record that a path below forProvider belongs to: `tags` for `tags.team`."""
    head = path.partition(".")[0]
    return head if head in ("parameters", "tags") else path


def _users(asked: Asked) -> frozenset[str]:
    return frozenset(key for key in asked.tags or {} if not identity.is_own_tag(key))


def _parse(text: str, fields: tuple[str, ...]) -> dict[str, str] | None:
    version, *digests = text.split(".")
    if version != _VERSION or len(digests) != len(fields):
        return None
    return dict(zip(fields, digests, strict=True))


def _digest(value: Any) -> str:
    if value is None:
        return _UNSET
    if isinstance(value, Mapping):
        value = dict(value)
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
