"""DNSReady, derived from a look at the records (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apis.conditions import DnsReason, TenantConditionType
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.bounds import named
from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.dns.look import DomainLook, Look
from provider.dns.plan import Standing

__all__ = ["CONFIRM", "HAND_OVER", "IF_SILENT", "IF_UNREACHABLE", "condition", "dns_ready", "of_problem"]

CONFIRM: Final = "edgetenants.io/confirm"
"""The annotation of a confirmation, as in safety/guards.py."""
_MOST: Final = 5
IF_SILENT: Final = (
    "If this lasts, remove the NS record of a name server that is gone; if the provider cannot reach the "
    "name servers, set propagation to Primary in spec.dns.rfc2136 of the ProviderConfig"
)
"""What to do about name servers that do not answer."""
IF_UNREACHABLE: Final = (
    "The provider tries again. If this lasts, check that the DNS service runs and that the provider reaches "
    "it"
)
"""What to do about a service that does not answer."""
HAND_OVER: Final = (
    "To hand the records over, give the resource that has the domain the same spec.forProvider.dns. If it is "
    "in another namespace, keep the annotations of the move until its DNSReady is True."
)
"""What to do about records that lead to the tenant of another resource."""
_NO_ACTION: Final = "No action is needed."


def of_problem(access: RecordsAccess) -> Condition:
    """Return the condition while the DNS service cannot be used."""
    return condition(DnsReason.DNS_ERROR, f"spec.forProvider.dns: {access.problem}")


def dns_ready(access: RecordsAccess, look: Look, failed: str = "", unseen: str = "") -> Condition:
    """Return the condition.

    Args:
        access: the DNS service.
        look: what its zones have.
        failed: why the last write failed; "" if it did not.
        unseen: the message about what the provider may not read in CloudFront.
    """
    all_ = list(look.domains.values())
    problems = _problems(access, look, all_)
    if failed:
        problems = [failed, *problems]
    if problems:
        return condition(DnsReason.DNS_ERROR, _sentences(*problems, unseen))
    if look.later is not None and not all(each.is_as_wanted or each.is_due for each in all_):
        return condition(DnsReason.DNS_RECORD_CREATING, _sentences(_reading(all_), unseen))
    if due := [each.domain for each in all_ if each.is_due]:
        return _due(access, due, unseen)
    if slow := [each for each in all_ if not each.served]:
        return condition(DnsReason.DNS_PROPAGATING, _sentences(_propagating(slow), unseen))
    if doubted := [each.domain for each in all_ if each.doubted]:
        words = (
            f"The zone has the records of {named(doubted, _MOST)}, but CloudFront does not see them yet. The "
            "provider checks again within an hour. If this lasts, check that the parent zone delegates to "
            "the name servers of the zone, and its DNSSEC."
        )
        return condition(DnsReason.DNS_PROPAGATING, _sentences(words, unseen))
    return condition(DnsReason.DNS_READY, unseen, holds=True)


def condition(reason: DnsReason, message: str = "", *, holds: bool = False) -> Condition:
    """Return DNSReady with that reason."""
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=TenantConditionType.DNS_READY, status=status, reason=reason.value, message=message)


def _propagating(slow: Sequence[DomainLook]) -> str:
    domains = named([each.domain for each in slow], _MOST)
    words = f"The records of {domains} are written, but not on every name server yet"
    silent = min((each.silent for each in slow if each.silent), default="")
    if not silent:
        return _sentences(words, _NO_ACTION)
    return _sentences(f"{words}: {silent.rstrip('.')}", IF_SILENT)


def _reading(all_: Sequence[DomainLook]) -> str:
    silent = min((each.unreachable for each in all_ if each.unreachable), default="")
    if not silent:
        return _sentences("The provider is reading the zones of the domains.", _NO_ACTION)
    return f"The zones of the domains cannot be read now: {silent.rstrip('.')}. {IF_UNREACHABLE}"


def _due(access: RecordsAccess, due: Sequence[str], unseen: str) -> Condition:
    if access.frozen:
        words = f"{access.frozen}: the provider does not write the records of {named(due, _MOST)}."
        return condition(DnsReason.DNS_RECORD_CREATING, _sentences(words, unseen))
    words = f"The records of {named(due, _MOST)} are being written."
    return condition(DnsReason.DNS_RECORD_CREATING, _sentences(words, _NO_ACTION, unseen))


def _problems(access: RecordsAccess, look: Look, all_: Sequence[DomainLook]) -> list[str]:
    found = sorted({each.problem for each in all_ if each.problem})
    more = [f"and {len(found) - _MOST} more problems"] if len(found) > _MOST else []
    foreign = [each.domain for each in all_ if each.step and each.step.standing is Standing.FOREIGN]
    taken = [each for each in all_ if each.step and each.step.standing is Standing.TAKEN]
    asking = [each for each in all_ if each.answers and each not in taken and not look.confirmed]
    return [
        *found[:_MOST],
        *more,
        *([_foreign(foreign)] if foreign else []),
        *([_taken(access, look, taken)] if taken else []),
        *([_shadowed(look, asking)] if asking else []),
    ]


def _foreign(domains: Sequence[str]) -> str:
    return (
        f"The records of {named(domains, _MOST)} belong to another namespace or installation, as the TXT "
        "records _edgetenants of these names say, so the provider does not change them. To give the domain "
        "to this resource, have the owner of the zone delete that TXT record"
    )


def _taken(access: RecordsAccess, look: Look, taken: Sequence[DomainLook]) -> str:
    there = named([each for found in taken for each in found.answers], _MOST)
    words = f"The provider did not make these records, so it does not change them: {there}."
    if access.may_replace and not look.confirmed:
        return f"{words} {_ask(look)}"
    return (
        f"{words} Delete them, or point them to the value in status.dnsInstructions; or have an "
        f"administrator set spec.dns.existingRecords of {access.config} to ReplaceIfConfirmed"
    )


def _shadowed(look: Look, asking: Sequence[DomainLook]) -> str:
    names = named([each.domain for each in asking], _MOST)
    there = named([each for found in asking for each in found.answers], _MOST)
    return (
        f"A wildcard answers for {names} today: {there}. The provider makes their own records once "
        f"CloudFront serves them. {_ask(look)}"
    )


def _ask(look: Look) -> str:
    return (
        "Visitors who go there today then go to CloudFront, which serves them only once a certificate is "
        f"attached. To replace these answers now, set the annotation {CONFIRM} to {look.token}"
    )


def _sentences(*parts: str) -> str:
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)
