"""Resources that wait for room in the account, as their authors see it."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.quota.limits import Quota
from provider.cloudfront.safety.creation_turns import CreationTurns, _waiting
from provider.cloudfront.safety.dependencies import AccountAccess
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import World, managed

CREATE = "CreateDistributionTenant"
CONFIG = ProviderConfigKey("ClusterProviderConfig", "default", "")
WORDS = "Your request exceeds the limit of 12 distribution tenants."


def refusal(words: str = WORDS) -> AwsError:
    return AwsError(CREATE, "EntityLimitExceeded", words, status=400)


class InLine(World):
    """A resource of a provider whose creations wait in line."""

    def restart(self) -> None:
        super().restart()
        self.memory = AccountMemory(self.clock, wake=lambda _: None)


class Room:
    """The turns of one account, without calls."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.woken: list[str] = []
        self.memory = AccountMemory(self.clock, wake=lambda each: self.woken.extend(w.uid for w in each))
        self.turns = CreationTurns(AccountAccess(None, self.memory, "i", "1", str(CONFIG)))  # type: ignore[arg-type]

    def refuse(self, mr: Managed, words: str = WORDS) -> ExternalError | None:
        with self.turns.turn(mr):
            return self.turns.refused(mr, refusal(words))

    def full(self) -> None:
        """AWS refused creations of two namespaces."""
        self.refuse(resource("first", "shop"))
        self.refuse(resource("second", "bank"))


def resource(name: str, namespace: str = "shop", created: str = "2026-01-01T00:00:00Z", **status) -> Managed:
    obj = managed(uid=f"uid-{name}", created=created)
    obj["metadata"] |= {"name": name, "namespace": namespace}
    obj["metadata"]["annotations"]["crossplane.io/external-name"] = f"{namespace}.{name}"
    obj["status"] = status
    return Managed(obj)


@pytest.fixture
def room() -> Room:
    return Room()


def asked(room: Room, mr: Managed) -> ExternalError | NotYet | None:
    """What it gets instead of a turn."""
    try:
        with room.turns.turn(mr):
            return None
    except (ExternalError, NotYet) as error:
        return error


def test_without_the_line_each_is_refused_by_itself():
    room = Room()
    room.memory = AccountMemory(room.clock)
    room.turns = CreationTurns(AccountAccess(None, room.memory, "i", "1", str(CONFIG)))  # type: ignore[arg-type]
    for name in ("first", "second", "third"):
        assert room.refuse(resource(name, name)) is None
    line = room.memory.quotas._lines[Quota.TENANTS]
    with room.turns.turn(resource("fourth", "shop")):
        assert not line._entries, "the line does not know of it"


def test_one_that_waits_says_why_and_what_to_do_and_not_where_it_is(room):
    room.memory.quotas.counted(12, 3, 60.0)
    room.full()
    waits = asked(room, resource("third", "cafe"))
    assert isinstance(waits, ExternalError)
    assert waits.message == (
        "create tenant cafe.third: EntityLimitExceeded: Your request exceeds the limit of 12 distribution "
        "tenants. The account has 12 distribution tenants, and AWS's default quota is 10000. The account's "
        'owner must request an increase of "distribution tenants per account" in Service Quotas, or delete '
        "distribution tenants that are not needed. Then the provider creates those that wait: first those "
        "that served before; namespaces take turns, and within each the oldest comes first"
    )
    assert [(c.type, c.reason) for c in waits.conditions] == [("Ready", "QuotaExceeded")]
    assert waits.made_nothing
    assert 0 < waits.retry.seconds <= 600


@pytest.mark.parametrize(
    ("used", "numbers"),
    [
        (None, "AWS allows 20000 according to spec.quotas of "),
        (12, "The account has 12 distribution tenants, and AWS allows 20000 according to spec.quotas of "),
    ],
)
def test_the_numbers_are_those_that_are_known(room, used, numbers):
    room.memory.quotas.allow("u1", CONFIG, {Quota.TENANTS: 20_000})
    if used:
        room.memory.quotas.counted(used, None, 60.0)
    room.full()
    assert (
        f"distribution tenants. {numbers}ClusterProviderConfig default. The account's owner"
        in asked(room, resource("third")).message
    )


def test_the_message_stays_the_same_when_the_number_changes(room):
    room.memory.quotas.counted(12, 3, 60.0)
    room.full()
    before = asked(room, resource("third")).message
    room.memory.quotas.counted(11, 3, 60.0)
    room.memory.quotas.counted(12, 3, 60.0)
    assert asked(room, resource("fourth")).message == before.replace("third", "fourth")


def test_words_that_name_another_resource_are_not_passed_on(room):
    room.refuse(resource("secret", "evil"), "evil.secret: too many tenants")
    room.refuse(resource("second", "bank"), "bank.second: too many tenants")
    waits = asked(room, resource("third"))
    assert "evil" not in waits.message
    assert "AWS creates no more distribution tenants in this account. " in waits.message


