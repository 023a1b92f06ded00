"""The record store of PowerDNS Authoritative Server, by its HTTP API (version 4.6 or newer).

https://doc.powerdns.com/authoritative/http-api/

The API cannot compare and set. `write` reads the names, checks what the change expects, writes all record
sets in one PATCH, which is one transaction there, and reads them back. If another program changes the same
names between the read and the PATCH, some milliseconds, its change is lost. PowerDNS itself refuses a record
beside a CNAME. A read of one name does not show records that are disabled; a record set that is written
replaces them.

A change counts as served when it is written: the API does not tell of secondaries. An alias is a record of
the type ALIAS; PowerDNS answers it only with the settings `expand-alias` and `resolver`, so the store makes
one only where it is said that they are set.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as TimedOut

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, SystemClock
from provider.dns import bounded_http
from provider.dns.errors import TIMED_OUT, DnsError, Failure, Unreachable
from provider.dns.expectations import differs_after, differs_before
from provider.dns.rdata import name_of, rdataset_of, rdataset_of_texts, record_set
from provider.dns.records import RecordSet, Zone, normal
from provider.dns.store import Change, Found, Written, no_alias
from provider.dns.throttle import LONGEST_PAUSE

__all__ = ["Api", "PowerDnsStore"]

_SECONDS: Final = 5.0
_LEAST_SECONDS: Final = 0.01
_CONNECTIONS: Final = 4
"""Kept open; more are opened when more threads ask."""
_MOST_BYTES: Final = 1024 * 1024
"""Of an answer. One name has some hundred bytes."""
_WORDS: Final = 300
"""Characters of PowerDNS's words in a message."""
_MOST_LABELS: Final = 128
_MOST_ASKED: Final = 6
"""Names for which one look-up of a zone asks."""
_GO_ON: Final = 1.0
"""Seconds until a look-up that was not finished goes on."""
_WITHOUT_SECONDS: Final = 60.0
_MOST_WITHOUT: Final = 5000
_WRITABLE: Final = frozenset({"native", "master", "primary", "producer"})
"""Kinds of zones. Others get their records from another server."""
_FAILURES: Final = {
    400: Failure.REFUSED,
    401: Failure.NOT_PERMITTED,
    403: Failure.NOT_PERMITTED,
    404: Failure.NO_ZONE,
    429: Failure.LATER,
}
_ALIASES: Final = frozenset({"ALIAS"})
_ODD: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What an answer of another form raises."""
_MOST_TTL: Final = 2**31 - 1
"""Seconds (RFC 2181, section 8)."""
_ADDRESS: Final = re.compile(" at 0x[0-9a-f]+")
"""Of an object of Python, in the words of a library: another one at each attempt."""
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_CERTIFICATE: Final = re.compile(f"{_BEGIN}[^-]*-----END CERTIFICATE-----")


@dataclass(frozen=True)
class Api:
    """Where the API is, and its key. The key is in no text that is made of it."""

    url: str
    """Such as http://pdns.dns.svc:8081, without /api/v1."""
    key: str = field(repr=False)
    server: str = "localhost"
    """The server's id in the API; PowerDNS has only this one."""


