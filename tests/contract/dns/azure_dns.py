"""Azure DNS as a local server: one resource group with zones, in memory."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from provider.dns.azure import AzureSettings, AzureStore
from provider.dns.azure.calls import connected
from provider.dns.azure.values import TYPES, relative, stored
from provider.dns.records import RecordSet
from tests.contract.dns.described import Answer, Request, Service
from tests.contract.dns.servers import SMALL, ZONE

SECRET = "a-secret-that-no-text-may-contain"
TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"
SUBSCRIPTION = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
SETTINGS = AzureSettings(SUBSCRIPTION, "dns-group", TENANT, CLIENT, SECRET)
_PAGE = 2
"""Zones of one page."""


class AzureDns(Service):
    """The service."""

    description = "azure-dns"

    def __init__(self) -> None:
        super().__init__()
        self.zones = {"other.test": "Public", SMALL: "Public", f"private.{ZONE}": "Private", ZONE: "Public"}
        self.sets: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._etags = itertools.count(1)

    def answer(self, request: Request) -> Answer:
        at = request.parameters
        if (at["subscription"], at["group"]) != (SETTINGS.subscription, SETTINGS.resource_group):
            return _error(404, "ResourceGroupNotFound", f"Resource group '{at['group']}' could not be found.")
        if request.operation == "list zones":
            return self._zones(request)
        if at["zone"] not in self.zones:
            return _error(404, "ParentResourceNotFound", f"Parent resource '{at['zone']}' not found.")
        key = (at["zone"], at["record"].lower(), at["type"])
        if request.operation == "get record set":
            return Answer(200, self.sets[key]) if key in self.sets else _missing(at["record"])
        return self._refused(key, request) or self._written(key, request)

    def _written(self, key: tuple[str, str, str], request: Request) -> Answer:
        if request.operation == "delete record set":
            return Answer(200 if self.sets.pop(key, None) else 204)
        return self._put(key, request.body["properties"])

    def _refused(self, key: tuple[str, str, str], request: Request) -> Answer | None:
        there = self.sets.get(key)
        only, none = request.headers.get("If-Match"), request.headers.get("If-None-Match")
        # A deletion of what is not there is 204, whatever the etag.
        gone = there is None and request.operation == "delete record set"
        if (none and there) or (only and not gone and (there or {}).get("etag") != only):
            return _error(412, "PreconditionFailed", "The condition '*' is not satisfied.")
        if request.operation == "delete record set":
            return None
        others = {kind for zone, name, kind in self.sets if (zone, name) == key[:2]} - {key[2]}
        if (key[2] == "CNAME" and others) or "CNAME" in others:
            words = (
                f"The {key[2]} record could not be created because another record with the same name exists."
            )
            return _error(409, "Conflict", words)
        if any(len(label) > 63 for label in key[1].split(".")):
            return _error(400, "BadRequest", f"The domain name '{key[1]}' is invalid.")
        return None

    def _put(self, key: tuple[str, str, str], properties: dict[str, Any]) -> Answer:
        zone, name, kind = key
        there = key in self.sets
        self.sets[key] = {
            "id": f"/subscriptions/{SETTINGS.subscription}/{zone}/{kind}/{name}",
            "name": name,
            "type": f"Microsoft.Network/dnszones/{kind}",
            "etag": f"etag-{next(self._etags)}",
            "properties": {**properties, "fqdn": f"{name}.{zone}.", "provisioningState": "Succeeded"},
        }
        return Answer(200 if there else 201, self.sets[key])

    def _zones(self, request: Request) -> Answer:
        first = int(request.query.get("$skipToken", "0"))
        each = [
            {
                "name": name,
                "location": "global",
                "type": "Microsoft.Network/dnszones",
                "properties": {"zoneType": kind},
            }
            for name, kind in self.zones.items()
        ]
        at = request.parameters
        url = f"http://127.0.0.1:{self.port}/subscriptions/{at['subscription']}/resourceGroups/{at['group']}"
        more = f"{url}/providers/Microsoft.Network/dnsZones?api-version=2018-05-01&$skipToken={first + _PAGE}"
        following = {"nextLink": more} if first + _PAGE < len(each) else {}
        return Answer(200, {"value": each[first : first + _PAGE], **following})

    def put(self, record: RecordSet) -> None:
        """As another program does."""
        with self.lock:
            name = relative(record.name, ZONE)
            for _, at, kind in list(self.sets):
                if at == name and kind != record.type and "CNAME" in (kind, record.type):
                    del self.sets[ZONE, name, kind]
            self._put((ZONE, name, record.type), {"TTL": record.ttl, **_fields(record)})

    def drop(self, name: str, kind: str) -> None:
        """As another program does."""
        with self.lock:
            self.sets.pop((ZONE, relative(name, ZONE), kind), None)

    def truth(self, name: str) -> list[RecordSet]:
        with self.lock:
            keys = [(ZONE, relative(name, ZONE), kind) for kind in TYPES]
            return [stored(name, key[2], self.sets[key]) for key in keys if key in self.sets]


def connect(url: str):
    """Makes the SDK's client for a server without TLS, with a token that needs no request."""
    return partial(connected, url=url)


def store(url: str, clock, settings: AzureSettings = SETTINGS) -> AzureStore:
    return AzureStore(settings, clock, connect(url))


def _fields(record: RecordSet) -> dict[str, Any]:
    if record.type == "CNAME":
        return {"CNAMERecord": {"cname": record.values[0]}}
    key = {"A": "ipv4Address", "AAAA": "ipv6Address", "PTR": "ptrdname"}.get(record.type)
    if key:
        return {f"{record.type}Records": [{key: each} for each in record.values]}
    if record.type == "MX":
        parts = [each.split() for each in record.values]
        return {"MXRecords": [{"preference": int(one), "exchange": other} for one, other in parts]}
    assert record.type == "TXT"
    return {"TXTRecords": [{"value": [each]} for each in record.values]}


def _missing(name: str) -> Answer:
    return _error(404, "NotFound", f"The resource record '{name}' does not exist in resource group.")


def _error(status: int, code: str, message: str) -> Answer:
    return Answer(status, {"error": {"code": code, "message": message}})
