"""Which domains a write has to prove, when the other checks have passed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from edgetenants_runtime.managed import Managed
from provider.cloudfront.checks import preflight, refusals
from provider.cloudfront.checks.problems import Result
from provider.cloudfront.checks.refusals import Checks
from provider.cloudfront.tenant import plan
from tests.unit.provider.world import managed

MOVED = Result(moves={"moved.test": "tenant dt_1"})


@pytest.fixture
def asked(monkeypatch) -> list[tuple[set[str], set[str]]]:
    """What `prove` was asked for: the domains, and those of them that are moved."""
    monkeypatch.setattr(refusals, "reads_only", lambda: False)
    monkeypatch.setattr(plan, "only_attaches", lambda _: False)
    return []


def proving(asked: list[Any]) -> Any:
    return lambda domains, moved, *, serving: asked.append((set(domains), set(moved)))


def checks() -> Checks:
    memory: Any = SimpleNamespace(holders=None, log_changes=None)
    return Checks(None, memory)


def test_a_creation_proves_what_it_moves_even_if_that_is_kept(monkeypatch, asked):
    monkeypatch.setattr(preflight, "of_creation", lambda *_, **__: MOVED)
    tenant: Any = SimpleNamespace(name="acme", domains=frozenset({"moved.test", "new.test"}))
    checks().creation(Managed(managed()), tenant, proving(asked))
    assert asked == [({"moved.test", "new.test"}, {"moved.test"})]


@pytest.mark.parametrize(
    ("unfinished", "proven"), [(False, {"moved.test", "new.test"}), (True, {"moved.test"})]
)
def test_a_change_proves_what_it_moves_even_if_more_is_to_be_moved(monkeypatch, asked, unfinished, proven):
    found = Result(moves=MOVED.moves, unfinished=unfinished)
    monkeypatch.setattr(preflight, "of_update", lambda *_, **__: found)
    target = SimpleNamespace(name="acme", domains=frozenset({"moved.test", "new.test"}))
    state: Any = SimpleNamespace(
        todo=SimpleNamespace(target=target, fields=()), pending=(), seen=SimpleNamespace(domains={})
    )
    checks().change(Managed(managed()), state, proving(asked), serving=True)
    assert asked == [(proven, {"moved.test"})]
