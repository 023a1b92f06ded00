"""A restart with 50,000 tenants in five accounts: calls to AWS, and the time until everything is as at rest.

As in sweep.py, the provider's own code and the runtime's reconciler run against the emulator on its virtual
clock. While the provider does not run, users change some tenants, and someone disables others in AWS.

One thread plays the queue and the sweeps of all accounts. So that five accounts take it as long as five at
once, each permits five times the default of 5 requests a second. A real process lists four at once.

One tenant of each account is created by the provider. The others are copies of it, in AWS and in Kubernetes:
other names, domains and ids, and the record of the last write that belongs to them.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from provider.cloudfront.state import applied, desired
from tests.bench.sweep import SteppingClock
from tests.contract import in_process
from tests.contract.emulated import SEED, Emulated, config
from tests.contract.fleet import Fleet, Member, tenant
from tests.unit.provider.world import INSTALLATION

TENANTS: Final = int(os.environ.get("BENCH_TENANTS", "50000"))
ACCOUNTS: Final = 5
RATE: Final = 5.0 * ACCOUNTS
"""Requests a second of each account."""
CHANGED: Final = 200
"""In Kubernetes while the provider does not run, and as many in AWS."""
LISTS: Final = ("ListDistributionTenants", "ListConnectionGroups")
LONGEST: Final = 7200.0
STEP: Final = 10.0
REST: Final = 120.0


@dataclass(frozen=True)
class Scale:
    """One restart."""

    tenants: int
    accounts: int
    changed: int
    """In Kubernetes, and as many in AWS."""
    seconds: float
    """Virtual seconds from the start until all is in AWS as in Kubernetes, and rolled out."""
    seen_seconds: float
    """Until each tenant was reconciled."""
    calls: dict[str, int]
    """Until all was in AWS."""
    rest: dict[str, int]
    """Calls of two minutes at rest."""
    rest_writes: int
    """Writes to Kubernetes in these."""
    unchanged_writes: int
    """Writes to Kubernetes of resources that had not changed, since the start."""
    cpu_seconds: float
    """Processor time of the restart: the provider's, the emulator's, and that of the code between."""
    memory_mib: float
    """Resident at the end: of the provider, the emulator and Kubernetes' objects together."""


def scales() -> list[Scale]:
    """Measure one."""
    with _accounts(TENANTS) as aws:
        return [_restarted(aws, TENANTS)]


def _say(words: str) -> None:
    print(f"scale: {words}", flush=True)


@contextmanager
def _accounts(tenants: int) -> Iterator[Emulated]:
    """Emulated accounts, called without sockets."""
    with EmulatorServer(rate=0) as server, in_process.reaching(server):
        aws = Emulated(server)
        aws.clock = SteppingClock(aws)
        aws.admin("PATCH", "settings", {"tenants_per_account": 2 * tenants})
        for number in range(ACCOUNTS):
            distribution = {**SEED["distributions"][0], "id": _distribution(number)}
            aws.admin("POST", "seed", {"account": _account(number), "distributions": [distribution]})
        yield aws


def _account(number: int) -> str:
    return f"12345678901{number}"


def _distribution(number: int) -> str:
    return f"E{number + 1}SCALE"


class _Installation(Fleet):
    """Resources of all accounts in turn."""

    RECONCILE_SECONDS = 0.003
    """The processor time that a reconcile takes in a real process after its start, which has one core."""

    def __init__(self, aws: Emulated) -> None:
        self.configs = [_config(aws, number) for number in range(ACCOUNTS)]
        self.reconciled: set[str] = set()
        super().__init__(aws, ACCOUNTS)

    def start(self) -> None:
        """A new process."""
        super().start()
        self.reconciled.clear()

    def member(self, number: int, **for_provider: Any) -> Member:
        """A new resource."""
        return self.stored(number, _object(number))

    def stored(self, number: int, obj: dict[str, Any]) -> Member:
        """A resource that exists."""
        member = Member(obj, self)
        member.configs.resolved = self.configs[number % ACCOUNTS]
        return member

    def users(self, config: ProviderConfigKey) -> int:
        """A share of them."""
        del config
        return len(self.members) // ACCOUNTS

    def _reconcile(self, member: Member) -> None:
        self.reconciled.add(member.uid)
        super()._reconcile(member)


def _config(aws: Emulated, number: int) -> ResolvedConfig:
    usual = config(aws.url)
    key = ProviderConfigKey("ClusterProviderConfig", f"account-{number}", "")
    spec = {**usual.spec, "rateLimits": {"cloudfront": RATE}}
    keys = f"[default]\naws_access_key_id = {_account(number)}\naws_secret_access_key = any\n"
    return replace(usual, key=key, spec=spec, uid=f"config-{number}", credentials=keys.encode())


