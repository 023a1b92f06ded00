"""Plans the actions that lead from the observed tenant to the desired one (pure).

    absent ──create──▶ exists ──converge──▶ as desired
                         │
                         └──remove──▶ disabled ──▶ deleted

A failure or a crash may interrupt a plan anywhere. The next reconcile plans again from the state that it
observes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from provider.cloudfront.aws.disabling import Said, order
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, Action, Wait, with_tags
from provider.cloudfront.state.certificates import LOOK_AT_CERTIFICATE, Certificate, Request
from provider.cloudfront.state.customizations import INHERITED
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import Diff, compare
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant.actions import (
    AttachCertificate,
    DeleteTenant,
    MoveDomain,
    RequestCertificate,
    SwitchTenant,
    UpdateTenant,
)

__all__ = [
    "NO_MOVES",
    "Moves",
    "converge",
    "next_look",
    "only_attaches",
    "remove",
    "switch",
]


@dataclass(frozen=True)
class Moves:
    """The domains to take from other tenants."""

    sources: Mapping[str, str] = field(default_factory=dict)
    """Each domain, with a description of the tenant that has it."""
    covered_later: bool = False
    """A certificate covers them only after the update; CloudFront does not move them before."""
    more: bool = False
    """More domains may have to be moved, so the update adds no domain yet."""


NO_MOVES: Final = Moves()


def converge(
    diff: Diff[Tenant],
    seen: ObservedTenant,
    request: Request | None = None,
    *,
    uncertain: bool = False,
    moves: Moves = NO_MOVES,
) -> tuple[Action, ...]:
    """Plan the update of a tenant to the desired state; empty if nothing differs.

    Args:
        diff: the differences.
        seen: the observed tenant.
        request: the certificate to request now.
        uncertain: the attached certificate may no longer be valid. CloudFront refuses an update that names
            it, so the update omits customizations that do not change. CloudFront keeps omitted ones.
        moves: the domains to take from other tenants.
    """
    changing = tuple(_changing(diff, seen, request, moves, uncertain=uncertain))
    return with_tags(changing, diff, seen)


def _changing(
    diff: Diff[Tenant], seen: ObservedTenant, request: Request | None, moves: Moves, *, uncertain: bool
) -> Iterator[Action]:
    """The moves, and the update before or after them. CloudFront moves a domain only to a tenant with a
    certificate for it, and an update cannot add a domain that another tenant has."""
    target, moving = diff.target, _moving(diff, seen, moves)
    if moving and moves.covered_later:
        # On another distribution, the domains that stay may need the certificate.
        early = request if target.distribution_id != seen.distribution_id else None
        later = None if early else request
        ahead = replace(target, domains=_domains_before(target, seen, moves, later))
        yield from _update(compare(ahead, seen), seen, early, uncertain=uncertain)
        seen, request = _as_written(ahead, seen), later
    yield from moving
    for move in moving:
        seen = seen.given(move.domain, seen.etag)
    if moves.more:
        target, request = replace(target, domains=frozenset(seen.domains)), None
    diff = compare(target, seen) if moving or moves.more else diff
    yield from _update(diff, seen, request, uncertain=uncertain)


def _moving(diff: Diff[Tenant], seen: ObservedTenant, moves: Moves) -> tuple[MoveDomain, ...]:
    sources = moves.sources
    added = (diff.target.domains or frozenset()) - set(seen.domains)
    return tuple(MoveDomain(seen.id, seen.name, d, sources[d]) for d in sorted(added & sources.keys()))


def _domains_before(
    target: Tenant, seen: ObservedTenant, moves: Moves, request: Request | None
) -> frozenset[str]:
    """The domains in the update before the moves; a tenant must have at least one."""
    own = (target.domains or frozenset()) - moves.sources.keys()
    # Domains that need the certificate request are added with that request, afterwards.
    first = own & seen.domains.keys() if request or moves.more else own
    return first or frozenset(seen.domains)


def _as_written(target: Tenant, seen: ObservedTenant) -> ObservedTenant:
    """The tenant after an update to `target`."""
    return replace(
        seen,
        distribution_id=target.distribution_id or seen.distribution_id,
        connection_group_id=target.connection_group_id,
        domains={domain: seen.domains.get(domain, "inactive") for domain in target.domains or ()},
        enabled=bool(target.enabled),
        parameters=target.parameters,
        customizations=target.customizations,
    )


def only_attaches(diff: Diff[Tenant]) -> bool:
    """The only difference is that the managed certificate is not attached."""
    return [d.field for d in diff.fields] == ["customizations.certificate"] and bool(diff.target.attached)


def next_look(seen: ObservedTenant, certificate: Certificate | None) -> float | None:
    """Seconds until the next poll of a tenant with nothing to write; None for the poll interval."""
    if not seen.deployed:
        return LOOK_AGAIN
    return LOOK_AT_CERTIFICATE if certificate and certificate.pending else None


def _without_customizations(diff: Diff[Tenant], seen: ObservedTenant) -> Diff[Tenant]:
    if diff.target.customizations != seen.customizations:
        return diff
    return replace(diff, target=replace(diff.target, customizations=INHERITED))


def _update(
    diff: Diff[Tenant], seen: ObservedTenant, request: Request | None, *, uncertain: bool
) -> tuple[Action, ...]:
    diff = _without_customizations(diff, seen) if uncertain else diff
    target = diff.target
    asking = (RequestCertificate(seen.id, target, request),) if request else ()
    if not diff.fields:
        return asking
    if only_attaches(diff) and target.attached:
        return (AttachCertificate(seen.id, target, target.attached), *asking)
    kept = not any(d.field.startswith("customizations") for d in diff.fields)
    emptied = _emptied(target, seen, kept=kept)
    if request and target.distribution_id != seen.distribution_id:
        # The new distribution has other parameters, and its certificate may cover other domains.
        return (UpdateTenant(seen.id, target, diff.fields, emptied, request),)
    if request is None or not (target.domains or frozenset()) - set(seen.domains):
        return (UpdateTenant(seen.id, target, diff.fields, emptied), *asking)
    # CloudFront accepts a domain without a certificate only with a request for one, which it may refuse
    # until DNS leads the domain to it. The other fields must not wait for that.
    first = tuple(d for d in diff.fields if d.field != "domains")
    then = tuple(d for d in diff.fields if d.field == "domains")
    before = replace(target, domains=frozenset(seen.domains))
    others = (UpdateTenant(seen.id, before, first, emptied),) if first else ()
    return (*others, UpdateTenant(seen.id, target, then, request=request))


def remove(
    seen: ObservedTenant, *, refused: bool = False, early: bool = True, said: Said = Said.NOTHING
) -> tuple[Action, ...]:
    """Plan the deletion of a tenant: disable it and delete it at once. CloudFront may refuse the deletion
    until the change is rolled out.

    Args:
        seen: the observed tenant.
        refused: CloudFront refused to delete this version, so the plan waits for the roll-out.
        early: CloudFront may delete a tenant before its disabling is rolled out. If not, the plan waits, too,
            and the disabling is a plan of its own.
        said: the form of the last request to enable or disable one that AWS accepted.
    """
    delete = DeleteTenant(seen.id, seen.name)
    if seen.enabled:
        disable = switch(seen, enabled=False, said=said)
        return (disable, delete) if early else (disable,)
    if not seen.deployed and (refused or not early):
        reason = f"tenant {seen.name} is disabled; waiting for CloudFront to roll that out before deleting it"
        return (Wait(reason),)
    return (delete,)


def switch(seen: ObservedTenant, *, enabled: bool, said: Said = Said.NOTHING) -> SwitchTenant:
    """Plan to enable or disable a tenant, and nothing else.

    Args:
        seen: the observed tenant.
        enabled: whether it is to serve.
        said: the form of the last such request that AWS accepted.
    """
    ways = tuple((each, _switched(seen, each, enabled=enabled)) for each in order(said))
    return SwitchTenant(seen.id, seen.name, enabled, ways)


def _switched(seen: ObservedTenant, said: Said, *, enabled: bool) -> Tenant:
    """The observed tenant, but enabled or disabled, with the members that `said` requires. Even the largest
    form omits customizations: CloudFront refuses an update with a certificate that is no longer valid."""
    if said is Said.NOTHING:
        return Tenant(name=seen.name, enabled=enabled)
    parent = Tenant(
        name=seen.name,
        distribution_id=seen.distribution_id,
        domains=frozenset(seen.domains),
        enabled=enabled,
    )
    if said is Said.PARENT:
        return parent
    return replace(parent, connection_group_id=seen.connection_group_id, parameters=seen.parameters)


def _emptied(target: Tenant, seen: ObservedTenant, *, kept: bool) -> frozenset[str]:
    emptied = {
        "Parameters": seen.parameters and not target.parameters,
        "Customizations": seen.customizations and not target.customizations and not kept,
    }
    return frozenset(member for member, is_emptied in emptied.items() if is_emptied)
