"""What the log has already: one line per change, within bounds."""

from __future__ import annotations

from provider.cloudfront.memory import log_changes
from provider.cloudfront.memory.log_changes import LogChanges


def test_a_fact_is_new_once_and_again_after_another_one():
    log = LogChanges()
    assert [log.is_new("one", "owner", what) for what in "aabba"] == [True, False, True, False, True]
    assert log.is_new("two", "owner", "a")
    assert log.is_new("one", "name", "a")


def test_a_resource_with_many_topics_forgets_only_its_own(monkeypatch):
    monkeypatch.setattr(log_changes, "_MOST_TOPICS", 3)
    log = LogChanges()
    log.is_new("other", "owner", "a")
    for topic in range(100):
        log.is_new("one", f"domain {topic}", "a")
    assert not log.is_new("other", "owner", "a")
    assert sum(map(len, log._logged.values())) == 4


def test_the_resources_that_were_logged_last_are_remembered(monkeypatch):
    monkeypatch.setattr(log_changes, "_MOST", 3)
    log = LogChanges()
    for uid in "abc":
        log.is_new(uid, "owner", 1)
    log.is_new("a", "owner", 1)
    log.is_new("d", "owner", 1)
    assert [uid for uid in "abcd" if uid in log._logged] == ["a", "c", "d"]
