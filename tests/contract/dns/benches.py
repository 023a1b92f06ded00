"""The benches of the conformance suite for real servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone

from edgetenants_runtime.clock import SystemClock
from provider.dns.powerdns import Api, PowerDnsStore
from provider.dns.rdata import name_of, rdataset_of, rdataset_of_texts, record_set
from provider.dns.records import RecordSet, Zone
from provider.dns.rfc2136 import Key, Rfc2136Store, Server
from provider.dns.rfc2136.store import NameServers
from tests.contract.dns import proxy, servers
from tests.contract.dns.servers import API_KEY, HOST, KEY, ZONE, Running
from tests.unit.provider.dns.conformance import Bench

_UPDATE = 5
_AXFR = dns.rdatatype.AXFR


def rfc2136_store(running: Running, *, key: Key | None = KEY, port: int = 0, **options) -> Rfc2136Store:
    """A store; the name server of the zone is the server itself."""
    names = NameServers(running.port, lambda _: [HOST])
    server = Server(HOST, port or running.port)
    return Rfc2136Store(server, key, clock=SystemClock(), **{"name_servers": names, **options})


def rfc2136(running: Running) -> Bench:
    tsig = dns.tsig.Key(KEY.name, KEY.secret, KEY.algorithm)

    def send(message: dns.update.UpdateMessage) -> None:
        message.use_tsig(tsig)
        answer = dns.query.tcp(message, HOST, timeout=5, port=running.port)
        assert answer.rcode() == dns.rcode.NOERROR

    def put(record: RecordSet) -> None:
        message = dns.update.UpdateMessage(ZONE)
        with_cname = "CNAME" in {record.type, *(each.type for each in truth(record.name))}
        message.delete(name_of(record.name), *(() if with_cname else (record.type,)))
        message.add(name_of(record.name), rdataset_of(record))
        send(message)

    def drop(name: str, kind: str) -> None:
        message = dns.update.UpdateMessage(ZONE)
        message.delete(name_of(name), kind)
        send(message)

    def truth(name: str) -> list[RecordSet]:
        query = dns.zone.Zone(ZONE)
        asked, _ = dns.xfr.make_query(query, keyring=tsig)
        dns.query.inbound_xfr(HOST, query, asked, port=running.port, timeout=5)
        node = query.get_node(name_of(name))
        return [] if node is None else [record_set(name, each) for each in node.rdatasets]

    @contextmanager
    def losing() -> Iterator[Rfc2136Store]:
        with proxy.losing(running.port, is_write) as port:
            yield rfc2136_store(running, port=port)

    return Bench(rfc2136_store(running), Zone(ZONE, ZONE), put, drop, truth, losing)


def is_write(data: bytes) -> bool:
    """Whether a message after its size is an update that changes something (RFC 2136, section 2.2)."""
    return (data[4] >> 3) & 0xF == _UPDATE and data[10:12] != b"\0\0"


def powerdns_store(running: Running, *, key: str = API_KEY, port: int = 0, **options) -> PowerDnsStore:
    return PowerDnsStore(Api(f"http://{HOST}:{port or running.api_port}", key), **options)


def powerdns(running: Running) -> Bench:
    zone = f"/zones/{ZONE}."

    def patch(*rrsets: dict[str, object]) -> None:
        servers.api(running, "PATCH", zone, {"rrsets": rrsets})

    def put(record: RecordSet) -> None:
        there = [each.type for each in truth(record.name) if "CNAME" in (each.type, record.type)]
        gone = [{"name": f"{record.name}.", "type": each, "changetype": "DELETE"} for each in there]
        contents = [each.to_text() for each in rdataset_of(record)]
        patch(
            *(each for each in gone if each["type"] != record.type),
            {
                "name": f"{record.name}.",
                "type": record.type,
                "ttl": record.ttl,
                "changetype": "REPLACE",
                "records": [{"content": each, "disabled": False} for each in contents],
            },
        )

    def drop(name: str, kind: str) -> None:
        patch({"name": f"{name}.", "type": kind, "changetype": "DELETE"})

    def truth(name: str) -> list[RecordSet]:
        """All of the zone, as the API lists it."""
        listed = servers.api(running, "GET", zone)["rrsets"]
        mine = [each for each in listed if each["name"] == f"{name}."]
        texts = [(each["type"], [one["content"] for one in each["records"]], each["ttl"]) for each in mine]
        return [record_set(name, rdataset_of_texts(*each)) for each in texts]

    @contextmanager
    def losing() -> Iterator[PowerDnsStore]:
        with proxy.losing(running.api_port, lambda data: b"PATCH" in data) as port:
            yield powerdns_store(running, port=port)

    store = powerdns_store(running)
    return Bench(store, Zone(f"{ZONE}.", ZONE), put, drop, truth, losing, compares=False)
