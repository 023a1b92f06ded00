"""From what is asked and what is there to what is to be done (pure).

    absent ──create──▶ there ──converge──▶ as asked
                         │
                         └──remove──▶ disabled ──▶ deleted

Each plan may be cut off anywhere, by a failure or by the death of the process: the next one is made from what
is there then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from provider.cloudfront.aws.disabling import Said, order
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, Action, Wait, with_tags
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.customizations import INHERITED
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.diff import Diff, compare
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant.actions import (
    AttachCertificate,
    DeleteTenant,
    DisableTenant,
    MoveDomain,
    RequestCertificate,
    UpdateTenant,
)

__all__ = [
    "LOOK_AT_CERTIFICATE",
    "NO_MOVES",
    "Moves",
    "converge",
    "disabled",
    "look_after",
    "only_attaches",
    "remove",
]

LOOK_AT_CERTIFICATE: Final = 30.0
"""Seconds between two looks at a certificate that is being validated; it takes minutes once DNS is right."""


@dataclass(frozen=True)
class Moves:
    """The domains to take from other tenants."""

    sources: Mapping[str, str] = field(default_factory=dict)
    """Each with the tenant that has it, as it may be named."""
    covered_later: bool = False
    """A certificate covers them only once the tenant is as asked; CloudFront moves none before."""
    more: bool = False
    """Others may have to be moved, so no domain is added in another way yet."""


NO_MOVES: Final = Moves()


def converge(
    diff: Diff[Tenant],
    seen: ObservedTenant,
    request: Request | None = None,
    *,
    uncertain: bool = False,
    moves: Moves = NO_MOVES,
) -> tuple[Action, ...]:
    """Bring a tenant to what it should be. Empty when it is.

    Args:
        diff: what differs.
        seen: the tenant.
        request: the certificate that has to be asked for now.
        uncertain: the attached certificate may be no good any more. CloudFront refuses an update that names
            it, so customizations that do not change are left out then, which keeps them.
        moves: the domains to take from other tenants.
    """
    changing = tuple(_changing(diff, seen, request, moves, uncertain=uncertain))
    return with_tags(changing, diff, seen)


def _changing(
    diff: Diff[Tenant], seen: ObservedTenant, request: Request | None, moves: Moves, *, uncertain: bool
) -> Iterator[Action]:
    """The moves, and the update before or after them: CloudFront moves a domain only to a tenant with a
    certificate for it, and adds none in an update that another tenant has."""
    target, moving = diff.target, _moving(diff, seen, moves)
    if moving and moves.covered_later:
        # Another distribution may need the certificate for the domains that stay.
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
    """The domains in the update that makes the moves possible: a tenant must have one."""
    own = (target.domains or frozenset()) - moves.sources.keys()
    # Those that a certificate is asked for with are taken with the request, afterwards.
    first = own & seen.domains.keys() if request or moves.more else own
    return first or frozenset(seen.domains)


def _as_written(target: Tenant, seen: ObservedTenant) -> ObservedTenant:
    """The tenant as it is after an update to `target`."""
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
    """All that differs is that the managed certificate is not attached."""
    return [d.field for d in diff.fields] == ["customizations.certificate"] and bool(diff.target.attached)


def look_after(seen: ObservedTenant, certificate: Certificate | None) -> float | None:
    """Seconds to the next look at a tenant for which there is nothing to do; None for the poll interval."""
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
        # Its certificate may not cover what the other's did, and its parameters are others.
        return (UpdateTenant(seen.id, target, diff.fields, emptied, request),)
    if request is None or not (target.domains or frozenset()) - set(seen.domains):
        return (UpdateTenant(seen.id, target, diff.fields, emptied), *asking)
    # A domain without certificate is taken only together with the request for one, which CloudFront may
    # refuse until the domain leads to it. What has nothing to do with that must not wait.
    first = tuple(d for d in diff.fields if d.field != "domains")
    then = tuple(d for d in diff.fields if d.field == "domains")
    before = replace(target, domains=frozenset(seen.domains))
    others = (UpdateTenant(seen.id, before, first, emptied),) if first else ()
    return (*others, UpdateTenant(seen.id, target, then, request=request))


def remove(seen: ObservedTenant, *, refused: bool = False, said: Said = Said.NOTHING) -> tuple[Action, ...]:
    """Delete a tenant: disable it, and delete it at once, which CloudFront may refuse until it is rolled out.

    Args:
        seen: the tenant.
        refused: the deletion of this version was tried and refused, so that the roll-out is waited for.
        said: what AWS was told when it last took a disabling.
    """
    delete = DeleteTenant(seen.id, seen.name)
    if seen.enabled:
        ways = tuple((each, disabled(seen, each)) for each in order(said))
        return (DisableTenant(seen.id, seen.name, ways), delete)
    if refused and not seen.deployed:
        reason = f"tenant {seen.name} is disabled, waiting for CloudFront before deleting it"
        return (Wait(reason),)
    return (delete,)


def disabled(seen: ObservedTenant, said: Said) -> Tenant:
    """The tenant as it is, but disabled, for an update that says so much of it. Customizations are left out
    even of the whole: CloudFront refuses an update that names a certificate which is no good any more."""
    if said is Said.NOTHING:
        return Tenant(name=seen.name, enabled=False)
    parent = Tenant(
        name=seen.name,
        distribution_id=seen.distribution_id,
        domains=frozenset(seen.domains),
        enabled=False,
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