def test_a_refusal_has_its_request_id_and_the_text_of_those_that_wait(room):
    told = room.refuse(resource("first"))
    again = asked(room, resource("first"))
    assert told.message == again.message
    with room.turns.turn(resource("other", "bank")):
        error = AwsError(CREATE, "EntityLimitExceeded", WORDS, status=400, request_id="r-1")
        told = room.turns.refused(resource("other", "bank"), error)
    assert told.message.endswith(" (request id: r-1)")


def test_what_is_about_one_resource_holds_none(room):
    assert room.refuse(resource("first"), "at most 5 domains") is None
    assert room.refuse(resource("second", "bank"), "at most 5 domains") is None
    assert asked(room, resource("third")) is None


def test_what_waits_for_its_turn_only_says_nothing(room):
    waits = asked(room, resource("first", conditions=[quota_exceeded()]))
    assert isinstance(waits, NotYet)
    assert waits.quiet
    assert waits.after == 10.0


def test_a_status_that_says_so_has_no_effect_once_aws_has_refused(room):
    room.full()
    assert isinstance(asked(room, resource("third", conditions=[quota_exceeded()])), ExternalError)


@pytest.mark.parametrize(
    "status", [{}, {"conditions": "x"}, {"conditions": [{"type": "Ready", "reason": 7}]}]
)
def test_no_other_status_delays_a_creation(room, status):
    assert asked(room, resource("first", **status)) is None


def quota_exceeded() -> dict[str, str]:
    return {
        "type": "Ready",
        "status": "False",
        "reason": "QuotaExceeded",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_a_check_that_refuses_gives_the_turn_to_the_next(room):
    room.full()
    room.turns.released(resource("gone"))
    room.woken.clear()
    with pytest.raises(ExternalError), room.turns.turn(resource("first")):
        raise ExternalError("a domain is taken", retry=Retry.poll())
    assert (
        room.turns._quotas.ask(
            Quota.TENANTS, _waiting(resource("second", "bank")), holder=False, waited=False
        ).seconds
        == 0
    )


@pytest.mark.parametrize("error", [NotYet("AWS is throttling", after=3.0), ExternalError("no answer")])
def test_a_failure_that_may_concern_all_does_not_wake_all_in_turn(room, error):
    room.full()
    room.turns.released(resource("gone"))
    with pytest.raises(type(error)), room.turns.turn(resource("first")):
        raise error
    assert isinstance(asked(room, resource("second", "bank")), ExternalError)
    room.clock.advance(11.0)
    assert asked(room, resource("second", "bank")) is None


# With the client.


def test_tenants_and_groups_wait_separately(room):
    group = managed(uid="g")
    group["kind"] = "ConnectionGroup"
    room.full()
    assert asked(room, Managed(group)) is None


def test_one_that_waits_makes_no_creating_call_and_no_check():
    world = InLine(cloudfront=FakeCloudFront())
    world.cloudfront.refuse[CREATE] = refusal()
    world.reconcile()
    world.clock.advance(10)
    assert set(world.reconcile()) <= {"GetDistributionTenant"}
    world.cloudfront.refuse.clear()
    world.clock.advance(60)
    world.settle()
    assert world.ready() == ("True", "Available")


def test_a_tenant_that_is_deleted_makes_room():
    world = InLine(cloudfront=FakeCloudFront())
    world.settle()
    line = world.memory.quotas._lines[Quota.TENANTS]
    line.counted(5, 600.0)
    released = []
    line.released = lambda: released.append(True) or []  # type: ignore[method-assign]
    world.delete()
    for _ in range(5):
        world.clock.advance(60)
        world.reconcile()
    assert released == [True]


def test_a_rehearsal_waits_for_nothing():
    obj = managed()
    obj["status"] = {"conditions": [quota_exceeded()]}
    world = InLine(obj, cloudfront=FakeCloudFront(), rehearsing=True)
    assert CREATE in world.reconcile()


def test_a_creation_counts_at_once():
    world = InLine(cloudfront=FakeCloudFront())
    line = world.memory.quotas._lines[Quota.TENANTS]
    line.counted(5, 600.0)
    world.reconcile()
    assert line.used == 6


def test_one_whose_tenant_exists_waits_no_more(room):
    room.refuse(resource("first"))
    assert room.memory.quotas._lines[Quota.TENANTS].waiting == 1
    room.memory.note_seen("uid-first", "dt_1")
    assert room.memory.quotas._lines[Quota.TENANTS].waiting == 0


def test_one_that_is_deleted_waits_no_more():
    world = InLine(cloudfront=FakeCloudFront())
    world.cloudfront.refuse[CREATE] = refusal()
    world.reconcile()
    assert world.memory.quotas._lines[Quota.TENANTS].waiting == 1
    world.delete()
    world.reconcile()
    assert world.memory.quotas._lines[Quota.TENANTS].waiting == 0


def test_without_the_flag_nothing_waits_whatever_a_status_says():
    memory = AccountMemory(FakeClock())
    turns = CreationTurns(AccountAccess(None, memory, "i", "1", str(CONFIG)))  # type: ignore[arg-type]
    ready = {"type": "Ready", "status": "False", "reason": "QuotaExceeded"}
    with turns.turn(resource("first", conditions=[ready])):
        pass
