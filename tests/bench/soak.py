"""Thirty days of some tenants in minutes, on the virtual clock: what changes, fails and is renewed, and
whether the provider misses anything or keeps what it no longer needs.

Each hour has one event, drawn from a seed: a user changes, deletes or adds a tenant; someone disables,
changes or deletes one in AWS; AWS throttles, denies or delays its lists; the provider restarts. Certificates
of CloudFront are issued and renewed. At the end of each day, with nothing that fails, AWS must have what
Kubernetes asks for.
"""

from __future__ import annotations

import gc
import os
import random
import types
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.bench.sweep import account
from tests.contract.emulated import Emulated
from tests.contract.fleet import Fleet, Member

DAYS = int(os.environ.get("BENCH_DAYS", "30"))
SEED = int(os.environ.get("BENCH_SEED", "1"))
TENANTS: Final = 12
CERTIFICATES: Final = 3
"""Of these tenants, so many have a certificate that CloudFront requests."""
HOUR: Final = 3600.0
QUIET_SECONDS: Final = 2 * HOUR
"""After the last event of a day, until the provider must have done everything."""
SETTINGS: Final = {"certificate_valid_days": 70, "certificate_renewal_days": 60}
"""So certificates are renewed on the tenth day."""
USUAL: Final = {
    "cloudfront_requests_per_second": 0,
    "list_lag_seconds": 0,
    "list_lag_of_updates_seconds": 0,
    "list_lag_of_deletes_seconds": 0,
}


@dataclass
class Soak:
    """Some weeks of one provider."""

    days: int
    events: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    objects_by_day: list[int] = field(default_factory=list)
    """What the provider keeps in memory for its accounts, in objects of Python, at the end of each day."""
    tenants_by_day: list[int] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """What AWS did not have at the end of a day."""
    renewed: int = 0
    """Certificates that end later than on the first day."""


def soaks() -> list[Soak]:
    """Play the days."""
    with account(10 * TENANTS) as aws:
        aws.admin("PATCH", "settings", SETTINGS)
        return [_Days(aws, random.Random(SEED)).play(DAYS)]


