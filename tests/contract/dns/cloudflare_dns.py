"""Cloudflare's DNS as a local server: the zones of one token, in memory."""

from __future__ import annotations

import copy
import itertools
from functools import partial
from typing import Any

from provider.dns.cloudflare import CloudflareSettings, CloudflareStore
from provider.dns.cloudflare.calls import connected
from provider.dns.cloudflare.values import record_sets
from provider.dns.rdata import rdataset_of
from provider.dns.records import RecordSet, Zone
from tests.contract.dns.described import Answer, Request, Service
from tests.contract.dns.servers import SMALL, ZONE

TOKEN = "a-token-that-no-text-may-contain"
SETTINGS = CloudflareSettings(TOKEN)
_PAGE = 2
"""Zones or records of one page, whatever was asked for."""
_ADDRESSES = {"A", "AAAA", "CNAME"}
Row = dict[str, Any]


class CloudflareDns(Service):
    """The service."""

    description = "cloudflare"

    def __init__(self) -> None:
        super().__init__()
        self.zones: dict[str, tuple[str, str, str]] = {
            f"{number:032x}": each
            for number, each in enumerate(
                [
                    ("other.test", "full", "active"),
                    (SMALL, "full", "active"),
                    (f"inside.{ZONE}", "internal", "active"),
                    (f"copied.{ZONE}", "secondary", "active"),
                    (f"moved.{ZONE}", "full", "moved"),
                    (ZONE, "full", "active"),
                ]
            )
        }
        self.zone = Zone(next(id_ for id_, each in self.zones.items() if each[0] == ZONE), ZONE)
        self.rows: dict[str, Row] = {}
        """By id, of the one zone."""
        self._ids = itertools.count(1)

    def answer(self, request: Request) -> Answer:
        if request.headers["Authorization"] != f"Bearer {TOKEN}":
            return _failure(401, 10000, "Authentication error")
        if request.operation == "list zones":
            names = [
                {"id": id_, "name": name, "type": kind, "status": status}
                for id_, (name, kind, status) in self.zones.items()
            ]
            return _page(names, request)
        if request.parameters["zone"] not in self.zones:
            return _failure(
                404, 7003, "Could not route to /zones/…, perhaps your object identifier is invalid?"
            )
        if request.operation == "list records":
            name = request.query.get("name.exact")
            mine = request.parameters["zone"] == self.zone.id
            rows = [row for row in self.rows.values() if mine and name in (None, row["name"])]
            return _page(rows, request)
        return self._batch(request.body)

    def _batch(self, body: dict[str, list[Row]]) -> Answer:
        """In one transaction: deletes, then puts, then posts."""
        before, done = copy.deepcopy(self.rows), {}
        try:
            done["deletes"] = [self._deleted(each["id"]) for each in body.get("deletes", ())]
            done["puts"] = [self._replaced(dict(each)) for each in body.get("puts", ())]
            done["posts"] = [self.post(each) for each in body.get("posts", ())]
        except _RefusedError as refused:
            self.rows = before
            return refused.answer
        return Answer(200, _envelope({key: value for key, value in done.items() if value}))

    def _deleted(self, id_: str) -> Row:
        if id_ not in self.rows:
            raise _RefusedError(404, 81044, "Record does not exist.")
        return self.rows.pop(id_)

    def _replaced(self, row: Row) -> Row:
        old = self._deleted(row.pop("id"))
        return self.post(row, old["id"])

    def post(self, content: Row, id_: str = "") -> Row:
        others = [row for row in self.rows.values() if row["name"] == content["name"]]
        kinds = {row["type"] for row in others} & _ADDRESSES
        if content["type"] == "CNAME" and kinds:
            raise _RefusedError(400, 81053, "An A, AAAA, or CNAME record with that host already exists.")
        if content["type"] in _ADDRESSES and "CNAME" in kinds:
            raise _RefusedError(400, 81054, "A CNAME record with that host already exists.")
        if any((row["type"], row["content"]) == (content["type"], content.get("content")) for row in others):
            raise _RefusedError(400, 81058, "An identical record already exists.")
        fixed = {
            "proxiable": content["type"] in _ADDRESSES,
            "meta": {},
            "settings": {},
            "tags": [],
            "comment": None,
        }
        times = {"created_on": "2026-01-01T00:00:00Z", "modified_on": "2026-01-01T00:00:00Z"}
        row = {"id": id_ or f"{next(self._ids):032x}", "proxied": False, **content, **fixed, **times}
        self.rows[row["id"]] = row
        return row

    def put(self, record: RecordSet) -> None:
        """As another program does."""
        with self.lock:
            there = [row for row in self.rows.values() if row["name"] == record.name]
            for row in there:
                if row["type"] == record.type or "CNAME" in (row["type"], record.type):
                    del self.rows[row["id"]]
            for value in record.values:
                self.post(
                    {"name": record.name, "type": record.type, "ttl": record.ttl, **_content(record, value)}
                )

    def drop(self, name: str, kind: str) -> None:
        """As another program does."""
        with self.lock:
            self.rows = {
                id_: row for id_, row in self.rows.items() if (row["name"], row["type"]) != (name, kind)
            }

    def truth(self, name: str) -> tuple[RecordSet, ...]:
        with self.lock:
            return record_sets(self.zone, self.rows.values()).get(name, ())


class _RefusedError(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        self.answer = _failure(status, code, message)


def connect(url: str):
    """Makes the SDK's client for a server without TLS."""

    return partial(connected, url=f"{url}/client/v4")


def store(url: str, clock, settings: CloudflareSettings = SETTINGS) -> CloudflareStore:
    return CloudflareStore(settings, clock, connect(url))


def _content(record: RecordSet, value: str) -> Row:
    if record.type == "MX":
        priority, _, content = value.partition(" ")
        return {"priority": int(priority), "content": content}
    if record.type == "TXT":
        (rdata,) = rdataset_of(RecordSet(record.name, "TXT", (value,)))
        return {"content": rdata.to_text()}
    return {"content": value}


def _page(rows: list[Row], request: Request) -> Answer:
    number, size = int(request.query.get("page", "1")), min(_PAGE, int(request.query.get("per_page", "100")))
    shown = rows[(number - 1) * size : number * size]
    pages = -(-len(rows) // size)
    info = {
        "page": number,
        "per_page": size,
        "count": len(shown),
        "total_count": len(rows),
        "total_pages": pages,
    }
    return Answer(200, {**_envelope(shown), "result_info": info})


def _envelope(result: Any) -> dict[str, Any]:
    return {"success": True, "errors": [], "messages": [], "result": result}


def _failure(status: int, code: int, message: str) -> Answer:
    errors = [{"code": code, "message": message}]
    return Answer(status, {"success": False, "errors": errors, "messages": [], "result": None})
