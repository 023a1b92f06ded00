"""Parses and writes DNS messages (RFC 1035, EDNS by RFC 6891) with one question and one answer."""

from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from edgetenants_emulator.zones.authority import Answer, Code, RecordSet

__all__ = ["TYPES", "MalformedMessage", "Query", "answer", "parse", "rdata"]

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "TXT": 16, "AAAA": 28, "CAA": 257}
_NAMES = {number: name for name, number in TYPES.items()}
_HEADER = struct.Struct("!6H")
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION_DESIRED = 0x8000, 0x0400, 0x0200, 0x0100
_IN, _OPT = 1, 41
PLAIN_SIZE = 512
"""The maximum UDP response to a client without EDNS, in bytes."""
EDNS_SIZE = 1232
"""The maximum UDP response to any client, in bytes. DNS servers agreed on it in 2020."""
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
_ESCAPED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)


class MalformedMessage(ValueError):  # noqa: N818
    """The bytes are not a valid query."""


@dataclass(frozen=True)
class Query:
    """A query as received."""

    id: int
    flags: int
    name: str
    """The name in the client's spelling, which the response repeats."""
    type: int
    qclass: int
    edns_size: int | None = None
    """The client's maximum UDP response in bytes; None without EDNS."""

    @property
    def type_name(self) -> str:
        """The name of the type, or TYPE and its number if it is unknown."""
        return _NAMES.get(self.type, f"TYPE{self.type}")

    @property
    def code(self) -> Code:
        """NO_ERROR if the query can be looked up, or else the error for its operation or class."""
        if self.flags >> 11 & 0xF:
            return Code.NOT_IMPLEMENTED
        return Code.NO_ERROR if self.qclass == _IN else Code.REFUSED

    @property
    def udp_size(self) -> int:
        """The maximum UDP response, in bytes."""
        return min(max(self.edns_size or PLAIN_SIZE, PLAIN_SIZE), EDNS_SIZE)


def parse(data: bytes) -> Query:
    """Parse a message. Raises MalformedMessage if it does not contain exactly one question."""
    try:
        message_id, flags, questions, answers, authorities, additional = _HEADER.unpack_from(data)
        if flags & _RESPONSE or questions != 1 or answers or authorities:
            raise MalformedMessage("expected exactly one question")
        name, at = _read_name(data, _HEADER.size)
        qtype, qclass = struct.unpack_from("!HH", data, at)
        return Query(message_id, flags, name, qtype, qclass, _read_edns(data, at + 4, additional))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedMessage("the message ends early") from error


def answer(query: Query, found: Answer, limit: int) -> bytes:
    """The response to a query. If it exceeds `limit` bytes, it is replaced by a truncated one."""
    message = _message(query, found, found.records, found.authority)
    if len(message) <= limit:
        return message
    return _message(query, found, (), (), _TRUNCATED)


def rdata(record_type: str, value: str) -> bytes:
    """A value as bytes, with uncompressed names. Raises ValueError for an invalid value of the type."""
    return _Writer(compress=False).rdata(record_type, value)


def refusal(data: bytes, code: Code) -> bytes | None:
    """The response to an unreadable message; None if its id cannot be read or it is itself a response."""
    if len(data) < _HEADER.size or data[2] & 0x80:
        return None
    return data[:2] + struct.pack("!5H", _RESPONSE | code, 0, 0, 0, 0)


def _message(
    query: Query, found: Answer, records: Sequence[RecordSet], authority: Sequence[RecordSet], flags: int = 0
) -> bytes:
    writer = _Writer()
    flags |= _RESPONSE | (query.flags & (_RECURSION_DESIRED | 0x7800)) | found.code
    if found.authoritative and found.code in (Code.NO_ERROR, Code.NAME_ERROR):
        flags |= _AUTHORITATIVE
    writer.data += bytes(_HEADER.size)
    writer.name(query.name)
    writer.data += struct.pack("!HH", query.type, query.qclass)
    counts = [sum(writer.records(each) for each in section) for section in (records, authority)]
    if query.edns_size is not None:
        writer.data += struct.pack("!BHHIH", 0, _OPT, EDNS_SIZE, 0, 0)
    _HEADER.pack_into(writer.data, 0, query.id, flags, 1, *counts, int(query.edns_size is not None))
    return bytes(writer.data)


