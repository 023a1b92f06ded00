"""No lock is held across a call over the network: one call that hangs would stop workers that need no call.

Whole lives run with locks that know their threads. At each call to AWS, and at each request to Kubernetes,
the calling thread must hold none, except the one that has one worker open a config.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.testing.objects import FakeObjects
from provider.cloudfront.account.sessions import Accounts, _Opening
from provider.cloudfront.memory.answers import Answers
from tests.contract import held_locks, in_process
from tests.contract.emulated import DISTRIBUTION, Emulated, config
from tests.contract.fleet import Fleet
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import managed

OPENING = f"{_Opening.__module__}.{_Opening.__qualname__}.__init__"
"""One worker opens a config, which asks STS who the caller is. The others that use the config have no account
that is valid, and wait for five seconds in all. It is the only lock for calls of one key."""


class Watch:
    """The calls that were made with a lock."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.server: Any = None
        self.with_locks: list[tuple[str, list[str]]] = []
        answer = in_process.answer

        def answered(method: str, url: str, headers: dict[str, str], body: bytes) -> Any:
            self.check(method, url)
            return answer(method, url, headers, body)

        patch.setattr(in_process, "answer", answered)
        for name in ("get", "find", "create", "patch", "patch_status", "delete", "update"):
            if hasattr(FakeObjects, name):
                patch.setattr(FakeObjects, name, self._checked(name, getattr(FakeObjects, name)))

    def check(self, *what: str) -> None:
        self.calls += 1
        if found := held_locks.held():
            self.with_locks.append((" ".join(what), found))

    def _checked(self, name: str, method: Any) -> Any:
        def checked(*args: Any, **kwargs: Any) -> Any:
            self.check("Kubernetes", name)
            return method(*args, **kwargs)

        return checked

    @property
    def wrong(self) -> list[tuple[str, list[str]]]:
        """Those that nothing permits."""
        return [each for each in self.with_locks if each[1] != [OPENING]]


@pytest.fixture
def watch(monkeypatch) -> Iterator[Watch]:
    with EmulatorServer(rate=0) as server, in_process.reaching(server):
        found = Watch(monkeypatch)
        found.server = server
        with held_locks.recorded():
            yield found


def test_no_lock_is_held_across_a_call_in_the_lives_of_tenants(watch):
    """Created, changed, changed in AWS, throttled, deleted."""
    aws = Emulated(watch.server)
    life = Reconciled(managed({"distributionId": DISTRIBUTION, "domains": ["a.example.com"]}), aws)
    life.come_to_rest()
    assert life.told("Ready")[0] == "True"
    life.edit(domains=["a.example.com", "b.example.com"], connectionGroupId="cg_missing")
    life.reconcile()
    life.edit(connectionGroupId=None)
    life.come_to_rest()
    aws.edit("shop.acme", Enabled=False)
    aws.fault("GetDistributionTenant", code="Throttling", status=400, message="slow down")
    life.reconcile()
    life.come_to_rest()
    life.delete()
    for _ in range(10):
        aws.deploy()
        life.reconcile()
    assert not aws.tenants
    assert watch.calls > 50
    assert not watch.wrong


def test_no_lock_is_held_across_a_call_of_a_sweep(watch):
    fleet = Fleet(Emulated(watch.server), 5)
    fleet.run(600.0)
    fleet.aws.edit("shop.t-001", Enabled=False)
    fleet.start()
    fleet.run(600.0)
    assert {each["Enabled"] for each in fleet.aws.tenants} == {True}
    assert watch.calls > 50
    assert not watch.wrong


def test_the_lock_of_a_config_that_is_opened_is_the_only_one(watch):
    aws = Emulated(watch.server)
    watch.with_locks.clear()
    Accounts(FakeClock()).of(config(aws.url))
    assert [locks for _, locks in watch.with_locks] == [[OPENING]]


def test_a_lock_across_a_call_is_noticed(watch):
    aws = Emulated(watch.server)
    answers = Answers(FakeClock())
    with answers._lock:
        aws.calls.default_group()
    assert watch.wrong == [(watch.wrong[0][0], ["provider.cloudfront.memory.answers.Answers.__init__"])]
