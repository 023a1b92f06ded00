"""A change of spec.isolation, during which old and new tenants exist together.

A domain belongs to one tenant, and CloudFront creates no tenant without a domain. So a tenant has a name
below the plan's parking domain while it has none of the claim's domains:

    new tenant    parked ──▶ its domains, taken from the old tenant
    old tenant    its domains, parked ──▶ remaining domains, parked ──▶ parked ──▶ deleted

CloudFront moves a domain in one step, so it is served all the time. Whether CloudFront does so while the old
tenant is enabled shows only when it is tried. If it refuses, the old tenant continues to serve until the
claim's author confirms a gap. Then the old tenant releases a domain once the new tenant is rolled out, and
the new tenant gets the domain once the old tenant's status no longer lists it.

The function keeps no state: specs and status of the managed resources show the progress. So each step may be
repeated, and the claim may be changed or reverted in between.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from apis.conditions import InSyncReason, TenantConditionType, TenantReadyReason
from apis.tenant_choices import CertificateMode, Isolation
from function.composed import compose, naming
from function.composed.compose import Order, WantedTenant
from function.composed.observed import ObservedCondition, ObservedTenant
from function.findings import live

_UNUSABLE: Final = frozenset(
    {
        TenantReadyReason.DOMAIN_CONFLICT,
        TenantReadyReason.CERTIFICATE_SAN_MISMATCH,
        TenantReadyReason.CERTIFICATE_EXPIRED,
        TenantReadyReason.MISSING_CERTIFICATE,
        TenantReadyReason.VALIDATION_FAILED,
    }
)
"""Reasons of Ready for which a tenant cannot get the names in its spec."""
_REFUSED: Final = _UNUSABLE | {TenantReadyReason.ACCESS_DENIED, TenantReadyReason.INVALID_SPEC}
"""Reasons of Ready for which a move does not continue without action."""


_REQUEST_ID: Final = re.compile(r" \(request id: [^)]*\)")
_WORDS: Final = 700
"""Characters that are quoted of a tenant's message; the action comes after the quote."""
_AT_ONCE: Final = 3
"""Old tenants that get a parking name at the same time. As with new tenants (answer/pacing.py), more would
open Crossplane's circuit breaker, and Crossplane would not reconcile the claim for minutes."""


def hindrance(order: Order) -> str:
    """Why the domains cannot move between tenants; empty if they can."""
    if order.terms.certificate.mode is CertificateMode.MANAGED:
        return "CloudFront issues no managed certificate for a domain that another tenant has"
    if order.claim.spec.adopt is not None:
        return "spec.adopt adopts a tenant that has its own domains"
    if order.chosen.plan.parking_domain is None:
        path = order.chosen.path("parkingDomain")
        return f"{path} is not set, and CloudFront creates no tenant without a domain"
    return ""


def other(isolation: Isolation) -> Isolation:
    """The isolation that a claim has before it changes to this one."""
    return Isolation.PER_DOMAIN if isolation is Isolation.SHARED else Isolation.SHARED


