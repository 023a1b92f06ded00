"""Looks at what the zones have for the domains of a tenant."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from apis.dns import DnsInstruction, RecordManager, RecordState
from edgetenants_runtime.bounds import cut
from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_instructions import CHALLENGE, State, besides
from provider.dns import plan
from provider.dns.errors import DnsError, Failure, SilentNameServer, Unreachable
from provider.dns.plan import Gave, Standing, Step, Wanted, gave_nothing
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Found, RecordStore, Remembers

__all__ = [
    "NOTHING",
    "DomainLook",
    "Look",
    "apexes",
    "leads_to_cloudfront",
    "look",
    "marked",
    "states",
    "until_served",
    "wanted",
]

_CHALLENGE_TTL: Final = 300
_LEADING: Final = frozenset({"A", "AAAA", "CNAME"})
_DIGITS: Final = 10
_Read = Callable[[Zone, Iterable[str]], Found]
_SILENT_AGAIN: Final = 10.0
_SILENT: Final = "the DNS service does not answer"
_LONGEST_FOUND: Final = 1024
"""Characters, as in the API."""


@dataclass(frozen=True)
class DomainLook:
    """The records of one domain."""

    domain: str
    zone: Zone | None = None
    """The zone that has it; None if there is none, or it is not known."""
    step: Step | None = None
    """What is to be done; None while unknown."""
    served: bool = True
    """All name servers answer with the last change."""
    silent: str = ""
    """Why it is not known whether they do; "" if it is."""
    problem: str = ""
    """Why its records cannot be managed."""
    later: float | None = None
    """Seconds until the zone may be read; None if it was read, or that makes no sense."""
    unreachable: str = ""
    """What the condition says of it, if the DNS service did not answer."""
    doubted: RecordState | None = None
    """As what CloudFront sees the records, if not as the zone has them."""
    answers: tuple[str, ...] = ()
    """What answers for the domain today, if that is not what is wanted: records at its name, or a wildcard
    above it."""

    @property
    def in_place(self) -> bool:
        """Every name server answers with what is wanted."""
        return self.served and self.is_as_wanted

    @property
    def is_as_wanted(self) -> bool:
        """The zone has what is wanted."""
        return self.step is not None and self.step.standing in (Standing.OURS, Standing.OTHERS)

    @property
    def is_due(self) -> bool:
        """Records are to be written."""
        return self.step is not None and self.step.standing is Standing.DUE

    @property
    def is_apex(self) -> bool:
        """The domain is the name of its zone."""
        return self.zone is not None and self.zone.name == self.domain


@dataclass(frozen=True)
class Look:
    """The records of a tenant's domains."""

    domains: Mapping[str, DomainLook] = field(default_factory=lambda: MappingProxyType({}))
    token: str = ""
    """The confirmation that lets the provider replace what answers today for domains; "" if nothing is in the
    way."""
    confirmed: bool = False
    """A user has given it."""

    def of(self, domain: str) -> DomainLook:
        """Return the look at a domain; one that knows nothing if there was none."""
        return self.domains.get(domain) or DomainLook(domain)

    @property
    def made(self) -> frozenset[str]:
        """The domains whose zone has the mark of this resource."""
        return frozenset(each.domain for each in self.domains.values() if each.step and each.step.is_marked)

    @property
    def later(self) -> float | None:
        """Seconds until the provider reads them again, if something was not known or is not served."""
        waits = [each.later for each in self.domains.values() if each.later is not None]
        return min(waits, default=None)


_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
NOTHING: Final = Look()
"""Of a tenant whose records are not managed."""


def wanted(store: RecordStore, zone: Zone, domain: str, endpoint: str, ttl: int) -> Wanted:
    """Return the records that lead a domain to a routing endpoint.

    At the apex of a zone, these are the service's alias records, and a TXT record that proves to CloudFront
    where they lead (CloudFront Developer Guide, "Request certificates for your CloudFront distribution
    tenant").

    Raises:
        DnsError: the service has no records for an apex.
    """
    if domain != zone.name:
        return Wanted(domain, (RecordSet(domain, "CNAME", (endpoint,), ttl),))
    challenge = RecordSet(f"{CHALLENGE}.{domain}", "TXT", (endpoint,), _CHALLENGE_TTL)
    return Wanted(domain, (*store.apex(domain, endpoint, ttl), challenge))