class _NoZones:
    """Names of which there was no zone in the last minute. Those of the domains above are asked for with each
    domain. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until: OrderedDict[str, float] = OrderedDict()

    def has(self, name: str) -> bool:
        with self._lock:
            return self._clock.now() < self._until.get(name, float("-inf"))

    def note(self, name: str) -> None:
        with self._lock:
            self._until.pop(name, None)
            self._until[name] = self._clock.now() + _WITHOUT_SECONDS
            while len(self._until) > _MOST_WITHOUT:
                self._until.popitem(last=False)


class PowerDnsStore:
    """One PowerDNS API. Thread-safe."""

    def __init__(
        self,
        api: Api,
        *,
        zones: Sequence[str] = (),
        authorities: str | None = None,
        has_alias: bool = True,
        clock: Clock | None = None,
    ) -> None:
        """Connects to nothing yet.

        Args:
            api: where it is, and its key.
            zones: names of the zones that the provider may write to; empty for all primary zones.
            authorities: certificates of authorities for https, in PEM; None for those of the system.
            has_alias: whether the server answers records of type ALIAS.
            clock: for how long it is remembered that there is no zone of a name; None for the system's.

        Raises:
            ValueError: the authorities are no certificates.
        """
        self._base = f"{api.url.rstrip('/')}/api/v1/servers/{quote(api.server, safe='')}"
        self._key = api.key
        self._zones = frozenset(map(normal, zones))
        self._has_alias = has_alias
        self._without = _NoZones(clock or SystemClock())
        tls: dict[str, Any] = {} if authorities is None else {"ssl_context": _context(authorities)}
        self._http = bounded_http.manager(_CONNECTIONS, **tls)

    def zone_of(self, domain: str) -> Zone | None:
        """Return the zone with the longest name, asking for each name from the domain upwards, but for a few
        in one call: the next one goes on.

        Raises:
            DnsError: also with LATER, while there are more names to ask for.
        """
        labels = domain.removeprefix("*.").split(".")[:_MOST_LABELS]
        names = (".".join(labels[first:]) for first in range(len(labels)))
        asked = 0
        for name in names:
            if (self._zones and name not in self._zones) or self._without.has(name):
                continue
            if asked >= _MOST_ASKED:
                words = f"{self}: look for the zone of {domain}: there are more names to ask for"
                raise DnsError(Failure.LATER, words, after=_GO_ON)
            asked += 1
            if found := self._zone(name):
                # Below a zone that this server only copies, its own records are not served either.
                return found[0] if found[1] else None
            self._without.note(name)
        return None

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:  # noqa: ARG002
        """Return the record sets of these names, always fresh."""
        return Found({name: self._read(zone, name) for name in sorted(set(names))})

    def write(self, zone: Zone, change: Change) -> Written:
        """Check, make a change in one request, and read it back. See the module for the window between."""
        doing = f"change of {change.domain} in zone {zone.name}"
        if wrong := differs_before(change, self.read(zone, change.names)):
            raise DnsError(Failure.CHANGED, f"{self}: {doing}: {wrong}")
        try:
            body = {"rrsets": _rrsets(change)}
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{self}: {doing}: {error}") from error
        self._asked("PATCH", self._path(zone), doing, body)
        self._confirm(zone, change, doing)
        return Written("")

    def is_served(self, zone: Zone, written: Written) -> bool:  # noqa: ARG002
        """Return True: the server answers with what its database has."""
        return True

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        """Return an ALIAS record, or refuse."""
        if not self._has_alias:
            raise no_alias(domain)
        return (RecordSet(domain, "ALIAS", (target,), ttl, alias=True),)

    def close(self) -> None:
        """Close idle connections. Running requests finish."""
        self._http.clear()

    def __str__(self) -> str:
        return f"PowerDNS {self._base}"

    def _confirm(self, zone: Zone, change: Change, doing: str) -> None:
        try:
            wrong = differs_after(change, self.read(zone, change.names))
        except DnsError as error:
            wrong = str(error)
        if wrong:
            raise DnsError(Failure.UNCERTAIN, f"{self}: {doing}: accepted, but not confirmed: {wrong}")

    def _zone(self, name: str) -> tuple[Zone, bool] | None:
        """The zone of that name, and whether it takes changes."""
        listed = self._asked("GET", f"/zones?{urlencode({'zone': f'{name}.'})}", f"look for zone {name}")
        if not isinstance(listed, list):
            raise DnsError(Failure.LATER, f"{self}: look for zone {name}: unexpected answer: expected a list")
        try:
            zones = [_zone(each) for each in listed]
        except _ODD as error:
            words = f"{self}: look for zone {name}: unexpected answer: {error!r}"
            raise DnsError(Failure.LATER, words) from error
        return next((each for each in zones if each[0].name == name), None)

    def _read(self, zone: Zone, name: str) -> tuple[RecordSet, ...]:
        doing = f"read of {name} in zone {zone.name}"
        try:
            asked = urlencode({"rrsets": "true", "rrset_name": name_of(name).to_text()})
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{self}: {doing}: {error}") from error
        found = self._asked("GET", f"{self._path(zone)}?{asked}", doing)
        rrsets = found.get("rrsets") if isinstance(found, dict) else None
        if not isinstance(rrsets, list):
            raise DnsError(Failure.LATER, f"{self}: {doing}: unexpected answer: expected rrsets")
        try:
            records = [_record_set(each) for each in rrsets if normal(_text(each["name"])) == name]
        except _ODD as error:
            raise DnsError(Failure.LATER, f"{self}: {doing}: unexpected answer: {error!r}") from error
        return tuple(sorted(records, key=lambda each: each.type))

    def _path(self, zone: Zone) -> str:
        return f"/zones/{quote(zone.id, safe='')}"

    def _asked(self, method: str, path: str, doing: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of an answer; None for an empty one."""
        status, data, after = self._sent(method, path, doing, body)
        unclear = _unanswered(method)
        if len(data) > _MOST_BYTES:
            raise DnsError(unclear, f"{self}: {doing}: {status}: expected at most {_MOST_BYTES} bytes")
        if 200 <= status < 300:
            return self._parsed(data, doing)
        is_refusal = status < 500 and status != TIMED_OUT
        failure = _FAILURES.get(status, Failure.REFUSED if is_refusal else unclear)
        raise DnsError(failure, f"{self}: {doing}: {status}: {self._said(data)}", after=after)

    def _sent(
        self, method: str, path: str, doing: str, body: Mapping[str, Any] | None
    ) -> tuple[int, bytes, float | None]:
        seconds = max(_LEAST_SECONDS, min(_SECONDS, deadline.remaining()))
        headers = {"X-API-Key": self._key, "Accept": "application/json"}
        try:
            answer = self._http.request(
                method,
                self._base + path,
                headers=headers,
                json=body,
                timeout=urllib3.Timeout(connect=seconds, read=seconds),
                redirect=False,
                preload_content=False,
            )
            try:
                # As it was sent: a few bytes may be unpacked to many.
                data = answer.read(_MOST_BYTES + 1, decode_content=False)
                return answer.status, data, _after(answer.headers.get("Retry-After"))
            finally:
                # One that was read to its end is in the pool again; any other must not be reused.
                answer.close()
        except (NewConnectionError, ConnectTimeoutError) as error:
            words = f"{self}: {doing}: no connection: {self._clean(error)}"
            raise Unreachable(Failure.LATER, words) from error
        except (HTTPError, OSError) as error:
            raise self._no_answer(method, doing, error) from error

    def _no_answer(self, method: str, doing: str, error: Exception) -> DnsError:
        cause = error.args[0] if error.args else None
        if isinstance(cause, ssl.SSLCertVerificationError):
            # It has answered, and nothing was sent: other configs may have the right authorities.
            words = f"its certificate is not valid or not trusted: {cause.verify_message}"
            return DnsError(Failure.NOT_PERMITTED, f"{self}: {doing}: {words}")
        unclear = _unanswered(method)
        words = "timed out" if isinstance(error, TimedOut | TimeoutError) else self._clean(error)
        return Unreachable(unclear, f"{self}: {doing}: no answer: {words}")

    def _parsed(self, data: bytes, doing: str) -> Any:
        try:
            return json.loads(data) if data.strip() else None
        except (ValueError, RecursionError) as error:
            raise DnsError(Failure.LATER, f"{self}: {doing}: the answer is no JSON") from error

    def _said(self, data: bytes) -> str:
        """PowerDNS's words, in the field `error`. Pages of a proxy have times and numbers of requests, and
        would change the status at each attempt."""
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            return self._clean(_text(json.loads(data)["error"]))
        return "without words of PowerDNS"

    def _clean(self, words: object) -> str:
        text = _ADDRESS.sub("", " ".join(str(words).split()))
        return (text.replace(self._key, "***") if self._key else text)[:_WORDS]