@dataclass(frozen=True, eq=False)
class Switch:
    """The move of a claim's domains from the tenants of one isolation to those of the other."""

    order: Order
    seen: Mapping[str, ObservedTenant]
    """The claim's managed resources that are not being deleted, by their composed resource names."""
    gap: bool
    """Whether the claim's author has confirmed that its domains are not served for a while."""

    @property
    def asked(self) -> Isolation:
        """The isolation to which the domains move."""
        return self.order.claim.spec.isolation

    @property
    def former(self) -> Isolation:
        """The isolation from which the domains move."""
        return other(self.asked)

    @cached_property
    def held(self) -> Mapping[str, ObservedTenant]:
        """Those of the managed resources that exist in CloudFront."""
        return {name: each for name, each in self.seen.items() if each.exists}

    @property
    def under_way(self) -> bool:
        """Whether old tenants have domains of the claim, or wait for the rollout of new ones."""
        shared = self.former is Isolation.SHARED
        old = any((name == compose.TENANT) is shared for name in self.held if not compose.is_group(name))
        # Checked first, because most claims have no old tenant, and the rest costs time for each domain.
        return old and bool(self.holders or self._emptied)

    @cached_property
    def holders(self) -> Mapping[str, str]:
        """The old tenant of each domain that it may still have, according to its spec and status."""
        names = {domain: self.order.name_of(domain, self.former) for domain in self.order.claim.domains}
        return {
            domain: name
            for domain, name in names.items()
            if (seen := self.held.get(name))
            and (domain in seen.asked.domains or domain in seen.domain_states)
        }

    @cached_property
    def tenants(self) -> tuple[WantedTenant, ...]:
        """The tenants to compose now: the old tenants that have domains, and the new ones."""
        names = frozenset((*self.holders.values(), *self._emptied))
        old = (each for each in compose.tenants(self.order, self.former) if each.resource_name in names)
        return (*map(self._old, old), *map(self._new, compose.tenants(self.order, self.asked)))

    @cached_property
    def _emptied(self) -> tuple[str, ...]:
        """The old tenants without domains. They stay while the new ones are being rolled out, so that the
        claim reports one change from start to end."""
        names = (self.order.name_of(each, self.former) for each in self.order.claim.domains)
        targets = (self._target(domain) for domain in self.order.claim.domains)
        if not any(each and each.ready.reason == TenantReadyReason.DEPLOYING for each in targets):
            return ()
        old = {name: seen for name in names if (seen := self.held.get(name))}
        return tuple(name for name, seen in old.items() if seen.asked.domains == {self._parking(name)})

    @cached_property
    def present(self) -> tuple[WantedTenant, ...]:
        """The tenants that serve at present: the old ones, and those of the new ones that may have domains
        already."""
        old = compose.tenants(self.order, self.former)
        if self.former is Isolation.PER_DOMAIN:
            # A tenant for a new domain would have to be deleted again, so the domain waits with the others.
            old = tuple(each for each in old if each.resource_name in self.held)
        left = (_only(each, lambda domain: not self._moved(domain)) for each in old)
        new = (_only(each, self._asks) for each in compose.tenants(self.order, self.asked))
        return tuple(each for each in (*left, *new) if each.domains)

    def _moved(self, domain: str) -> bool:
        source = self.held.get(self.order.name_of(domain, self.former))
        target = self._target(domain)
        if target is None:
            return False
        return _has(target, source, domain) if source else domain in target.domain_states

    def _asks(self, domain: str) -> bool:
        target = self._target(domain)
        return target is not None and domain in target.asked.domains

    @property
    def refused(self) -> str:
        """The message of a tenant that cannot continue; empty if there is none."""
        return next(self._refusals(), "")

    @property
    def unparkable(self) -> bool:
        """Whether a tenant cannot get its parking name, so that no domain can move between existing
        tenants."""
        return any(
            self._parking(name) in seen.asked.domains and _denied(seen, reasons)
            for name, seen, reasons in self._parking_now()
        )

    def _parking_now(self) -> Iterator[tuple[str, ObservedTenant, frozenset[TenantReadyReason]]]:
        """The tenants that do not have their parking name yet, with the reasons for which they never will."""
        for name in self._targets:
            seen = self.seen.get(name)
            if seen is not None and not seen.exists:
                yield name, seen, _UNUSABLE
        for name in dict.fromkeys(self.holders.values()):
            if not self._parks(name):
                # A conflict may be about one of its domains that another tenant has by now.
                yield name, self.held[name], _UNUSABLE - {TenantReadyReason.DOMAIN_CONFLICT}

    def _refusals(self) -> Iterator[str]:
        for domain, name in self.holders.items():
            source, target = self.held[name], self.seen.get(self.order.name_of(domain, self.asked))
            if target is not None and self._parks(name) and _denied(target, _REFUSED):
                yield _said(target, target.ready)
            parks = self._parks(name) or self._parking(name) not in source.asked.domains
            if not parks and source.told(source.synced) and source.synced.denied:
                yield _said(source, source.synced)

    @cached_property
    def _targets(self) -> tuple[str, ...]:
        """The new tenants that get a domain of an old one."""
        return tuple(dict.fromkeys(self.order.name_of(domain, self.asked) for domain in self.holders))

    def _parking(self, name: str) -> str:
        """The parking name that the tenant has; else the one that it would get now."""
        known = self._parkings.get(name)
        if known is not None:
            return known
        wildcard = self.order.chosen.plan.parking_domain or ""
        return naming.parked(wildcard, self.order.composite.uid, name, self._change)

    @cached_property
    def _parkings(self) -> Mapping[str, str]:
        wildcard, own = self.order.chosen.plan.parking_domain, frozenset(self.order.claim.domains)
        given = {name: parkings(wildcard, name, each.asked.domains) - own for name, each in self.seen.items()}
        return {name: min(names) for name, names in given.items() if names}

    @cached_property
    def _change(self) -> str:
        """Distinguishes this change from earlier ones of the claim, whose parking names another team may have
        seen and taken. Each time, the old tenants differ or their specs have changed."""
        # The old tenant that gets a parking name first.
        old = next(iter(self.holders.values()), "")
        return f"{self.held[old].id}/{self.held[old].generation}" if old else ""

    def _parks(self, name: str) -> bool:
        """Whether an old tenant has its parking name, and so can give away its last domain."""
        return self._parking(name) in self.held[name].domain_states

    def _target(self, domain: str) -> ObservedTenant | None:
        return self.held.get(self.order.name_of(domain, self.asked))

    # The old tenants.

    def _old(self, whole: WantedTenant) -> WantedTenant:
        name = whole.resource_name
        has = self.held[name].asked.domains
        stays = tuple(domain for domain in whole.domains if domain in has and not self._leaves(domain))
        parks = name in self._parked or not stays
        return replace(whole, domains=stays, parked=self._parking(name) if parks else "")

    @cached_property
    def _parked(self) -> frozenset[str]:
        """The old tenants with a parking name, and those that get one now."""
        names = tuple(dict.fromkeys((*self.holders.values(), *self._emptied)))
        asked = [name for name in names if self._parking(name) in self.held[name].asked.domains]
        under_way = sum(not self._parks(name) or _rolls_out(self.held[name]) for name in asked)
        new = [name for name in names if name not in asked]
        return frozenset((*asked, *new[: max(0, _AT_ONCE - under_way)]))

    def _leaves(self, domain: str) -> bool:
        """Whether the old tenant no longer needs to list the domain."""
        name, target = self.holders[domain], self._target(domain)
        if target is None or name not in self._parked:
            return False
        source = self.held[name]
        if self.gap:
            return self._open(target) or _has(target, source, domain)
        return self._arrived(target, domain) and _knows(source, domain)

    def _arrived(self, target: ObservedTenant, domain: str) -> bool:
        """Whether the new tenant has the domain. After a revert, its status may be older than the loss of the
        domain. So the status must be for a spec without its parking name, which a tenant has as long as it
        gives domains away."""
        parking = self._parking(self.order.name_of(domain, self.asked))
        asked = target.asked.domains
        return (
            domain in asked
            and parking not in asked
            and domain in target.domain_states
            and target.told(target.synced)
        )

    # The new tenants.

    def _new(self, whole: WantedTenant) -> WantedTenant:
        sources = {self.holders[domain] for domain in whole.domains if domain in self.holders}
        if not sources:
            return whole
        domains = tuple(domain for domain in whole.domains if self._comes(domain))
        if not domains:
            return replace(whole, domains=(), parked=self._parking(whole.resource_name))
        ids = () if self.gap else (self.held[name].id for name in sources if self._parks(name))
        return replace(whole, domains=domains, takes=tuple(sorted(filter(None, ids))))

    def _comes(self, domain: str) -> bool:
        """Whether the new tenant lists the domain."""
        name, target = self.holders.get(domain), self._target(domain)
        if name is None:
            return True
        if target is None:
            return False
        source = self.held[name]
        if self.gap:
            return _has(target, source, domain)
        gives = bool(source.id) and self._parks(name)
        return domain in target.asked.domains or (gives and self._open(target))

    def _open(self, target: ObservedTenant) -> bool:
        """Whether its current spec is rolled out, so that CloudFront serves a domain as soon as it gets
        it."""
        spec, asked = self.order.claim.spec, target.asked
        wanted = WantedTenant("", tuple(asked.domains), not spec.suspended, asked.distribution_id, False)
        return live.finding_of(wanted, target, self.order.chosen).satisfied


