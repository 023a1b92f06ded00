"""The record of the last write (status.applied): the third side of the three-way diff (pure).

It tells a field that the spec removed from one that someone else set, and a change of the spec from drift.
`hash` has one short digest per field, in a fixed order, so that both questions have an answer for each field.
The digest is `-` if the field was never set, and `x` if it was set before and is not any longer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from apis.tags import is_reserved_tag
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
_OPEN: Final = "?"
_NOTHING: Final = (_UNSET, _CLEARED)


class Asked(Protocol):
    """The desired state of an external resource."""

    @property
    def tags(self) -> Mapping[str, str] | None:
        """All tags, including the provider's own."""
        ...

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters; empty for a kind without any."""
        ...

    def values(self) -> Mapping[str, Any]:
        """Each field with its value, in the order of the record; None if the spec does not set it."""
        ...


@dataclass(frozen=True)
class Applied:
    """The record of the last write."""

    known: bool = False
    """There is a record: this managed resource created or adopted the external resource."""
    hash: str | None = None
    """The stored form."""
    digests: Mapping[str, str] | None = None
    """The digest of each field; None without a record, or if its format has another version."""
    etag: str | None = None
    tag_keys: frozenset[str] = frozenset()
    parameter_keys: frozenset[str] = frozenset()

    def had(self, field: str) -> bool:
        """The last write set the field."""
        return self.digests is not None and self.digests.get(field, _UNSET) not in _NOTHING

    def was_said(self, field: str) -> bool:
        """The last write or an earlier one set the field, or the provider does not know."""
        return self.digests is None or self.digests.get(field, _UNSET) != _UNSET

    def changed(self, field: str, asked: Asked) -> bool:
        """The desired value differs from that of the last write."""
        return self.digests is None or self.digests.get(field) != _digest(asked.values()[field])

    def wrote(self, field: str, value: Any) -> bool:
        """The last write set the field to that value."""
        return self.digests is not None and self.digests.get(field) == _digest(value)

    def is_open(self, field: str) -> bool:
        """The record has no value of the field, so any difference was caused by the spec."""
        return self.digests is None or self.digests.get(field) == _OPEN


def read(status: Mapping[str, Any], fields: tuple[str, ...] = FIELDS) -> Applied:
    """Read the record from a status; `fields` are those of the kind."""
    stored = status.get("applied") or {}
    return Applied(
        known=bool(stored),
        hash=stored.get("hash"),
        digests=_parse(stored.get("hash") or "", fields),
        etag=stored.get("etag"),
        # Anyone who may write status may name any tag here. No spec can have named a reserved one, so the
        # provider removes none.
        tag_keys=frozenset(key for key in stored.get("tagKeys") or () if not is_reserved_tag(key)),
        parameter_keys=frozenset(stored.get("parameterKeys") or ()),
    )


def record(
    asked: Asked, etag: str, before: Applied = Applied(), left: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The stored form of the record after a write.

    Args:
        asked: the desired state, from spec.forProvider.
        etag: the ETag after the write.
        before: the previous record.
        left: fields in which AWS still differs. They keep their old digest, so that a removed field stays
            ours until it is gone in AWS, and a change that waits does not become drift.
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


def opened(status: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The stored form of the record before a write of one field. The answer may be lost, and the spec may
    change again before the result is recorded. So the record leaves the field open until AWS accepts the
    write, or agrees with the spec.

    Args:
        status: the status with the record.
        field: the field.
    """
    return _with(status, field, lambda _: _OPEN)


def closed(status: Mapping[str, Any], field: str, value: Any) -> dict[str, Any]:
    """The stored form of the record after a write of one field, or if AWS agrees with the spec in that one.

    Args:
        status: the status with the record.
        field: the field.
        value: as in the spec.
    """
    return _with(status, field, lambda before: _next(before, _digest(value)))


def _with(status: Mapping[str, Any], field: str, change: Callable[[str], str]) -> dict[str, Any]:
    stored = dict(status.get("applied") or {})
    # If there is none to read, the next comparison of all fields writes the others.
    digests = _parse(stored.get("hash") or "", FIELDS) or dict.fromkeys(FIELDS, _UNSET)
    digests[field] = change(digests[field])
    return {**stored, "hash": ".".join((_VERSION, *digests.values()))}


def _next(before: str, now: str) -> str:
    return _CLEARED if now == _UNSET and before != _UNSET else now


def field_of(path: str) -> str:
    """The field of the record that contains a path below forProvider, such as `tags` for `tags.team`."""
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
