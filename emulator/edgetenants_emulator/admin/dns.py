"""The DNS part of the admin API.

GET    dns?name=&type=      the DNS server's address and zones; with a name, its response, or with
                            view=cloudfront what CloudFront and ACM see
POST   records              {"name", "type", "values", "ttl", "zone"}: set the records of a name and type;
                            ALIAS is Route 53's alias, FAIL (no values) makes lookups fail;
                            "propagationSeconds": delay until CloudFront and ACM see them
GET    records              the records that were set
DELETE records?name=&type=  delete records; without name and type, all of them
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgetenants_emulator.application import Application
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.dns import wire
from edgetenants_emulator.dns.resolver import ALIAS
from edgetenants_emulator.protocol.exchange import Request
from edgetenants_emulator.zones.authority import FAIL, Answer, RecordSet, normal

__all__ = ["add_record", "dns", "records", "remove_records"]

_MEMBERS = {"name", "type", "values", "ttl", "zone", "propagationSeconds"}
_VIEWS = ("", "cloudfront")
_TYPES = {*wire.TYPES, ALIAS, FAIL}


def dns(application: Application, request: Request) -> dict[str, Any]:
    """The DNS server's address and zones, or the response to a query if a name is given."""
    if "name" in request.query:
        view = request.query.get("view", "")
        if view not in _VIEWS:
            raise ValueError(f"view: expected cloudfront or nothing, got {view!r}")
        resolver = application.resolver
        look = resolver.lookup_late if view else resolver.lookup
        return _answer(look(request.query["name"], request.query.get("type", "A").upper()))
    address = application.dns_address
    return {
        "listening": {"host": address[0], "port": address[1]} if address else None,
        "zones": sorted(application.resolver.zones()),
    }


def records(application: Application, _: Request) -> dict[str, Any]:
    """The records that were set."""
    return {"records": [_row(record, zone) for zone, record in application.world.book.listed()]}


def add_record(application: Application, request: Request) -> dict[str, Any]:
    """Replace the records of one name and type.

    Raises ValueError for an invalid record, and for a name in a hosted zone of Route 53.
    """
    wanted = request.json()
    record, zone = _parse(wanted)
    lag = _lag(wanted)
    hosted = application.resolver.hosted_zone_of(record.name)
    if hosted:
        raise ValueError(f"{record.name} is in the hosted zone {hosted}; change it through Route 53")
    with _settling(application):
        application.world.book.put(record, zone, application.world.clock.now(), lag)
    return _row(record, zone)


def remove_records(application: Application, request: Request) -> dict[str, Any]:
    """Delete records."""
    name, kind = normal(request.query.get("name", "")), request.query.get("type", "").upper()
    with _settling(application):
        return {"removed": application.world.book.remove(name, kind, application.world.clock.now())}


@contextmanager
def _settling(application: Application) -> Iterator[None]:
    """Advance the certificates before and after the block, with the old records and with the new ones."""
    with application.world.lock:
        managed_certificates.advance(application.world)
        yield
        world = application.world
        world.book.history.forget(world.clock.now(), world.settings.dns_propagation_seconds)
        managed_certificates.advance(application.world)


def _parse(wanted: dict[str, Any]) -> tuple[RecordSet, str]:
    unknown = sorted(set(wanted) - _MEMBERS)
    needed = {"name", "type"} if str(wanted.get("type")).upper() == FAIL else {"name", "type", "values"}
    missing = sorted(needed - set(wanted))
    if unknown or missing:
        raise ValueError(
            "record: expected name, type, values, and optionally ttl, zone, propagationSeconds; "
            f"{'unknown' if unknown else 'missing'}: {unknown or missing}"
        )
    name, kind = normal(wanted["name"]), str(wanted["type"]).upper()
    zone = normal(wanted.get("zone") or ".".join(name.split(".")[-2:]))
    if kind not in _TYPES:
        raise ValueError(f"unsupported record type {kind}; supported: {', '.join(sorted(_TYPES))}")
    if not f".{name}".endswith(f".{zone}"):
        raise ValueError(f"{name} is not in the zone {zone}")
    record = RecordSet(name, kind, _values(kind, wanted.get("values", [])), int(wanted.get("ttl", 300)))
    wire.rdata("CNAME", name)
    return record, zone


def _lag(wanted: dict[str, Any]) -> float | None:
    seconds = wanted.get("propagationSeconds")
    if seconds is None:
        return None
    if type(seconds) not in (int, float) or not 0 <= seconds < float("inf"):
        raise ValueError(f"propagationSeconds: expected a number of virtual seconds, got {seconds!r}")
    return float(seconds)


def _values(kind: str, values: Any) -> tuple[str, ...]:
    if kind == FAIL and values == []:
        return ()
    if kind == FAIL or not isinstance(values, list) or not values:
        raise ValueError("values: expected a list of at least one string (none for FAIL)")
    if kind in ("CNAME", ALIAS) and len(values) > 1:
        raise ValueError(f"values of {kind}: expected a list of exactly one string")
    for value in map(str, values):
        wire.rdata("CNAME" if kind == ALIAS else kind, value)
    return tuple(map(str, values))


def _row(record: RecordSet, zone: str) -> dict[str, Any]:
    return {
        "name": record.name,
        "type": record.type,
        "values": list(record.values),
        "ttl": record.ttl,
        "zone": zone,
    }


def _answer(found: Answer) -> dict[str, Any]:
    return {
        "code": found.code.name,
        "records": [
            {"name": each.name, "type": each.type, "values": list(each.values), "ttl": each.ttl}
            for each in found.records
        ],
    }