def _object(number: int) -> dict[str, Any]:
    obj = tenant(_name(number), namespace=f"team-{number % 500}")
    obj["spec"]["forProvider"]["distributionId"] = _distribution(number % ACCOUNTS)
    obj["spec"]["providerConfigRef"] = {
        "kind": "ClusterProviderConfig",
        "name": f"account-{number % ACCOUNTS}",
    }
    return obj


def _name(number: int) -> str:
    return f"t-{number:06}"


def _restarted(aws: Emulated, tenants: int) -> Scale:
    fleet = _Installation(aws)
    fleet.run(600.0)
    assert fleet.ready() == {("True", "Available"): ACCOUNTS}, fleet.ready()
    _copy_in_aws(aws, tenants)
    _copy_in_kubernetes(fleet, tenants)
    _say(f"{tenants} tenants in {ACCOUNTS} accounts, {_resident():.0f} MiB; a new process starts")
    changed = min(CHANGED, tenants // 10)
    for number in range(ACCOUNTS, ACCOUNTS + changed):
        fleet.members[f"uid-{_name(number)}"].edit(parameters={"tenantName": "changed"})
    drifted = [_external_name(number) for number in range(tenants - changed, tenants)]
    for name in drifted:
        aws.edit(name, Enabled=False)
    written = _writes(fleet)
    fleet.start()
    began, cpu, seen = fleet.clock.now(), time.process_time(), 0.0
    calls = Counter[str]()
    while not (len(fleet.reconciled) == tenants and _is_done(aws, changed)):
        assert fleet.clock.now() < began + LONGEST, "does not come to rest"
        calls += fleet.run(STEP)
        seen = seen or (fleet.clock.now() - began) * (len(fleet.reconciled) == tenants)
        _say(f"after {fleet.clock.now() - began:.0f} s: {len(fleet.reconciled)} reconciled, {dict(calls)}")
    seconds, cpu = fleet.clock.now() - began, time.process_time() - cpu
    unchanged = range(ACCOUNTS + changed, tenants - changed)
    idle = sum(_written(fleet, number) - written[f"uid-{_name(number)}"] for number in unchanged)
    fleet.run(60.0)
    before = sum(_writes(fleet).values())
    rest = fleet.run(REST)
    return Scale(
        tenants=tenants,
        accounts=ACCOUNTS,
        changed=changed,
        seconds=seconds,
        seen_seconds=seen,
        calls=dict(calls),
        rest=dict(rest),
        rest_writes=sum(_writes(fleet).values()) - before,
        unchanged_writes=idle,
        cpu_seconds=cpu,
        memory_mib=_resident(),
    )


def _external_name(number: int) -> str:
    return f"team-{number % 500}.{_name(number)}"


def _writes(fleet: Fleet) -> dict[str, int]:
    return {uid: len(each.writes) for uid, each in fleet.members.items()}


def _written(fleet: Fleet, number: int) -> int:
    return len(fleet.members[f"uid-{_name(number)}"].writes)


def _is_done(aws: Emulated, changed: int) -> bool:
    tenants = aws.tenants
    edited = sum(each["Parameters"][0]["Value"] == "changed" for each in tenants)
    return edited == changed and all(each["Enabled"] and each["Status"] == "Deployed" for each in tenants)


def _copy_in_aws(aws: Emulated, tenants: int) -> None:
    saved = aws.admin("GET", "snapshot")
    first = {row["account"]: row for row in saved["tenants"]}
    for number in range(ACCOUNTS, tenants):
        row = first[_account(number % ACCOUNTS)]
        saved["tenants"].append(_copy(row, number) | {"number": number + 1})
    aws.admin("PUT", "snapshot", saved)


def _copy_in_kubernetes(fleet: _Installation, tenants: int) -> None:
    first = [fleet.members[f"uid-{_name(number)}"].stored for number in range(ACCOUNTS)]
    for number in range(ACCOUNTS, tenants):
        obj = _copy(first[number % ACCOUNTS], number)
        asked = desired.from_for_provider(
            Managed(obj), installation=INSTALLATION, name=_external_name(number)
        )
        obj["status"]["applied"] = applied.record(asked, obj["status"]["applied"]["etag"])
        member = fleet.stored(number, obj)
        fleet.members[member.uid] = member
        if number % 10_000 == 0:
            _say(f"{number} copies, {_resident():.0f} MiB")


def _copy(whole: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The same with another name, domain and id."""
    of = number % ACCOUNTS
    text = json.dumps(whole)
    id_ = whole.get("id") or whole["status"]["atProvider"]["id"]
    words = {_external_name(of): _external_name(number), _name(of): _name(number), id_: f"dt_{number:027}"}
    for old, new in words.items():
        text = text.replace(old, new)
    text = text.replace(f'"team-{of}"', f'"team-{number % 500}"')
    text = text.replace(f"/team-{of}/", f"/team-{number % 500}/")
    return dict(json.loads(text))


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps([asdict(each) for each in scales()], indent=2), file=sys.stderr)
