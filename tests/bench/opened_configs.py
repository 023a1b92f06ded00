"""The provider's process of the benchmark configs.py: opens the configs, and measures itself.

The clock is virtual. One thread plays the queue and the sweeps (tests/contract/fleet.py). The configs are
given to the provider as it gets them from Kubernetes, but with an endpoint: a team's config may not name one.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.managed import ProviderConfigKey
from tests.contract.admin import Admin
from tests.contract.emulated import DISTRIBUTION
from tests.contract.fleet import Fleet, Member, PassingClock
from tests.unit.provider.world import managed

REST = 600.0
"""Seconds at rest, after as many in which the last follow-ups end."""
LONGEST = 3600.0
STEP = 5.0
"""The emulator's record of calls holds those of a short time."""
SECRET = "any"


@dataclass(frozen=True)
class Held:
    """What one provider holds for its configs."""

    name: str
    configs: int
    before_mib: float
    """Resident memory before the first config was opened, with all managed resources."""
    ready_mib: float
    """Resident memory when all tenants were Ready."""
    rest_mib: float
    """Resident memory after the time at rest."""
    per_config_kib: float
    """What each config and its tenant added."""
    connections: int
    """Open at the end."""
    opening: dict[str, int]
    """Calls by operation until all were Ready."""
    rest: dict[str, int]
    """Calls by operation while at rest."""
    writes: int
    """Writes to Kubernetes meanwhile."""
    cpu_seconds: float
    """Processor time until all were Ready."""
    rest_cpu_seconds: float
    """Processor time while at rest."""


class _Aws:
    """What the fleet needs of the emulator."""

    def __init__(self, url: str, admin: str) -> None:
        self.url, self.clock, self.admin = url, PassingClock(), Admin(admin)

    @property
    def journal(self) -> list[str]:
        """The operations that reached AWS."""
        return [call["operation"] for call in self.admin("GET", "calls")["calls"]]


class _Teams(Fleet):
    """A tenant and a provider config for each namespace."""

    def __init__(self, aws: Any, keys: Sequence[str]) -> None:
        self._keys = keys
        super().__init__(aws, len(keys))

    def member(self, number: int, **for_provider: Any) -> Member:
        """The resource of a namespace."""
        obj = managed(
            {
                "distributionId": DISTRIBUTION,
                "domains": [f"t-{number}.example.com"],
                "parameters": {"tenantName": f"t-{number}"},
                **for_provider,
            },
            uid=f"uid-{number}",
            annotations={"crossplane.io/external-name": f"team-{number}.t"},
        )
        obj["metadata"] |= {"name": "t", "namespace": f"team-{number}"}
        member = Member(obj, self)
        member.configs.resolved = _config(number, self._keys[number], self.aws.url)
        return member

    def users(self, config: ProviderConfigKey) -> int:
        """One resource."""
        del config
        return 1

    @property
    def writes(self) -> int:
        """Writes to Kubernetes."""
        return sum(len(each.writes) for each in self.members.values())

    def _wake(self, followers: Any, **_: Any) -> None:
        for follower in followers:
            self.wake(self.members[follower.uid])


def _config(number: int, key: str, url: str) -> ResolvedConfig:
    content = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {SECRET}\n"
    return ResolvedConfig(
        key=ProviderConfigKey("ProviderConfig", "aws", f"team-{number}"),
        spec={
            "credentials": {"source": "Secret", "secretRef": {"name": "aws", "key": "credentials"}},
            "endpoint": {"url": url},
            "rateLimits": {"cloudfront": 1000},
        },
        uid=f"config-{number}",
        generation=1,
        source="Secret",
        credentials=content.encode(),
    )


def _provide(given: Mapping[str, Any]) -> Held:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    keys, aws = given["keys"], _Aws(given["url"], given["admin"])
    fleet, calls = _Teams(aws, keys), Counter[str]()
    before, began = _resident(), time.process_time()
    while fleet.ready() != {("True", "Available"): len(keys)}:
        calls += fleet.run(STEP)
        assert fleet.clock.now() < LONGEST, fleet.ready()
    ready, cpu = _resident(), time.process_time() - began
    _pass(fleet, REST)
    written, began = fleet.writes, time.process_time()
    rest = _pass(fleet, REST)
    return Held(
        name=given["name"],
        configs=len(keys),
        before_mib=before,
        ready_mib=ready,
        rest_mib=_resident(),
        per_config_kib=(_resident() - before) * 1024 / len(keys),
        connections=_connections(),
        opening=dict(calls),
        rest=dict(rest),
        writes=fleet.writes - written,
        cpu_seconds=cpu,
        rest_cpu_seconds=time.process_time() - began,
    )


def _pass(fleet: Fleet, seconds: float) -> Counter[str]:
    calls, end = Counter[str](), fleet.clock.now() + seconds
    while fleet.clock.now() < end:
        calls += fleet.run(STEP)
    return calls


def _resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def _connections() -> int:
    links = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return sum(link.startswith("socket:") for link in links)


if __name__ == "__main__":
    print(json.dumps(asdict(_provide(json.load(sys.stdin)))))
