"""What CloudFront and ACM read from the DNS: where a domain points, proofs of control, permitted issuers.

    shop.example.org  CNAME ──▶ … ──▶ routing endpoint                          valid
    example.org       ALIAS ──▶ routing endpoint, TXT _cf-challenge.example.org  valid
    example.org       ALIAS ──▶ routing endpoint                                no proof: aliases are hidden

Rules: CloudFront's developer guide, "Request certificates for your CloudFront distribution tenant".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from edgetenants_emulator.zones.authority import Answer, Code, normal

__all__ = ["DnsStatus", "Verdict", "caa_allows", "has_text", "verdict"]

Lookup = Callable[[str, str], Answer]

_MOST_HOPS = 8
_AMAZON_CAS = frozenset({"amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"})


class DnsStatus(StrEnum):
    """DnsConfigurationStatus of the model."""

    VALID = "valid-configuration"
    """The domain points to the routing endpoint."""
    INVALID = "invalid-configuration"
    """It does not resolve, or points to another target."""
    UNKNOWN = "unknown-configuration"
    """The lookup failed."""


@dataclass(frozen=True)
class Verdict:
    """The DNS status of a domain, with its reason."""

    status: DnsStatus
    reason: str = ""


def verdict(lookup: Lookup, domain: str, endpoint: str) -> Verdict:
    """Whether a domain points to a routing endpoint, with CNAMEs or with a Route 53 alias and its
    challenge."""
    answers = [lookup(domain, kind) for kind in ("A", "AAAA")]
    chain = [record for answer in answers for record in answer.records]
    if endpoint in (normal(value) for record in chain if record.type == "CNAME" for value in record.values):
        return Verdict(DnsStatus.VALID)
    if any(answer.code is Code.SERVER_FAILURE for answer in answers):
        return Verdict(DnsStatus.UNKNOWN, f"The DNS lookup of {domain} failed.")
    aliases = [record.name for record in chain if record.alias == endpoint]
    if aliases:
        return _challenged(lookup, (domain, *aliases), endpoint)
    if any(len(answer.records) > _MOST_HOPS for answer in answers):
        return Verdict(DnsStatus.UNKNOWN, f"{domain} is the start of too long a chain of CNAME records.")
    return Verdict(DnsStatus.INVALID, f"{domain} has no CNAME record that points to {endpoint}.")


def has_text(lookup: Lookup, name: str, text: str) -> bool:
    """Whether a name has a TXT record with that host name."""
    return text in (normal(value.strip('"')) for value in lookup(name, "TXT").values("TXT"))


def caa_allows(lookup: Lookup, domain: str) -> bool:
    """Whether the nearest CAA records, the domain's or an ancestor's, permit Amazon's authorities."""
    for name in _upwards(domain.removeprefix("*.")):
        issuers = [_issuer(value.lower()) for value in lookup(name, "CAA").values("CAA")]
        if issuers:
            named = [issuer for issuer in issuers if issuer is not None]
            return not named or bool(_AMAZON_CAS & set(named))
    return True


def _challenged(lookup: Lookup, names: tuple[str, ...], endpoint: str) -> Verdict:
    if any(has_text(lookup, f"_cf-challenge.{name}", endpoint) for name in names):
        return Verdict(DnsStatus.VALID)
    reason = f"The alias needs a TXT record _cf-challenge.{names[0]} with the value {endpoint}."
    return Verdict(DnsStatus.INVALID, reason)


def _issuer(caa: str) -> str | None:
    """The issuer in a record like `0 issue "amazon.com"`; None for other CAA records."""
    parts = caa.replace('"', "").split(maxsplit=2)
    if len(parts) < 2 or parts[1] != "issue":
        return None
    return parts[2].partition(";")[0].strip() if len(parts) > 2 else ""


def _upwards(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.partition(".")[2]
