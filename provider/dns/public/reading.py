"""What a message of a server says (pure). It follows the CNAME records within the message."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from provider.dns.public.answers import Answer, Outcome

__all__ = ["LONGEST_CHAIN", "failed", "read"]

LONGEST_CHAIN: Final = 16
"""Names. Resolvers stop at 8 to 17."""
_MOST_VALUES: Final = 64
_LONGEST_VALUE: Final = 1024
_NAMES: Final = frozenset({"CNAME", "NS"})


def read(message: dns.message.Message, name: str, kind: str) -> Answer:
    """Return what the message says about a name and a type. An answer that ends with a CNAME to a name of
    which it says nothing is FOUND with no values if the type is not CNAME."""
    code = message.rcode()
    if code not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return failed(name, kind, f"it answers {dns.rcode.to_text(code)}")
    wanted = dns.rdatatype.from_text(kind)
    at = dns.name.from_text(name)
    chain: list[str] = []
    while kind != "CNAME" and _set(message, at, wanted) is None:
        led = _set(message, at, dns.rdatatype.CNAME)
        if led is None:
            break
        at = led[0].target.canonicalize()
        if _text(at) in (name, *chain) or len(chain) >= LONGEST_CHAIN:
            return failed(name, kind, f"its CNAME records lead in a circle or too far: {_text(at)}")
        chain.append(_text(at))
    found = _set(message, at, wanted)
    answer = Answer(_outcome(code, found is not None, bool(chain)), name, kind, tuple(chain))
    return answer if found is None else replace(answer, values=_values(found, kind))


def failed(name: str, kind: str, why: str) -> Answer:
    """Return an answer that failed."""
    return Answer(Outcome.FAILED, name, kind, why=why)


def _outcome(code: int, found: bool, led: bool) -> Outcome:
    if found:
        return Outcome.FOUND
    if code == dns.rcode.NXDOMAIN:
        return Outcome.NO_NAME
    return Outcome.FOUND if led else Outcome.NO_TYPE


def _set(
    message: dns.message.Message, name: dns.name.Name, kind: dns.rdatatype.RdataType
) -> dns.rrset.RRset | None:
    return message.get_rrset(message.answer, name, dns.rdataclass.IN, kind)


def _values(found: dns.rrset.RRset, kind: str) -> tuple[str, ...]:
    return tuple(sorted(_value(each, kind)[:_LONGEST_VALUE] for each in list(found)[:_MOST_VALUES]))


def _value(rdata: object, kind: str) -> str:
    if kind == "TXT":
        return b"".join(rdata.strings).decode(errors="replace")  # type: ignore[attr-defined]
    return str(rdata).lower().rstrip(".") if kind in _NAMES else str(rdata)


def _text(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower()
