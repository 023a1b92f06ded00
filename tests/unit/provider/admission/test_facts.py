"""What the webhooks know, and how little a review makes the provider do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed
from provider.admission import facts
from provider.admission.facts import BriefJobs, KnownFacts, does_not_exist
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.checks.preflight import distribution_key
from provider.cloudfront.memory.answers import SharedReads
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.state.distribution import Distribution
from tests.unit.provider.world import managed

TAKEN = "taken.example.com"


class Records:
    """Who has what, and how often it was read."""

    def __init__(self, **held: str) -> None:
        self.held, self.loads, self.rereads = {TAKEN: "holder", **held}, 0, 0
        self.released: set[str] = set()
        self.error: Exception | None = None

    def load(self) -> None:
        self.loads += 1
        if self.error:
            raise self.error

    def holder(self, domain: str) -> str | None:
        return self.held.get(domain)

    def reread(self, domains: Iterable[str]) -> None:
        self.rereads += 1
        for domain in self.released.intersection(domains):
            del self.held[domain]

    def place(self, domain: str) -> str:
        return f"key {domain}"


class Accounts:
    """One account, opened for the config with the uid "c"."""

    def __init__(self, clock: FakeClock) -> None:
        self.shared, self.calls = SharedReads(clock), 0
        self.error: AwsError | None = None
        memory = SimpleNamespace(shared=self.shared)
        self.account = SimpleNamespace(memory=memory, cloudfront=SimpleNamespace(distribution=self.read))

    def opened(self, uid: str) -> Any:
        return self.account if uid == "c" else None

    def read(self, id_: str) -> Distribution:
        self.calls += 1
        if self.error:
            raise self.error
        return Distribution(id_, parameters={"new": True})


def known(records: Records | None = None, accounts: Accounts | None = None, **options: Any) -> KnownFacts:
    config = {"metadata": {"uid": "c"}}
    return KnownFacts(records, accounts or Accounts(FakeClock()), lambda _: config, **options)


def test_a_domain_is_kept_for_others_only() -> None:
    asked = known(Records())
    domains = frozenset({TAKEN, "free.example.com"})
    assert asked.kept_for_others(domains, "shop") == {TAKEN: f"key {TAKEN}"}
    assert asked.kept_for_others(domains, "holder") == {}
    assert known(None).kept_for_others(domains, "shop") == {}


def test_many_reviews_read_the_records_once() -> None:
    records = Records()
    asked = known(records)
    for _ in range(50):
        asked.kept_for_others(frozenset({TAKEN}), "shop")
    assert (records.loads, records.rereads) == (1, 1)


def test_a_domain_that_was_released_a_moment_ago_is_free() -> None:
    records = Records()
    records.released.add(TAKEN)
    assert known(records).kept_for_others(frozenset({TAKEN}), "shop") == {}


@pytest.mark.parametrize("error", [KubeError(Operation("list", CONFIG_MAPS), 500, "no"), RecordsFailed("no")])
def test_unreadable_records_refuse_nothing(error: Exception) -> None:
    records = Records()
    records.error = error
    assert known(records).kept_for_others(frozenset({TAKEN}), "shop") == {}


def test_a_distribution_that_no_reconcile_read_stays_unknown() -> None:
    accounts = Accounts(FakeClock())
    assert known(accounts=accounts).distribution(Managed(managed()), "E1") is None
    assert accounts.calls == 0


def test_a_distribution_that_was_read_before_is_read_again_once_a_minute() -> None:
    clock = FakeClock()
    accounts = Accounts(clock)
    accounts.shared.note(distribution_key("E1"), Distribution("E1"), 60.0)
    asked = known(accounts=accounts)
    assert asked.distribution(Managed(managed()), "E1") == Distribution("E1")
    assert accounts.calls == 0
    clock.advance(61)
    for _ in range(10):
        found = asked.distribution(Managed(managed()), "E1")
        assert found is not None
        assert found.parameters == {"new": True}
    assert accounts.calls == 1


def test_an_error_of_aws_leaves_a_distribution_unknown() -> None:
    clock = FakeClock()
    accounts = Accounts(clock)
    accounts.shared.note(distribution_key("E1"), Distribution("E1"), 60.0)
    accounts.error = AwsError("GetDistribution", "Throttling", "slow down")
    clock.advance(61)
    assert known(accounts=accounts).distribution(Managed(managed()), "E1") is None


def test_a_config_that_no_reconcile_opened_knows_nothing() -> None:
    accounts = Accounts(FakeClock())
    accounts.shared.note(distribution_key("E1"), Distribution("E1"), 60.0)
    asked = KnownFacts(None, accounts, lambda _: None)  # type: ignore[arg-type]
    assert asked.distribution(Managed(managed()), "E1") is None


def test_a_few_domains_are_looked_up_and_no_wildcard() -> None:
    seen: list[str] = []

    def lookup(domain: str) -> bool:
        seen.append(domain)
        return domain.startswith("a")

    asked = known(lookup=lookup)
    domains = frozenset({"*.x.test", "a.x.test", "b.x.test", "c.x.test", "d.x.test"})
    assert asked.without_records(domains) == ("a.x.test",)
    assert sorted(seen) == ["a.x.test", "b.x.test", "c.x.test"]
    assert known(lookup=None).without_records(domains) == ()


def test_dns_that_hangs_holds_up_no_review_for_long() -> None:
    release = threading.Event()
    try:
        asked = known(lookup=lambda _: release.wait(30), jobs=BriefJobs(0.05))
        for _ in range(30):
            assert asked.without_records(frozenset({"a.x.test"})) == ()
        assert asked.without_records(frozenset({"a.x.test"})) == ()
    finally:
        release.set()


def test_dns_that_hangs_leaves_the_records_readable() -> None:
    release = threading.Event()
    try:
        asked = known(Records(), lookup=lambda _: release.wait(30))
        with ThreadPoolExecutor(8) as reviews:
            for n in range(8):
                domains = frozenset(f"{letter}{n}.x.test" for letter in "abc")
                reviews.submit(asked.without_records, domains)
            assert asked.kept_for_others(frozenset({TAKEN}), "shop") == {TAKEN: f"key {TAKEN}"}
    finally:
        release.set()


def test_dns_that_hangs_does_not_delay_the_end_of_the_process() -> None:
    release, daemons = threading.Event(), set[bool]()

    def hangs() -> None:
        daemons.add(threading.current_thread().daemon)
        release.wait(30)

    try:
        assert BriefJobs(0.05).run(hangs) == [None]
        assert daemons == {True}
    finally:
        release.set()


def test_a_job_that_fails_raises_and_frees_its_place() -> None:
    jobs = BriefJobs()
    for _ in range(30):
        with pytest.raises(ValueError, match="no"):
            jobs.run(lambda: int("no"))
    assert jobs.run(lambda: 1) == [1]


def test_unreadable_records_are_read_and_logged_seldom() -> None:
    records = Records()
    records.error = RecordsFailed("no")
    asked = known(records)
    with capture_logs() as logged:
        for _ in range(20):
            asked.kept_for_others(frozenset({TAKEN}), "shop")
    assert records.loads == 1
    assert len(logged) <= 1


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no"), True),
        (socket.gaierror(socket.EAI_AGAIN, "later"), False),
        (OSError("no"), False),
        (UnicodeError("label too long"), False),
        (None, False),
    ],
)
def test_only_a_clear_answer_of_dns_is_one(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, missing: bool
) -> None:
    asked: list[str] = []

    def answer(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        if error:
            raise error
        return []

    monkeypatch.setattr(facts.socket, "getaddrinfo", answer)
    assert does_not_exist("a.x.test") is missing
    assert asked == ["a.x.test."]
