"""DNS messages as bytes: one question in, one answer out. dnspython reads and writes them (RFC 1035, EDNS by
RFC 6891); the texts of Route 53, which are not those of zone files, are read here."""

from __future__ import annotations

import re
from typing import Any, Final

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.CAA
import dns.rdtypes.ANY.TXT
import dns.rrset

from edgetenants_emulator.zones.authority import Answer, Code, RecordSet

__all__ = ["TYPES", "MalformedMessage", "Query", "answer", "parse", "rdata", "refusal"]

TYPES: Final = ("A", "AAAA", "CAA", "CNAME", "NS", "SOA", "TXT")
"""The types of the records that are answered."""
PLAIN_SIZE: Final = 512
"""The longest answer over UDP to a client that does not send its size."""
EDNS_SIZE: Final = 1232
"""The longest answer over UDP at all, as DNS servers have agreed on since 2020."""
_HEADER: Final = 12
_RESPONSE: Final = 0x80
_LONGEST_STRING: Final = 255
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
_ESCAPED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)


class MalformedMessage(ValueError):  # noqa: N818
    """The bytes are not a question."""


class Query:
    """A question as it came."""

    def __init__(self, message: dns.message.Message) -> None:
        """`message` has one question."""
        self._message = message
        [self._question] = message.question

    @property
    def name(self) -> str:
        """In the client's spelling, which the answer repeats."""
        return ".".join(label.decode("latin-1") for label in self._question.name.labels if label)

    @property
    def type_name(self) -> str:
        """The type's name, or TYPE and its number if it is not answered here."""
        name = dns.rdatatype.to_text(self._question.rdtype)
        return name if name in TYPES else f"TYPE{int(self._question.rdtype)}"

    @property
    def code(self) -> Code:
        """NO_ERROR for what can be looked up, else why not: another class."""
        return Code.NO_ERROR if self._question.rdclass == dns.rdataclass.IN else Code.REFUSED

    @property
    def udp_size(self) -> int:
        """The longest answer over UDP, in bytes."""
        return min(max(self._message.payload, PLAIN_SIZE), EDNS_SIZE)

    def response(self) -> dns.message.Message:
        """An empty answer to it."""
        return dns.message.make_response(self._message, our_payload=EDNS_SIZE)


def parse(data: bytes) -> Query:
    """The question in a message. Raises MalformedMessage for anything but one question."""
    try:
        message = dns.message.from_wire(data, ignore_trailing=True)
    except dns.exception.DNSException as error:
        raise MalformedMessage(f"not a DNS message: {error}") from error
    if message.flags & dns.flags.QR or len(message.question) != 1 or message.answer or message.authority:
        raise MalformedMessage("not one question")
    if any(b"." in label for label in message.question[0].name.labels):
        raise MalformedMessage("a dot inside a label")
    return Query(message)


def answer(query: Query, found: Answer, limit: int) -> bytes:
    """The message that answers a question; an answer longer than `limit` bytes is truncated."""
    response = query.response()
    response.set_rcode(dns.rcode.Rcode(found.code))
    if found.authoritative and found.code in (Code.NO_ERROR, Code.NAME_ERROR):
        response.flags |= dns.flags.AA
    response.answer = [_rrset(each) for each in found.records]
    response.authority = [_rrset(each) for each in found.authority]
    return bytes(response.to_wire(max_size=limit, prefer_truncation=True))


def rdata(record_type: str, value: str) -> dns.rdata.Rdata:
    """One value, as Route 53 writes it. Raises ValueError for what is not a value of the type."""
    number = dns.rdatatype.from_text(record_type)
    try:
        if record_type == "TXT":
            return dns.rdtypes.ANY.TXT.TXT(dns.rdataclass.IN, number, _pieces(value))
        if record_type == "CAA":
            return _caa(value, number)
        if record_type in ("CNAME", "NS"):
            # As RecordSet has names: without the escapes of a zone file.
            value = _name(value).to_text()
        return dns.rdata.from_text(dns.rdataclass.IN, number, value, origin=dns.name.root, relativize=False)
    except (dns.exception.DNSException, ValueError) as error:
        raise ValueError(f"{value!r} is not a value of {record_type}: {error}") from error


def refusal(data: bytes, code: Code) -> bytes | None:
    """The answer to a message that is not answered otherwise; None when not even its id can be read, or it is
    an answer itself."""
    if len(data) < _HEADER or data[2] & _RESPONSE:
        return None
    message = dns.message.Message(id=int.from_bytes(data[:2], "big"))
    message.flags = dns.flags.QR
    message.set_rcode(dns.rcode.Rcode(code))
    return bytes(message.to_wire())


def is_query(data: bytes) -> bool:
    """The message asks a question, so far as its first bytes tell."""
    return len(data) < _HEADER or dns.opcode.from_flags(int.from_bytes(data[2:4], "big")) == dns.opcode.QUERY


class _Ordered(dns.rrset.RRset):
    """Records in the order in which they were set: dnspython would write them in another one each time."""

    def to_wire(self, *args: Any, **options: Any) -> int:
        return super().to_wire(*args, **{**options, "want_shuffle": False})


def _rrset(record_set: RecordSet) -> dns.rrset.RRset:
    rrset = _Ordered(_name(record_set.name), dns.rdataclass.IN, dns.rdatatype.from_text(record_set.type))
    for value in record_set.values:
        rrset.add(rdata(record_set.type, value), record_set.ttl)
    return rrset


def _name(name: str) -> dns.name.Name:
    labels = name.rstrip(".").split(".") if name.rstrip(".") else []
    try:
        return dns.name.Name([*(label.encode("latin-1") for label in labels), b""])
    except (dns.exception.DNSException, UnicodeEncodeError) as error:
        raise ValueError(f"{name!r} is not a DNS name") from error


def _caa(value: str, number: dns.rdatatype.RdataType) -> dns.rdata.Rdata:
    flags, tag, *quoted = value.split(maxsplit=2)
    if not quoted:
        raise ValueError("expected flags, tag and a value in quotation marks")
    said = b"".join(_strings(quoted[0]))
    return dns.rdtypes.ANY.CAA.CAA(  # type: ignore[no-untyped-call]
        dns.rdataclass.IN, number, int(flags), tag.encode("ascii"), said
    )


def _pieces(value: str) -> list[bytes]:
    """The character strings of a text; a long one is several."""
    size = _LONGEST_STRING
    return [part[i : i + size] for part in _strings(value) for i in range(0, max(len(part), 1), size)]


def _strings(value: str) -> list[bytes]:
    """The character strings of a value: in quotation marks, or a bare word each."""
    return [_unescaped(quoted or bare) for quoted, bare in _STRING.findall(value)] or [b""]


def _unescaped(text: str) -> bytes:
    """Route 53 writes bytes in octal; a zone file would have them in decimal."""
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 8)) if len(match[1]) == 3 else match[1], text)
    return plain.encode("latin-1", errors="replace")