def _unanswered(method: str) -> Failure:
    """What a request without a clear answer means: a change may have been made."""
    return Failure.UNCERTAIN if method == "PATCH" else Failure.LATER


def _context(authorities: str) -> ssl.SSLContext:
    if not authorities.isascii():
        raise ValueError("expected certificates in PEM, got characters that are not ASCII")
    blocks = _CERTIFICATE.findall(authorities)
    if not blocks:
        raise ValueError(f"expected certificates in PEM, got no line {_BEGIN} with its end")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for number, each in enumerate(blocks, 1):
        try:
            context.load_verify_locations(cadata=each)
        except (ssl.SSLError, ValueError) as error:
            cause = str(error).partition(" (_ssl.c")[0]
            raise ValueError(f"certificate {number} of {len(blocks)} cannot be read: {cause}") from error
    return context


def _rrsets(change: Change) -> list[dict[str, Any]]:
    created = {(each.name, each.type) for each in change.creates}
    gone = [each for each in change.deletes if (each.name, each.type) not in created]
    deletes = [{"name": f"{each.name}.", "type": each.type, "changetype": "DELETE"} for each in gone]
    return [*deletes, *map(_replacement, change.creates)]


def _replacement(record: RecordSet) -> dict[str, Any]:
    contents = [f"{each}." for each in record.values] if record.type in _ALIASES else _contents(record)
    return {
        "name": f"{record.name}.",
        "type": record.type,
        "ttl": record.ttl,
        "changetype": "REPLACE",
        "records": [{"content": each, "disabled": False} for each in contents],
    }


def _contents(record: RecordSet) -> list[str]:
    return [str(each.to_text()) for each in rdataset_of(record)]


def _zone(listed: Mapping[str, Any]) -> tuple[Zone, bool]:
    """A zone as the API lists it, and whether it takes changes."""
    name, id_ = normal(_text(listed["name"])), _text(listed["id"])
    return Zone(id_, name), _text(listed["kind"]).lower() in _WRITABLE


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    # JSON may have halves of characters, which no request can have.
    value.encode()
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= _MOST_TTL:
        raise TypeError(f"expected a number of seconds, got {value!r:.20}")
    return value


def _record_set(rrset: Mapping[str, Any]) -> RecordSet:
    """A record set as the API has it. One with a disabled record, if the version shows it, is no plain one,
    and is never changed: the provider would delete what a person put aside."""
    name, kind, ttl = normal(_text(rrset["name"])), _text(rrset["type"]), _number(rrset["ttl"])
    contents = [_text(each["content"]) for each in rrset["records"]]
    aside = any(each.get("disabled") for each in rrset["records"])
    if kind in _ALIASES:
        return RecordSet(name, kind, tuple(sorted(map(normal, contents))), ttl, alias=True, routed=aside)
    try:
        known = record_set(name, rdataset_of_texts(kind, contents, ttl))
    except ValueError:
        # A type or value that dnspython cannot read, such as LUA: as PowerDNS has it.
        return RecordSet(name, kind, tuple(sorted(contents)), ttl, routed=aside)
    return RecordSet(name, kind, known.values, ttl, routed=aside)


def _after(header: str | None) -> float | None:
    return min(float(header), LONGEST_PAUSE) if header and header.isdecimal() else None
