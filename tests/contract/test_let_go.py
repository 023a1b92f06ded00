"""What the provider knows of resources and provider configs that are gone is let go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account import sessions
from tests.contract import in_process
from tests.contract.emulated import Emulated, config
from tests.contract.fleet import Fleet, PassingClock

RESOURCES, CONFIGS = 40, 300
BOUNDED = {"writes._last", "vanished._removed"}
"""By tenant: what lists may show for a while after a deletion. The oldest of many are dropped."""
_OURS = ("provider.", "edgetenants_runtime.")


@pytest.fixture
def aws() -> Iterator[Emulated]:
    with EmulatorServer(rate=0) as server, in_process.reaching(server):
        emulated = Emulated(server)
        emulated.clock = PassingClock()
        yield emulated


def mentions(root: Any, words: frozenset[str]) -> set[str]:
    """The paths of containers below an object that have one of these words as a key or an item, alone or in
    a tuple."""
    found, seen, left = set[str](), set[int](), [("", root)]
    while left:
        path, each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        keys = set(_strings(each)) if isinstance(each, (Mapping, list, tuple, set, frozenset)) else set()
        if keys & words:
            found.add(path)
        left += [(f"{path}{name}", child) for name, child in _below(each)]
    return found


def _strings(container: Any) -> Iterator[str]:
    for each in container:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from _strings(each)


def _below(each: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(each, Mapping):
        yield from (("[]", child) for child in [*each.keys(), *each.values()])
    elif isinstance(each, (list, tuple, set, frozenset)):
        yield from (("[]", child) for child in each)
    elif type(each).__module__.startswith(_OURS):
        slots = {name: getattr(each, name, None) for name in getattr(type(each), "__slots__", ())}
        yield from ((f".{name}", child) for name, child in {**slots, **getattr(each, "__dict__", {})}.items())


def test_deleted_resources_are_forgotten(aws):
    fleet = Fleet(aws, RESOURCES)
    fleet.run(600.0)
    tenants = {each["Id"] for each in aws.tenants}
    uids = frozenset(fleet.members)
    everything = [fleet.accounts, fleet.sweeps, *(each.connector for each in fleet.members.values())]
    assert mentions(everything, uids), "they were known"
    for each in fleet.members.values():
        each.delete()
        fleet.wake(each)
    fleet.run(1800.0)
    assert not aws.tenants
    assert all(each.mr is None for each in fleet.members.values())
    for each in fleet.members.values():
        each.reconcile()
    connectors = [each.connector for each in fleet.members.values()]
    known = mentions([fleet.accounts, fleet.sweeps, *connectors], uids | frozenset(tenants))
    assert {path.partition(".memory.")[2] for path in known} == BOUNDED


def test_dropped_configs_are_let_go(aws):
    accounts = sessions.Accounts(aws.clock)
    keys = [ProviderConfigKey("ProviderConfig", "aws", f"team-{number}") for number in range(CONFIGS)]
    given = [replace(config(aws.url), key=key, uid=f"uid-{key.namespace}") for key in keys]
    references = []
    for each in given:
        account = accounts.of(each)
        account.cloudfront.default_group()
        account.cloudfront.certificate("arn:aws:acm:us-east-1:123456789012:certificate/none")
        for part in (account, account.hooks, account.cloudfront, account.cloudfront._cloudfront):
            references.append(weakref.ref(part))
    del account, part
    for each in given:
        accounts.gone(each.uid)
    gc.collect()
    assert sum(each() is not None for each in references) == 0
    aws.clock.advance(sessions._GONE_SECONDS)
    accounts.gone("another")
    assert mentions(accounts, frozenset(each.uid for each in given)) == set()
