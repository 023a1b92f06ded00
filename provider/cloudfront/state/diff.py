"""The three-way diff of the desired state, the last write and the observed state (pure).

It merges the three into the complete desired tenant, then compares that with the observed one. A value that
the spec does not set and never set is no difference: the default connection group, the ARN of a managed
certificate, or tags and parameters that others set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.state import identity
from provider.cloudfront.state.applied import Applied, Asked
from provider.cloudfront.state.customizations import Customizations
from provider.cloudfront.state.desired import Tenant, managed
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["Diff", "Wanted", "compare", "entries", "merge", "merge_tags", "text"]

_NOTHING = "(none)"
_ANOTHER = "(another)"
_LONGEST = 1000
"""The longest value in a difference: five hundred domains are still one line of status."""


Wanted = TypeVar("Wanted", bound=Asked)


@dataclass(frozen=True)
class Diff(Generic[Wanted]):
    """How an external resource differs from the desired state."""

    target: Wanted
    """The complete desired state: fields that the spec does not set have their values in AWS."""
    fields: tuple[FieldDiff, ...] = ()
    """The differences that the update call can correct, such as UpdateDistributionTenant."""
    tags: tuple[FieldDiff, ...] = ()
    """The differences that the tag calls can correct."""

    @property
    def all(self) -> tuple[FieldDiff, ...]:
        """All differences, sorted by field."""
        return tuple(sorted((*self.fields, *self.tags), key=lambda difference: difference.field))


def merge(
    asked: Tenant, applied: Applied, seen: ObservedTenant, ignored: frozenset[str] = frozenset()
) -> Tenant:
    """The complete desired tenant. `ignored` are paths that keep their value in AWS (spec.ignoreDrift)."""
    said = _without(asked, ignored)
    return Tenant(
        name=seen.name,
        distribution_id=said.distribution_id or seen.distribution_id,
        connection_group_id=said.connection_group_id or seen.connection_group_id,
        domains=said.domains or frozenset(seen.domains),
        enabled=seen.enabled if said.enabled is None else said.enabled,
        parameters=_merge_map(
            said.parameters, applied.parameter_keys, seen.parameters, "parameters", ignored
        ),
        customizations=_merge_customizations(asked, applied, seen.customizations, ignored),
        tags=None if seen.tags is None else merge_tags(said.tags or {}, applied, seen.tags, ignored),
        certificate_request=asked.certificate_request,
        attached=asked.attached,
        records=asked.records,
    )


def compare(target: Tenant, seen: ObservedTenant) -> Diff[Tenant]:
    """Compare the complete desired tenant, as returned by `merge`, with the observed one."""
    fields = tuple(_fields(target, seen))
    if target.tags is None or seen.tags is None:
        return Diff(target, fields)
    return Diff(target, fields, tuple(entries("tags", target.tags, seen.tags)))


def _without(asked: Tenant, ignored: frozenset[str]) -> Tenant:
    return replace(
        asked,
        distribution_id=None if "distributionId" in ignored else asked.distribution_id,
        connection_group_id=None if "connectionGroupId" in ignored else asked.connection_group_id,
        domains=None if "domains" in ignored else asked.domains,
        enabled=None if "enabled" in ignored else asked.enabled,
        parameters=_kept(asked.parameters, "parameters", ignored),
        tags=_kept(asked.tags or {}, "tags", ignored),
    )


def _kept(values: Mapping[str, str], path: str, ignored: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if not _is_ignored(path, key, ignored)}


def _is_ignored(path: str, key: str, ignored: frozenset[str]) -> bool:
    # The provider's own tags cannot be ignored: they name the owner.
    return (path in ignored or f"{path}.{key}" in ignored) and not identity.is_own_tag(key)


def _merge_map(
    said: Mapping[str, str],
    written: frozenset[str],
    seen: Mapping[str, str],
    path: str,
    ignored: frozenset[str],
) -> dict[str, str]:
    foreign = {
        key: value for key, value in seen.items() if key not in written or _is_ignored(path, key, ignored)
    }
    return {**foreign, **said}


def merge_tags(
    said: Mapping[str, str], applied: Applied, seen: Mapping[str, str], ignored: frozenset[str]
) -> dict[str, str]:
    """All desired tags, including those that others set."""
    # A tag that the provider did not write belongs to someone else, whatever its key's prefix.
    return _merge_map(said, applied.tag_keys, seen, "tags", ignored)


def _merge_customizations(
    asked: Tenant, applied: Applied, seen: Customizations, ignored: frozenset[str]
) -> Customizations:
    said = asked.customizations

    def keeps(field: str, value: object | None) -> bool:
        path = f"customizations.{field}"
        if ignored & {"customizations", path}:
            return True
        # Neither set nor ever written by us: it belongs to someone else.
        return value is None and not applied.had(path)

    geo = said.geo_restrictions
    return Customizations(
        web_acl=seen.web_acl if keeps("webAcl", said.web_acl) else said.web_acl,
        certificate_arn=_certificate(asked, applied, seen.certificate_arn, keeps),
        geo_restrictions=seen.geo_restrictions if keeps("geoRestrictions", geo) else geo,
    )


def _certificate(
    asked: Tenant, applied: Applied, seen: str | None, keeps: Callable[[str, object | None], bool]
) -> str | None:
    own, path = asked.customizations.certificate_arn, "customizations.certificate"
    if asked.attached and applied.changed(path, asked):
        # Attaching it for the first time is not drift, so it cannot be ignored.
        return asked.attached
    if keeps("certificate", asked.attached or own):
        return seen
    if asked.certificate_request:
        # Until one is issued, the tenant keeps its present certificate.
        return asked.attached or seen
    left = own is None and seen is not None and applied.wrote(path, managed(seen))
    return seen if left else own


def _fields(target: Tenant, seen: ObservedTenant) -> Iterator[FieldDiff]:
    own, theirs = target.customizations, seen.customizations
    pairs = (
        ("distributionId", target.distribution_id, seen.distribution_id),
        ("connectionGroupId", target.connection_group_id, seen.connection_group_id),
        ("domains", _listed(target.domains or ()), _listed(seen.domains)),
        ("enabled", target.enabled, seen.enabled),
        ("customizations.webAcl", own.web_acl, theirs.web_acl),
        ("customizations.certificate", own.certificate_arn, theirs.certificate_arn),
        ("customizations.geoRestrictions", own.geo_restrictions, theirs.geo_restrictions),
    )
    for name, wanted, there in pairs:
        if wanted != there:
            yield FieldDiff(name, text(wanted), text(there))
    yield from entries("parameters", target.parameters, seen.parameters)


def entries(path: str, wanted: Mapping[str, str], there: Mapping[str, str]) -> Iterator[FieldDiff]:
    """The differences between two maps, as fields below a path."""
    for key in sorted(wanted.keys() | there.keys()):
        if wanted.get(key) != there.get(key):
            # The new owner may not learn who owned the tenant before.
            another = path == "tags" and key in identity.NAMING_TAGS and key in there
            yield FieldDiff(
                f"{path}.{key}", text(wanted.get(key)), _ANOTHER if another else text(there.get(key))
            )


def _listed(names: frozenset[str] | Mapping[str, str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(names))


def text(value: object | None) -> str:
    """A value for messages."""
    if value is None:
        return _NOTHING
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