class _Writer:
    """Writes a message. A repeated name becomes a pointer to the first one."""

    def __init__(self, *, compress: bool = True) -> None:
        self.data = bytearray()
        self._compress = compress
        self._seen: dict[str, int] = {}

    def name(self, name: str) -> None:
        labels = name.rstrip(".").split(".") if name.rstrip(".") else []
        for i, label in enumerate(labels):
            rest = ".".join(labels[i:]).lower()
            if rest in self._seen:
                self.data += struct.pack("!H", 0xC000 | self._seen[rest])
                return
            if self._compress and len(self.data) < 0x4000:
                self._seen[rest] = len(self.data)
            encoded = label.encode("latin-1")
            if not 0 < len(encoded) < 64:
                raise ValueError(f"{name!r} is not a DNS name")
            self.data += bytes([len(encoded)]) + encoded
        self.data += b"\0"

    def records(self, record_set: RecordSet) -> int:
        """Write a set, one record per value, and return the number of records."""
        for value in record_set.values:
            self.name(record_set.name)
            self.data += struct.pack("!HHIH", TYPES[record_set.type], _IN, record_set.ttl, 0)
            start = len(self.data)
            self.rdata(record_set.type, value)
            struct.pack_into("!H", self.data, start - 2, len(self.data) - start)
        return len(record_set.values)

    def rdata(self, record_type: str, value: str) -> bytes:
        """Write one value, and return the complete message so far."""
        if record_type in ("CNAME", "NS"):
            self.name(value)
        elif record_type == "SOA":
            self._soa(value)
        else:
            self.data += _RDATA[record_type](value)
        return bytes(self.data)

    def _soa(self, value: str) -> None:
        primary, mailbox, *numbers = value.split()
        if len(numbers) != 5:
            raise ValueError(f"invalid SOA {value!r}: expected two names and five numbers")
        self.name(primary)
        self.name(mailbox)
        self.data += struct.pack("!5I", *map(int, numbers))


def _text(value: str) -> bytes:
    parts = _strings(value)
    pieces = [part[i : i + 255] for part in parts for i in range(0, max(len(part), 1), 255)]
    return b"".join(bytes([len(piece)]) + piece for piece in pieces)


def _caa(value: str) -> bytes:
    flags, tag, *quoted = value.split(maxsplit=2)
    if not quoted:
        raise ValueError(f"invalid CAA {value!r}: expected flags, tag, and a value in quotation marks")
    name = tag.encode("ascii")
    return bytes([int(flags), len(name)]) + name + b"".join(_strings(quoted[0]))


def _strings(value: str) -> list[bytes]:
    """The character strings of a value: quoted strings or single words."""
    return [_unescaped(quoted or bare) for quoted, bare in _STRING.findall(value)] or [b""]


def _unescaped(text: str) -> bytes:
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 8)) if len(match[1]) == 3 else match[1], text)
    return plain.encode("latin-1", errors="replace")


_RDATA = {
    "A": lambda value: ipaddress.IPv4Address(value).packed,
    "AAAA": lambda value: ipaddress.IPv6Address(value).packed,
    "CAA": _caa,
    "TXT": _text,
}


def _read_name(data: bytes, at: int) -> tuple[str, int]:
    """An uncompressed name and its end. The first name of a message cannot be compressed."""
    labels: list[str] = []
    while length := data[at]:
        if length > 63:
            raise MalformedMessage("a label longer than 63 bytes")
        label = data[at + 1 : at + 1 + length]
        if b"." in label:
            raise MalformedMessage("a dot inside a label")
        labels.append(label.decode("latin-1"))
        at += 1 + length
        if at >= _HEADER.size + 255:
            raise MalformedMessage("a name longer than 255 bytes")
    return ".".join(labels), at + 1


def _read_edns(data: bytes, at: int, additional: int) -> int | None:
    """The UDP size of the EDNS record, if it follows the question."""
    if not additional or data[at] != 0:
        return None
    rtype, size = struct.unpack_from("!HH", data, at + 1)
    return size if rtype == _OPT else None