def look(  # noqa: PLR0913 - what it depends on, by name
    access: RecordsAccess,
    uid: str,
    domains: Iterable[str],
    endpoint: str,
    confirmation: str = "",
    has: Collection[str] = (),
    *,
    again: bool = False,
) -> Look:
    """Look at the records of domains that are to lead to a routing endpoint.

    Args:
        access: the DNS service, which must have a store.
        uid: of the managed resource.
        domains: the domains.
        endpoint: the routing endpoint.
        confirmation: the token that a user has given.
        has: the domains that the tenant has in AWS. Records move after their domain only.
        again: what a store remembers does not count.
    """
    read = _reader(access.store, again=again)
    silent: dict[Zone, str] = {}

    def looked(domain: str, *, take_over: bool = False) -> DomainLook:
        by = access.gave if domain in has else gave_nothing
        found = _looked(access, uid, domain, endpoint, read, gave=by, take_over=take_over)
        return _with_ticket(access, uid, found, silent) if found.step else found

    each = {domain: looked(domain) for domain in sorted(domains)}
    asking = [found for found in each.values() if found.answers]
    if not asking:
        return Look(MappingProxyType(each))
    token = _token(asking)
    if confirmation != token:
        return Look(MappingProxyType(each), token)
    if access.may_replace:
        for found in asking:
            each[found.domain] = looked(found.domain, take_over=True)
    return Look(MappingProxyType(each), token, confirmed=True)


def states(look: Look, told: State) -> State:
    """Return the states of the records: of what the provider manages as the zones have it, of all others as
    CloudFront says."""

    def state(record: DnsInstruction) -> RecordState:
        found = look.domains.get(_domain(record))
        if found is None or found.step is None:
            return told(record)
        if found.in_place:
            return found.doubted or RecordState.PRESENT
        if not found.is_due:
            return told(record)
        return RecordState.WRONG if found.step.there else RecordState.MISSING

    return state


def apexes(look: Look, status: Mapping[str, Any] = _EMPTY) -> Callable[[str], bool]:
    """Return which domains are the apex of a zone: the zone says it where it is known; else what the stored
    status says, as the service may only be out of reach."""
    stored = dns_instructions.stored_apexes(status)

    def is_apex(domain: str) -> bool:
        found = look.of(domain)
        return found.is_apex if found.zone else stored.get(domain, dns_instructions.has_two_labels(domain))

    return is_apex


def marked(look: Look, record: DnsInstruction, status: Mapping[str, Any] = _EMPTY) -> DnsInstruction:
    """Return the record, with what the zone has instead, and marked if the provider makes it. While that is
    not known, both are as in the stored status: that a service does not answer changes no record."""
    found = look.domains.get(_domain(record))
    if found is None or found.step is None:
        return record.model_copy(update=dns_instructions.stored_zone(status, record))
    # A record that a person put beside its mark does not make it forgotten.
    own = found.step.standing in (Standing.OURS, Standing.DUE) or found.step.is_marked
    there = [str(each) for each in found.step.there if each.name == record.name]
    return record.model_copy(
        update={
            "managed_by": RecordManager.PROVIDER if own else None,
            # What public DNS says besides, such as CAA, holds in any case, also for records of the provider.
            "found": cut("; ".join(filter(None, (", ".join(there), besides(record.found)))), _LONGEST_FOUND)
            or None,
        }
    )


def _domain(record: DnsInstruction) -> str:
    return record.name.removeprefix(f"{CHALLENGE}.")


def until_served(access: RecordsAccess, uid: str, domain: str, silent: dict[Zone, str]) -> float | None:
    """Return None if all name servers answer with the last change of a domain's records, otherwise the
    seconds until it makes sense to ask again.

    Args:
        access: the DNS service.
        uid: of the managed resource.
        domain: the domain.
        silent: zones whose name servers gave no answer in this reconcile, and why. They are not asked again:
            for a hundred domains, that would take some minutes. Gets such a zone.
    """
    ticket = access.tickets.of(uid, domain)
    if ticket is None or access.store is None:
        return None
    if ticket[0] in silent:
        return _SILENT_AGAIN
    try:
        served = access.store.is_served(*ticket)
    except DnsError as error:
        # The words of other errors may change with each attempt.
        silent[ticket[0]] = str(error) if isinstance(error, SilentNameServer) else ""
        return error.after or _SILENT_AGAIN
    if not served:
        return 5.0
    access.tickets.served(uid, domain)
    return None