class _Days:
    def __init__(self, aws: Emulated, rng: random.Random) -> None:
        self.aws, self.rng = aws, rng
        self.fleet = Fleet(aws, 0)
        self.calls, self.events = Counter[str](), Counter[str]()
        self.added = 0
        self.edits = 0
        for _ in range(TENANTS):
            self.add()

    def play(self, days: int) -> Soak:
        soak, first = Soak(days), dict[str, str]()
        self.pass_time(QUIET_SECONDS)
        for _ in range(days):
            for _ in range(22):
                self.happen()
                self.pass_time(HOUR)
            self.calm()
            self.pass_time(QUIET_SECONDS)
            soak.missed += self.missed()
            soak.objects_by_day.append(reachable([self.fleet.accounts, self.fleet.sweeps]))
            soak.tenants_by_day.append(len(self.living))
            ends = self.ends()
            first = first or ends
            soak.renewed = sum(end > first[name] for name, end in ends.items() if name in first)
        soak.calls, soak.events = dict(self.calls), dict(self.events)
        return soak

    @property
    def living(self) -> list[Member]:
        return [each for each in self.fleet.members.values() if each.mr and not each.mr.deleted]

    def happen(self) -> None:
        """One event; what AWS does to its callers lasts until the next one."""
        self.calm()
        events: dict[str, Callable[[], None]] = {
            "added": self.add,
            "deleted": self.delete,
            "changed": self.change,
            "disabled in AWS": lambda: self.aws.edit(self.any().external_name, Enabled=False),
            "changed in AWS": self.change_in_aws,
            "deleted in AWS": self.delete_in_aws,
            "throttled": lambda: self.set(cloudfront_requests_per_second=1),
            "lists denied": self.deny,
            "lists late": lambda: self.set(list_lag_of_updates_seconds=300, list_lag_seconds=300),
            "restarted": self.fleet.start,
            "nothing": lambda: None,
        }
        name = self.rng.choice(sorted(events))
        self.events[name] += 1
        events[name]()

    def any(self) -> Member:
        return self.rng.choice(self.living)

    def add(self) -> None:
        if len(self.living) >= 2 * TENANTS:
            return self.delete()
        fields: dict[str, Any] = {}
        if self.added < CERTIFICATES:
            request = {"validationTokenHost": "self-hosted"}
            fields = {"domains": [f"shop-{self.added}.customer.test"], "managedCertificateRequest": request}
        self.fleet.add(self.added, **fields)
        self.added += 1
        return None

    def delete(self) -> None:
        # Those with a certificate stay, so that it is renewed.
        may_go = [each for each in self.living if "managedCertificateRequest" not in _spec(each)]
        if len(may_go) < TENANTS // 2:
            return
        member = self.rng.choice(may_go)
        member.delete()
        self.fleet.wake(member)

    def change(self) -> None:
        member = self.any()
        self.edits += 1
        member.edit(parameters={"tenantName": member.uid, "tier": f"tier-{self.edits}"})
        self.fleet.wake(member)

    def change_in_aws(self) -> None:
        self.aws.edit(self.any().external_name, Parameters=[{"Name": "tenantName", "Value": "someone"}])

    def delete_in_aws(self) -> None:
        name = self.any().external_name
        self.aws.edit(name, Enabled=False)
        self.aws.admin("POST", "clock", {"step": 60})
        seen = self.aws.calls.get_tenant(name)
        self.aws.calls.delete_tenant(seen.id, seen.etag)

    def deny(self) -> None:
        denied = {"code": "AccessDenied", "status": 403}
        self.aws.fault("ListDistributionTenants", every=True, **denied)
        self.aws.fault("ListCertificates", every=True, **denied)

    def set(self, **settings: float) -> None:
        self.aws.admin("PATCH", "settings", settings)

    def calm(self) -> None:
        self.aws.admin("DELETE", "faults")
        self.set(**USUAL)

    def pass_time(self, seconds: float) -> None:
        self.calls += self.fleet.run(seconds / 2)
        # The customers do as they are told, also when a tenant and its certificate were made again.
        for each in self.aws.tenants:
            if each["Name"] in self.with_certificates:
                self.aws.admin("PATCH", f"managed-certificates/{each['Name']}", {"served": True})
        self.calls += self.fleet.run(seconds / 2)

    @property
    def with_certificates(self) -> set[str]:
        return {each.external_name for each in self.living if "managedCertificateRequest" in _spec(each)}

    def missed(self) -> list[str]:
        """What AWS does not have as Kubernetes asks."""
        there = {each["Name"]: each for each in self.aws.tenants}
        wanted = {each.external_name: each for each in self.living}
        found = [f"{name} was not deleted" for name in there.keys() - wanted.keys()]
        found += [f"{name} does not exist" for name in wanted.keys() - there.keys()]
        for name in there.keys() & wanted.keys():
            has = {each["Name"]: each["Value"] for each in there[name]["Parameters"]}
            if has != dict(_spec(wanted[name])["parameters"]) or not there[name]["Enabled"]:
                found.append(f"{name} differs: {has}, enabled {there[name]['Enabled']}")
            if wanted[name].told("Ready")[0] != "True":
                found.append(f"{name} is not Ready: {wanted[name].told('Ready')}")
        return found

    def ends(self) -> dict[str, str]:
        """When the certificates of CloudFront end, in RFC 3339, by name of the tenant."""
        found = {
            each.external_name: each.mr.at_provider.get("certificate") for each in self.living if each.mr
        }
        return {name: shown["notAfter"] for name, shown in found.items() if shown and shown.get("notAfter")}


def _spec(member: Member) -> Any:
    return member.stored["spec"]["forProvider"]


_OUTSIDE: Final = (
    "boto",
    "urllib3",
    "edgetenants_emulator",
    "moto",
    "tests.",
    "structlog",
    "prometheus",
    "json",
)


def reachable(roots: Iterable[object]) -> int:
    """How many objects the provider keeps, without those of boto3, of the emulator and of the tests."""
    seen: set[int] = set()
    left = list(roots)
    while left:
        found = left.pop()
        if id(found) in seen or isinstance(found, (type, types.ModuleType, types.FunctionType)):
            continue
        if type(found).__module__.startswith(_OUTSIDE):
            continue
        seen.add(id(found))
        left += gc.get_referents(found)
    return len(seen)
