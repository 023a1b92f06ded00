"""What the provider remembers of a resource, and when it forgets that."""

from __future__ import annotations

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory import account_memory
from provider.cloudfront.memory.account_memory import AccountMemory

DAY = 24 * 3600.0


def test_each_part_forgets_a_resource_whose_external_resource_is_gone():
    memory = AccountMemory(FakeClock())
    parts = {name: part for name, part in vars(memory).items() if hasattr(part, "forget")}
    # A resource that is gone still counts in `vanished` and `gone`; `holders` are known by domain.
    for other in ("vanished", "unseen", "gone", "records", "holders"):
        del parts[other]
    assert set(parts.values()) == set(memory._per_resource)


def test_what_exists_starts_all_pauses_over():
    clock = FakeClock()
    memory = AccountMemory(clock)
    assert memory.gone.left("uid", "dt_1") == 15.0
    assert memory.unseen.next("uid") == 1.0
    clock.advance(20)
    assert memory.gone.left("uid", "dt_1") == 0.0
    assert memory.unseen.next("uid") == 2.0
    memory.note_seen("uid", "dt_1")
    assert memory.gone.left("uid", "dt_1") == 15.0
    assert memory.unseen.next("uid") == 1.0


def test_a_resource_that_is_not_observed_for_a_week_is_forgotten():
    clock = FakeClock()
    memory = AccountMemory(clock)
    memory.note_seen("idle", "dt_1")
    memory.disablings.note("idle", "dt_1")
    clock.advance(6 * DAY)
    memory.note_seen("other", "dt_2")
    assert memory.disablings.by("idle", "dt_1")
    clock.advance(DAY + 1)
    memory.note_seen("other", "dt_2")
    assert not memory.disablings.by("idle", "dt_1")


def test_resources_that_are_created_observed_and_deleted_in_a_loop_fill_no_memory(monkeypatch):
    monkeypatch.setattr(account_memory, "_MOST_SEEN", 10)
    memory = AccountMemory(FakeClock())
    for number in range(1000):
        memory.note_seen("steady", "dt_0")
        memory.note_seen(f"uid-{number}", "dt_1")
        memory.deep_checks.is_due(f"uid-{number}")
    assert len(memory._last_seen._seen) == 10
    assert len(memory.deep_checks._next) == 9
    assert memory.known_id("steady") == "dt_0"
