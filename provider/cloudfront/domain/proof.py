"""The TXT record by which the owner of a domain agrees to be served for a namespace (pure).

    shop.example.com    _edgetenants-proof.shop.example.com  TXT  edgetenants-proof=3f0c…
    *.example.com       _edgetenants-proof.example.com       TXT  edgetenants-proof=91be…

The value is a digest of the installation, the namespace and the domain, and of nothing else: a resource that
is created again needs no other one. It is no secret. It proves something because only the owner of the domain
can publish it there, and it says for which namespace: a copy of another namespace's value proves nothing.
Each domain has its own value, a wildcard another one than the name below which it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis.dns import DnsInstruction, RecordPurpose, RecordState, RecordType
from apis.domainproof import DomainProofMode
from apis.domains import permits
from edgetenants_runtime.managed import Managed
from provider.cloudfront.domain.dns_instructions import PROOF
from provider.cloudfront.domain.text_lookup import Texts
from provider.cloudfront.memory.proof_answers import Standing, Verdict
from provider.cloudfront.state.identity import namespace_of

__all__ = ["Rules", "fits", "instruction", "judged", "name", "readable", "to_prove", "value"]

_PREFIX: Final = "edgetenants-proof="
_PURPOSE: Final = "domain proof"
"""Part of the digest, so that no other digest of the same words is the same."""
_DIGITS: Final = 32
_LONGEST_NAME: Final = 253
_LONGEST_FOUND: Final = 100
_MOST_FOUND: Final = 3
"""Values that are remembered and shown. Their owner is anyone who has a zone."""


@dataclass(frozen=True)
class Rules:
    """What the provider's flags say of proofs."""

    required: bool = False
    """Each resource needs a proof of its domains, whatever its spec says."""
    exempt: tuple[str, ...] = ()
    """The domains that then need none, in the form of a plan's `allow.domains`."""


def name(domain: str) -> str:
    """Return the name of the record."""
    return f"{PROOF}.{domain.removeprefix('*.')}"


def fits(domain: str) -> bool:
    """Whether DNS allows a name that long."""
    return len(name(domain)) <= _LONGEST_NAME


def value(installation: str, namespace: str, domain: str) -> str:
    """Return the value of the record."""
    parts = f"{_PURPOSE}\0{installation}\0{namespace}\0{domain.lower()}"
    return f"{_PREFIX}{hashlib.sha256(parts.encode()).hexdigest()[:_DIGITS]}"


def to_prove(mr: Managed, domains: Iterable[str], rules: Rules) -> frozenset[str]:
    """Return the domains that need a proof. If the flags require one, only they name exceptions: the author
    of a resource can write its spec."""
    asked = mr.spec.get("domainProof") or {}
    if not rules.required and asked.get("mode", DomainProofMode.NOT_REQUIRED) == DomainProofMode.NOT_REQUIRED:
        return frozenset()
    exempt = rules.exempt if rules.required else _texts(asked)
    namespace = namespace_of(mr)
    return frozenset(
        domain for domain in domains if not any(permits(each, namespace, domain) for each in exempt)
    )


def _texts(asked: Mapping[str, Any]) -> Collection[str]:
    return tuple(each for each in asked.get("exempt") or () if isinstance(each, str))


def judged(found: Texts, wanted: str) -> Verdict:
    """Return what the records of the name prove. Records of an alias prove nothing: a wildcard CNAME makes
    every name an alias, and its owner may not even know of this one."""
    if found.alias_of:
        return Verdict(Standing.WRONG, f"an alias of {readable(found.alias_of, _LONGEST_NAME)}")
    values = [each.strip() for each in found.values]
    if wanted in values:
        return Verdict(Standing.PROVEN)
    others = sorted(each for each in values if each.startswith(_PREFIX))
    shown = ", ".join(readable(each, _LONGEST_FOUND) for each in others[:_MOST_FOUND])
    return Verdict(Standing.WRONG, shown) if others else Verdict(Standing.MISSING)


def readable(text: str, longest: int) -> str:
    """Return so many characters of what DNS said, in printable ASCII."""
    return "".join(each if " " <= each <= "~" else "?" for each in text[:longest])


_STATES: Final[Mapping[Standing, RecordState]] = {
    Standing.PROVEN: RecordState.PRESENT,
    Standing.MISSING: RecordState.MISSING,
    Standing.WRONG: RecordState.WRONG,
}


def instruction(
    installation: str, namespace: str, domain: str, verdict: Verdict, stored: RecordState
) -> DnsInstruction | None:
    """Return the record for status.dnsInstructions; None if its name would be too long for DNS.

    Args:
        installation: the provider's installation id.
        namespace: of the resource.
        domain: the domain.
        verdict: what DNS says.
        stored: the state to show if it says nothing.
    """
    if not fits(domain):
        return None
    return DnsInstruction(
        type=RecordType.TXT,
        name=name(domain),
        value=value(installation, namespace, domain),
        purpose=RecordPurpose.PROOF,
        state=_STATES.get(verdict.standing, stored),
        found=verdict.found or None if verdict.standing is Standing.WRONG else None,
    )