def parkings(wildcard: str | None, resource_name: str, domains: Iterable[str]) -> frozenset[str]:
    """Those of the domains that are parking names of a tenant."""
    if wildcard is None:
        return frozenset()
    return frozenset(each for each in domains if naming.is_parked(wildcard, resource_name, each))


def _only(whole: WantedTenant, chosen: Callable[[str], bool]) -> WantedTenant:
    return replace(whole, domains=tuple(filter(chosen, whole.domains)))


def _has(target: ObservedTenant, source: ObservedTenant, domain: str) -> bool:
    """Whether the new tenant has the domain, and the old one no longer lists it."""
    listed = domain in target.asked.domains and domain in target.domain_states
    return listed and domain not in source.domain_states


def _knows(source: ObservedTenant, domain: str) -> bool:
    """Whether the old tenant has had the domain, and is not just getting it in an earlier move: it lists the
    domain, or reports that it lost it."""
    in_sync = source.condition(TenantConditionType.IN_SYNC)
    return (
        domain in source.domain_states
        or source.ready.reason == TenantReadyReason.DOMAIN_CONFLICT
        or in_sync.reason == InSyncReason.DRIFT_DETECTED
    )


def _said(tenant: ObservedTenant, condition: ObservedCondition) -> str:
    # Each attempt has another request id, and a message that changed each time would trigger Crossplane each
    # time.
    told = _REQUEST_ID.sub("", live.words(condition.message)).rstrip(".")
    quoted = told if len(told) <= _WORDS else told[:_WORDS] + "…"
    return f"DistributionTenant {tenant.name} reports: {quoted}."


def _rolls_out(seen: ObservedTenant) -> bool:
    return seen.condition(TenantConditionType.DEPLOYED).denied


def _denied(seen: ObservedTenant, reasons: frozenset[TenantReadyReason]) -> bool:
    return seen.ready.denied and seen.ready.reason in reasons and seen.told(seen.ready)
