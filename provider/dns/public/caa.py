"""Whether the CAA records of a domain forbid Amazon's certificate authority (RFC 8659).

The names are those that ACM documents ("(Optional) Configure a CAA record", ACM User Guide).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import dns.exception
import dns.rdata
import dns.rdataclass
import dns.rdatatype
from dns.rdtypes.ANY.CAA import CAA

from provider.dns.public.answers import Lookup, Outcome
from provider.dns.public.authoritative import parents

__all__ = ["AMAZON", "Caa", "allows", "climb"]

AMAZON: Final = frozenset({"amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"})
_KNOWN: Final = frozenset({b"issue", b"issuewild", b"iodef", b"issuemail", b"issuevmc", b"contactemail",
                           b"contactphone"})  # fmt: skip
_CRITICAL: Final = 0x80


@dataclass(frozen=True)
class Caa:
    """The CAA records that hold for a domain."""

    allowed: bool
    """Amazon may issue. True if a lookup failed, as then nothing is known."""
    name: str = ""
    """The name that has the records; empty if there are none."""
    values: tuple[str, ...] = ()
    why: str = ""
    """Why they are not known."""

    @property
    def forbids(self) -> str:
        """What forbids Amazon's certificate authority; empty if nothing does."""
        if self.allowed:
            return ""
        return (
            f"the CAA records of {self.name} ({', '.join(self.values)}) forbid Amazon's certificate authority"
        )


def climb(lookup: Lookup, domain: str) -> Caa:
    """Return the CAA records of the first name upwards that has some (RFC 8659, section 3). A lookup follows
    CNAME records, so the records of the name to which a CNAME leads count."""
    wildcard = domain.startswith("*.")
    for name in parents(domain.removeprefix("*.")):
        found = lookup.ask(name, "CAA")
        if not found.is_known:
            return Caa(allowed=True, name=name, why=found.why)
        if found.outcome is Outcome.FOUND and found.values:
            return Caa(allows(found.values, wildcard=wildcard), name, found.values)
    return Caa(allowed=True)


def allows(values: Iterable[str], *, wildcard: bool) -> bool:
    """Whether one set of CAA records lets Amazon issue (RFC 8659, section 4): for a wildcard, `issuewild`
    counts if there is any, else `issue`. Without either, any authority may issue; with an unknown critical
    property, none."""
    records = [each for each in map(_parsed, values) if each is not None]
    if any(flags & _CRITICAL and tag not in _KNOWN for flags, tag, _ in records):
        return False
    issue = [value for _, tag, value in records if tag == b"issue"]
    wild = [value for _, tag, value in records if tag == b"issuewild"]
    counting = wild if wildcard and wild else issue
    return not counting or any(_issuer(each) in AMAZON for each in counting)


def _parsed(text: str) -> tuple[int, bytes, bytes] | None:
    try:
        rdata = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.CAA, text)
    except (dns.exception.DNSException, ValueError):
        return None
    return (rdata.flags, rdata.tag.lower(), rdata.value) if isinstance(rdata, CAA) else None


def _issuer(value: bytes) -> str:
    return value.decode(errors="replace").partition(";")[0].strip().lower().rstrip(".")