def leads_to_cloudfront(record: RecordSet) -> bool:
    """Whether a record set leads to CloudFront, or proves that one does. Only such records are removed."""
    return all(value.endswith(".cloudfront.net") for value in record.values)


def _reader(store: RecordStore | None, *, again: bool) -> _Read:
    assert store is not None  # noqa: S101 - the caller has checked it
    return store.read_again if again and isinstance(store, Remembers) else store.read


def _looked(  # noqa: PLR0913 - what it depends on, by name
    access: RecordsAccess,
    uid: str,
    domain: str,
    endpoint: str,
    read: _Read,
    *,
    gave: Gave,
    take_over: bool = False,
) -> DomainLook:
    assert access.store is not None  # noqa: S101 - the caller has checked it
    found = DomainLook(domain)
    access.tickets.wanted(uid, domain)
    try:
        zone = access.store.zone_of(domain)
        if zone is None:
            return replace(found, problem=_without_zone(access, domain))
        found = replace(found, zone=zone)
        asked = wanted(access.store, zone, domain, endpoint, access.ttl)
        above = _wildcards_above(domain, zone)
        there = read(zone, asked.names | above)
        step = plan.settle(asked, there, access.owner, take_over=take_over, gave=gave)
    except ValueError as error:
        return replace(found, problem=str(error))
    except DnsError as error:
        return _failed(found, error)
    return replace(
        found,
        step=step,
        answers=_answers(step, there, above, endpoint),
        doubted=access.tickets.doubted(uid, domain),
    )


def _failed(found: DomainLook, error: DnsError) -> DomainLook:
    if error.failure in (Failure.LATER, Failure.NO_ZONE, Failure.UNCERTAIN):
        # The error's own words change with each attempt, and so would the status.
        words = _SILENT if isinstance(error, Unreachable) else ""
        return replace(found, later=error.after or 5.0, unreachable=words)
    return replace(found, problem=str(error))


def _with_ticket(access: RecordsAccess, uid: str, found: DomainLook, silent: dict[Zone, str]) -> DomainLook:
    later = until_served(access, uid, found.domain, silent)
    if later is None:
        return found
    return replace(found, served=False, later=later, silent=silent.get(found.zone, "") if found.zone else "")


def _without_zone(access: RecordsAccess, domain: str) -> str:
    return (
        f"{domain}: no zone of {access.config} contains it. Create its records of status.dnsInstructions, or "
        "add its zone there"
    )


def _wildcards_above(domain: str, zone: Zone) -> frozenset[str]:
    """The names of the wildcards of the zone that may answer for a domain without records of its own."""
    if domain == zone.name or domain.startswith("*."):
        return frozenset()
    labels = domain.removesuffix(f".{zone.name}").split(".")[1:]
    parents = [".".join((*labels[start:], zone.name)) for start in range(len(labels) + 1)]
    return frozenset(f"*.{parent}" for parent in parents)


def _answers(step: Step, there: Found, above: Iterable[str], endpoint: str) -> tuple[str, ...]:
    """What answers for the domain today and leads elsewhere."""
    if step.standing is Standing.TAKEN:
        return tuple(f"{each.name} {each}" for each in step.there)
    if step.standing is not Standing.DUE or step.corrects or step.there:
        return ()
    wild = (each for name in sorted(above) for each in there.of(name) if each.type in _LEADING)
    return tuple(f"{each.name} {each}" for each in wild if each.values != (endpoint,))


def _token(asking: Iterable[DomainLook]) -> str:
    """Of exactly these records: if others come in the way later, it is another one."""
    text = "\n".join(f"{each.domain} {' '.join(each.answers)}" for each in asking)
    return f"replace-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"
