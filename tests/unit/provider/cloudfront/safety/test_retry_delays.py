"""What is refused for good is tried again less and less often."""

from __future__ import annotations

import pytest

from edgetenants_runtime.errors import ExternalError, NotYet, Retry, RetryMode
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.pacing.turns import caller
from provider.cloudfront.safety.retry_delays import DelayedRetryClient, RetryDelays
from tests.unit.provider.world import World, managed


class Client:
    def __init__(self):
        self.error = None
        self.seen = Observation(exists=True)

    def observe(self, mr):
        return self._answer(self.seen)

    def create(self, mr, seen):
        return self._answer(Change())

    update = delete = create

    def _answer(self, value):
        if self.error:
            raise self.error
        return value


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def patient(client):
    return DelayedRetryClient(client, RetryDelays(60.0), "config 1")


def refused(call, *given):
    with pytest.raises(ExternalError) as caught:
        call(*given)
    retry = caught.value.retry
    return retry.seconds if retry.mode is RetryMode.AFTER else retry.mode.value


def terminal():
    return ExternalError("no", retry=Retry.poll())


def failures(client, patient, mr, count=6):
    found = []
    for _ in range(count):
        client.error = terminal()
        found.append(refused(patient.create, mr, client.seen))
    return found


def test_the_first_comes_at_the_poll_interval_and_later_ones_later(client, patient):
    mr = Managed(managed())
    assert failures(client, patient, mr) == ["Poll", 120, 240, 480, 600, 600]


def test_after_what_it_waited_for_it_is_tried_soon_and_then_as_ever(client):
    delays, mr = RetryDelays(60.0), Managed(managed())
    patient = DelayedRetryClient(client, delays, "config 1")
    assert failures(client, patient, mr)[-1] == 600
    delays.woken(mr.uid)
    delays.woken("another")
    assert failures(client, patient, mr, 11) == ["Backoff"] * 8 + ["Poll", 120, 240]


def test_what_went_well_is_not_hurried_any_more(client):
    delays, mr = RetryDelays(60.0), Managed(managed())
    patient = DelayedRetryClient(client, delays, "config 1")
    delays.woken(mr.uid)
    client.error = None
    patient.update(mr, client.seen)
    assert failures(client, patient, mr, 1) == ["Poll"]


def test_the_error_that_many_are_told_stays_as_it_is(client, patient):
    client.error = kept = terminal()
    for uid in ("1", "2"):
        for expected in ("Poll", 120):
            assert refused(patient.create, Managed(managed(uid=uid)), client.seen) == expected
    assert kept.retry == Retry.poll()


def test_a_long_poll_interval_is_not_cut(client):
    patient = DelayedRetryClient(client, RetryDelays(3600.0), "config")
    assert failures(client, patient, Managed(managed()), 3) == ["Poll", 3600, 3600]


@pytest.mark.parametrize(
    "change",
    [
        lambda obj: obj["metadata"].update(generation=2),
        lambda obj: obj["metadata"]["annotations"].update({"edgetenants.io/adopt": "dt_1"}),
        lambda obj: obj["metadata"].update(deletionTimestamp="2026-01-02T00:00:00Z"),
    ],
)
def test_a_change_of_what_is_asked_begins_anew(client, patient, change):
    obj = managed()
    failures(client, patient, Managed(obj))
    other = managed()
    change(other)
    assert failures(client, patient, Managed(other), 1) == ["Poll"]


def test_the_notes_of_the_runtime_on_its_attempts_do_not(client, patient):
    failures(client, patient, Managed(managed()), 2)
    noted = managed(annotations={"crossplane.io/external-create-failed": "2026-01-01T00:00:00Z"})
    assert failures(client, patient, Managed(noted), 1) == [240]


