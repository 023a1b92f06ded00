"""DNS records of many domains in Route 53, with its published limits: the provider's own store and calls,
with as many threads as the provider has workers, against the emulator in real time.

The limits are those of the Route 53 Developer Guide ("Quotas", "API throttling"): 10 requests a second with a
burst of 50, and 100 changes a second with a burst of 1,500. A domain takes two changes.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import boto3

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.clock import Stopwatch, SystemClock, pause
from provider.cloudfront.account.sessions import Accounts
from provider.dns import plan
from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import Owner
from provider.dns.plan import Standing, Wanted
from provider.dns.records import RecordSet, Zone
from provider.dns.store import RecordStore, Written
from tests.contract.emulated import config

DOMAINS = int(os.environ.get("BENCH_RECORDS", "2000"))
ZONES = 3
WORKERS = 16
CHANGES_OF_EACH = 2
BURST, CHANGES_PER_SECOND = 1500, 100
ENDPOINT = "d111111abcdef8.cloudfront.net"


@dataclass(frozen=True)
class Recorded:
    """What it took."""

    name: str
    domains: int
    zones: int
    seconds: float
    """Until every name server had all of them."""
    written_seconds: float
    """Until Route 53 had accepted all of them."""
    least_seconds: float
    """What Route 53's limit on changes needs."""
    requests: dict[str, int]
    """By operation."""
    throttled: int


def recorded(domains: int = DOMAINS) -> list[Recorded]:
    """Measure it."""
    with EmulatorServer(rate=1) as server:
        server.admin.add_limits({"published": "route53"})
        zones = [_zone(server.url, number) for number in range(ZONES)]
        resolved = config(server.url)
        spec = {**resolved.spec, "dns": {"route53": {}}, "rateLimits": {"route53": 9}}
        clock = SystemClock()
        opened = Accounts(clock, workers=WORKERS).of(replace(resolved, spec=spec)).records
        assert opened is not None
        assert opened.store is not None
        server.admin.reset_calls()
        store, names = opened.store, [f"c{n}.{zones[n % ZONES]}" for n in range(domains)]
        watch = Stopwatch()
        with ThreadPoolExecutor(WORKERS) as pool:
            tickets = list(pool.map(lambda name: _make(store, name, clock), names))
        written = watch.elapsed()
        for zone, ticket in {each[1].ticket: each for each in tickets}.values():
            while not _is_served(store, zone, ticket):
                pause(clock, 1)
        took = watch.elapsed()
        calls = server.admin.calls()["calls"]
        least = max(0.0, (CHANGES_OF_EACH * domains - BURST) / CHANGES_PER_SECOND)
        return [
            Recorded(
                "records in Route 53",
                domains,
                ZONES,
                round(took, 1),
                round(written, 1),
                round(least, 1),
                dict(Counter(each["operation"] for each in calls)),
                sum(each.get("code") == "Throttling" for each in calls),
            )
        ]


def _zone(url: str, number: int) -> str:
    client = boto3.client(
        "route53",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    name = f"zone{number}.test"
    client.create_hosted_zone(Name=name, CallerReference=name)
    return name


def _make(store: RecordStore, domain: str, clock: SystemClock) -> tuple[Zone, Written]:
    """As a reconcile does it, again after each pause that the store asks for."""
    owner = Owner("bench")
    while True:
        try:
            zone = store.zone_of(domain)
            assert zone is not None
            wanted = Wanted(domain, (RecordSet(domain, "CNAME", (ENDPOINT,), 300),))
            step = plan.settle(wanted, store.read(zone, wanted.names), owner)
            assert step.standing is Standing.DUE
            assert step.change is not None
            return zone, store.write(zone, step.change)
        except DnsError as error:
            if error.failure not in (Failure.LATER, Failure.CHANGED):
                raise
            pause(clock, error.after or 0.5)


def _is_served(store: RecordStore, zone: Zone, ticket: Written) -> bool:
    try:
        return store.is_served(zone, ticket)
    except DnsError:
        return False
