"""An account that AWS throttles, on a virtual clock: what AWS permits is used, few calls are refused, and no
namespace waits for another one. `staged_workers.py` has the workers, their queue and AWS."""

from __future__ import annotations

import pytest

from tests.unit.provider.cloudfront.aws.pacing.staged_workers import Bucket, Resource, Windows, Workers

WARM, END = 60.0, 360.0
"""Virtual seconds: the rate is found until the first, and counted until the second."""


def crowded(workers: Workers, resources: int = 400, namespaces: int = 40) -> None:
    """Many resources of many namespaces want to make calls all the time."""
    for number in range(resources):
        workers.want(Resource(f"team-{number % namespaces}"))


@pytest.mark.parametrize("rate", [1, 3, 6, 20])
@pytest.mark.parametrize("kind", [lambda rate: Bucket(rate, 2), Windows], ids=["bucket", "windows"])
def test_eight_workers_use_what_aws_permits_and_few_calls_are_refused(rate, kind):
    workers = Workers(8, kind(rate))
    with workers.at_work():
        crowded(workers)
        workers.clock.play(END)
    assert workers.used(WARM, END) >= 0.9
    assert workers.refused(WARM, END) < 0.03
    assert workers.used(0, END) >= 0.8
    assert workers.refused(0, END) < 0.05
    assert len(workers.calls) > 0.1 * workers.tries
    made = workers.answered(WARM)
    assert len(made) == 40
    assert max(made.values()) < 2 * min(made.values()) + 3


@pytest.mark.parametrize(("number", "rate"), [(2, 1), (2, 3), (32, 1), (32, 6)])
def test_so_do_few_workers_and_many(number, rate):
    workers = Workers(number, Bucket(rate, rate))
    with workers.at_work():
        crowded(workers)
        workers.clock.play(END)
    assert workers.used(WARM, END) >= 0.9
    assert workers.refused(WARM, END) < 0.03


def test_an_operation_that_is_throttled_takes_a_quarter_of_the_workers_at_most():
    workers = Workers(8, Bucket(1, 1))
    with workers.at_work():
        crowded(workers)
        workers.clock.play(60)
    assert workers.most_waiting == 2


@pytest.mark.parametrize(("number", "rate"), [(2, 3), (8, 1), (8, 6)])
def test_a_namespace_with_one_call_waits_for_none_with_a_thousand(number, rate):
    workers = Workers(number, Bucket(rate, rate))
    with workers.at_work():
        for _ in range(1000):
            workers.want(Resource("many"))
        workers.clock.play(WARM)
        for _ in range(20):
            workers.want(Resource("one", again=False, since=workers.clock.now()))
            workers.clock.play(workers.clock.now() + 10)
    waited = [call.waited for call in workers.calls if call.namespace == "one" and call.answered]
    assert len(waited) == 20
    assert max(waited) < 6.0, "AWS may refuse one, which is retried after two seconds"
    assert sum(waited) / 20 < 2.0
    assert workers.used(WARM, workers.clock.now()) > 0.9


@pytest.mark.parametrize("kind", [lambda rate: Bucket(rate, 2), Windows], ids=["bucket", "windows"])
def test_less_and_more_that_aws_permits_is_found(kind):
    workers = Workers(8, kind(20))
    with workers.at_work():
        crowded(workers)
        workers.clock.play(120)
        assert workers.used(60, 120) > 0.9
        workers.aws.rate = 2
        workers.clock.play(300)
        assert workers.used(150, 300) > 0.85
        assert workers.refused(150, 300) < 0.05
        assert sum(not call.answered for call in workers.calls if call.at > 120) < 40
        workers.aws.rate = 20
        workers.clock.play(500)
        assert workers.used(440, 500) > 0.9
        assert workers.refused(300, 500) < 0.05


def test_after_a_pause_there_is_no_burst():
    """AWS refuses everything for two minutes, while hundreds of calls wait."""
    workers = Workers(8, Bucket(0, 1))
    with workers.at_work():
        crowded(workers)
        workers.clock.play(120)
        began = len(workers.calls)
        workers.aws.rate = 6
        workers.clock.play(400)
    assert began < 40
    seconds = [int(call.at) for call in workers.calls[began:]]
    assert max(seconds.count(second) for second in set(seconds)) <= 9
    assert workers.used(340, 400) > 0.9
    assert workers.refused(120, 400) < 0.05


def test_the_accounts_own_rate_is_kept_and_used():
    workers = Workers(8, Bucket(6, 6), rate=5.0, operation="GetDistributionTenant")
    with workers.at_work():
        crowded(workers)
        workers.clock.play(END)
    assert workers.used(WARM, END) == pytest.approx(5 / 6, rel=0.02)
    assert workers.refused(WARM, END) == 0