def test_what_is_gone_is_forgotten(client, patient):
    obj = managed()
    obj["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    failures(client, patient, Managed(obj))
    client.error, client.seen = None, Observation(exists=False)
    patient.observe(Managed(obj))
    assert patient._delays._refusals == {}


def test_another_config_begins_anew(client):
    delays, mr = RetryDelays(60.0), Managed(managed())
    failures(client, DelayedRetryClient(client, delays, "config 1"), mr)
    assert failures(client, DelayedRetryClient(client, delays, "config 2"), mr, 1) == ["Poll"]


@pytest.mark.parametrize("call", ["observe", "update"])
def test_what_goes_well_begins_anew(client, patient, call):
    mr = Managed(managed())
    failures(client, patient, mr)
    client.error = None
    getattr(patient, call)(*((mr,) if call == "observe" else (mr, client.seen)))
    assert failures(client, patient, mr, 1) == ["Poll"]


def test_a_look_at_what_is_not_there_yet_does_not(client, patient):
    mr = Managed(managed())
    failures(client, patient, mr, 2)
    client.error, client.seen = None, Observation(exists=False)
    patient.observe(mr)
    assert failures(client, patient, mr, 1) == [240]


@pytest.mark.parametrize(
    "error", [ExternalError("later"), ExternalError("at", retry=Retry.after(7)), NotYet("n", after=3)]
)
def test_others_are_left_alone(client, patient, error):
    client.error = error
    with pytest.raises(type(error)) as caught:
        patient.observe(Managed(managed()))
    assert caught.value is error
    if isinstance(error, ExternalError):
        assert caught.value.retry.mode is not RetryMode.POLL


@pytest.mark.parametrize(
    "code", ["InvalidArgument", "CNAMEAlreadyExists", "AccessDenied", "InvalidAssociation"]
)
def test_a_day_of_refusals_is_few_calls_and_ends_with_the_spec_or_the_world(code):
    class Patient(World):
        delays = RetryDelays(60.0)

        @property
        def client(self):
            return DelayedRetryClient(super().client, self.delays, "config 1")

    world = Patient()
    world.cloudfront.refuse["CreateDistributionTenant"] = AwsError("CreateDistributionTenant", code, "no")
    end, looks = world.clock.now() + 24 * 3600, 0
    while world.clock.now() < end:
        world.reconcile()
        looks += 1
        retry = world.error.retry
        world.clock.advance(retry.seconds if retry.mode is RetryMode.AFTER else 60)
    assert looks <= 24 * 6 + 5
    assert world.cloudfront.journal.count("CreateDistributionTenant") == looks
    world.edit(tags={"team": "edge"})
    world.reconcile()
    assert world.error.retry.mode is RetryMode.POLL, "tried at once, and soon again"
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.ready() == ("True", "Available")


def test_a_quota_is_asked_for_slowly_and_never_given_up():
    world = World()
    full = AwsError("CreateDistributionTenant", "EntityLimitExceeded", "10000 tenants")
    world.cloudfront.refuse["CreateDistributionTenant"] = full
    for _ in range(20):
        world.reconcile()
        # It is the first one of those that wait.
        assert (world.error.retry.mode, world.error.retry.seconds) == (RetryMode.AFTER, 60)
    assert world.ready() == ("False", "QuotaExceeded")


def test_calls_are_made_on_behalf_of_the_resources_namespace(client, patient):
    seen = []
    client._answer = lambda value: (seen.append(caller()), value)[1]
    mr = Managed(managed())
    patient.observe(mr)
    patient.create(mr, client.seen)
    patient.update(mr, client.seen)
    patient.delete(mr, client.seen)
    assert seen == [mr.namespace] * 4
    assert mr.namespace
    assert caller() == ""


def test_what_was_woken_and_deleted_unnoticed_does_not_fill_the_memory(client, monkeypatch):
    delays = RetryDelays(60.0)
    monkeypatch.setattr("provider.cloudfront.safety.retry_delays._MOST", 3)
    patient = DelayedRetryClient(client, delays, "config 1")
    for uid in ("gone", "a", "b", "c", "a", "d"):
        delays.woken(uid)
    assert len(delays._soon) == 3
    first = {uid: failures(client, patient, Managed(managed(uid=uid)), 1) for uid in "abcd"}
    assert first == {"a": ["Backoff"], "b": ["Poll"], "c": ["Backoff"], "d": ["Backoff"]}


def test_what_was_refused_and_deleted_unnoticed_does_not_fill_the_memory(client, patient, monkeypatch):
    """A resource that never got the finalizer is deleted at once: no reconcile sees it go."""
    monkeypatch.setattr("provider.cloudfront.safety.retry_delays._MOST", 3)
    for number in range(5):
        obj = managed(uid=str(number), annotations={"edgetenants.io/take-domains-from": "x" * 200_000})
        assert failures(client, patient, Managed(obj), 2) == ["Poll", 120]
    kept = patient._delays._refusals
    assert list(kept) == ["2", "3", "4"]
    assert max(len(refusal.asked) for refusal in kept.values()) == 32
