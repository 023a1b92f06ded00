"""Resources that wait for room in the account, as their authors see it."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from provider.cloudfront.aws.errors import PAUSED, AwsError
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

    def full(self, number: int = 12) -> None:
        """AWS refused creations of two namespaces, and the numbers say that the account has no room."""
        self.memory.quotas.allow("u1", CONFIG, {Quota.TENANTS: number})
        self.refuse(resource("first", "shop"))
        self.refuse(resource("second", "bank"))
        self.memory.quotas.counted(number, 3, 6000.0)
        self.woken.clear()


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


ADVICE = (
    'The account\'s owner must request an increase of "distribution tenants per account" in Service Quotas, '
    "or delete distribution tenants that are not needed. Then the provider creates those that wait: "
    "namespaces take turns, and within each the oldest comes first"
)
OF_CONFIG = "AWS allows 12 according to spec.quotas of ClusterProviderConfig default. "


def test_a_refused_one_says_why_and_what_to_do_and_not_where_it_is(room):
    room.memory.quotas.counted(12, 3, 60.0)
    told = room.refuse(resource("first"))
    assert told.message == (
        "create tenant shop.first: EntityLimitExceeded: Your request exceeds the limit of 12 distribution "
        f"tenants. The account has 12 distribution tenants, and AWS's default quota is 10000. {ADVICE}"
    )
    assert [(c.type, c.reason) for c in told.conditions] == [("Ready", "QuotaExceeded")]
    assert told.made_nothing
    assert 0 < told.retry.seconds <= 600


def test_a_new_one_that_waits_says_why(room):
    room.full()
    waits = asked(room, resource("third", "cafe"))
    assert waits.message == (
        "create tenant cafe.third: others wait for room in the account. The account has 12 distribution "
        f"tenants, and {OF_CONFIG}{ADVICE}"
    )
    assert [(c.type, c.reason) for c in waits.conditions] == [("Ready", "QuotaExceeded")]
    assert waits.made_nothing
    assert 0 < waits.retry.seconds <= 60


def test_numbers_that_are_unknown_are_not_mentioned(room):
    assert room.refuse(resource("first")).message.endswith(f"12 distribution tenants. {ADVICE}")


def test_a_number_of_spec_quotas_is_mentioned_without_the_use(room):
    room.memory.quotas.allow("u1", CONFIG, {Quota.TENANTS: 12})
    assert f"12 distribution tenants. {OF_CONFIG}{ADVICE}" in room.refuse(resource("first")).message


def test_the_message_stays_the_same_when_the_number_changes(room):
    room.memory.quotas.counted(12, 3, 60.0)
    before = room.refuse(resource("first")).message
    room.memory.quotas.counted(13, 3, 60.0)
    assert room.refuse(resource("first")).message == before
    room.refuse(resource("second"))
    room.memory.quotas.allow("u1", CONFIG, {Quota.TENANTS: 13})
    before = room.turns.refused(resource("first"), refusal()).message
    assert asked(room, resource("first")).message == before


def test_what_aws_says_to_one_is_not_passed_on(room):
    room.full()
    room.turns.refused(resource("secret", "evil"), refusal("evil.secret: too many tenants"))
    assert "evil" not in asked(room, resource("third")).message


def test_a_refusal_has_its_request_id(room):
    error = AwsError(CREATE, "EntityLimitExceeded", WORDS, status=400, request_id="r-1")
    assert room.turns.refused(resource("first"), error).message.endswith(" (request id: r-1)")


def test_what_is_about_one_resource_does_not_wait_for_room(room):
    room.full()
    assert isinstance(asked(room, resource("third", "cafe")), ExternalError)
    line = room.memory.quotas._lines[Quota.TENANTS]
    assert line.waiting == 3
    assert room.turns.refused(resource("third", "cafe"), refusal("at most 5 domains")) is None
    assert line.waiting == 2


@pytest.mark.parametrize(
    ("code", "status", "woken"),
    [("Throttling", 400, []), (PAUSED, 0, []), ("InternalError", 500, ["uid-second"])],
)
def test_what_aws_did_not_decide_stays_in_the_order(room, code, status, woken):
    room.full()
    room.turns.released(resource("gone"))
    assert room.woken.pop() == "uid-first"
    first = resource("first")
    with room.turns.turn(first):
        assert room.turns.refused(first, AwsError(CREATE, code, "words", status=status)) is None
    assert room.woken == woken
    assert room.memory.quotas._lines[Quota.TENANTS].waiting == 2


def test_a_check_that_is_throttled_keeps_the_turn(room):
    room.full()
    room.turns.released(resource("gone"))
    assert room.woken.pop() == "uid-first"
    failed = ExternalError("the distribution cannot be read")
    failed.__cause__ = AwsError("GetDistribution", "Throttling", "slow down", status=400)
    with pytest.raises(ExternalError), room.turns.turn(resource("first")):
        raise failed
    assert room.woken == []
    assert room.memory.quotas._lines[Quota.TENANTS].waiting == 2


def test_the_message_names_the_config_that_says_the_number(room):
    other = ProviderConfigKey("ClusterProviderConfig", "other", "")
    room.memory.quotas.allow("u1", CONFIG, {})
    room.memory.quotas.allow("u2", other, {Quota.TENANTS: 12})
    assert "of ClusterProviderConfig other. " in room.refuse(resource("first")).message


@pytest.mark.parametrize(
    "status", [{}, {"conditions": "x"}, {"conditions": [{"type": "Ready", "reason": 7}]}]
)
def test_no_status_delays_a_creation(room, status):
    assert asked(room, resource("first", **status)) is None


@pytest.mark.parametrize(
    "error", [NotYet("AWS is throttling", after=3.0), ExternalError("a domain is taken")]
)
def test_a_creation_that_fails_otherwise_gives_the_turn_to_the_next(room, error):
    room.full()
    room.turns.released(resource("gone"))
    assert room.woken == ["uid-first"]
    with pytest.raises(type(error)), room.turns.turn(resource("first")):
        raise error
    assert room.woken == ["uid-first", "uid-second"]


# With the client.


def test_tenants_and_groups_wait_separately(room):
    group = managed(uid="g")
    group["kind"] = "ConnectionGroup"
    room.full()
    assert asked(room, Managed(group)) is None


def test_one_that_waits_makes_no_creating_call_and_no_check():
    world = World(cloudfront=FakeCloudFront())
    waits_behind_another(world)
    assert set(world.reconcile()) <= {"GetDistributionTenant", "ListConnectionGroups"}
    assert world.ready() == ("False", "QuotaExceeded")
    world.clock.advance(60)
    world.settle()
    assert world.ready() == ("True", "Available")


def waits_behind_another(world: World) -> None:
    """The numbers say that the account is full, and another one waits."""
    quotas = world.memory.quotas
    quotas.counted(10_000, None, 600.0)
    quotas.refused(Quota.TENANTS, _waiting(resource("first", "bank")), WORDS)


def test_a_tenant_that_is_deleted_makes_room():
    world = World(cloudfront=FakeCloudFront())
    world.settle()
    line = world.memory.quotas._lines[Quota.TENANTS]
    line.counted(5, 600.0)
    released = []
    line.may_have_room = lambda **of: released.append(of) or []  # type: ignore[method-assign]
    world.delete()
    for _ in range(5):
        world.clock.advance(60)
        world.reconcile()
    assert released == [{"deleted": 1}]


@pytest.mark.parametrize("code", ["CNAMEAlreadyExists", "EntityAlreadyExists", "EntityNotFound"])
def test_one_that_aws_refuses_for_another_reason_waits_for_no_room(code):
    world = World(cloudfront=FakeCloudFront())
    world.cloudfront.refuse[CREATE] = refusal()
    world.reconcile()
    line = world.memory.quotas._lines[Quota.TENANTS]
    assert line.waiting == 1
    world.cloudfront.refuse[CREATE] = AwsError(CREATE, code, "words", status=409)
    world.memory.quotas.counted(10_000, None, 6000.0)
    world.clock.advance(700)
    world.reconcile()
    assert line.waiting == 0


def test_a_creation_that_waited_for_its_rate_asks_again(room):
    room.memory.quotas.allow("u1", CONFIG, {Quota.TENANTS: 12})
    mr = resource("new")
    with room.turns.turn(mr):
        room.turns.check(mr)
        room.memory.quotas.counted(12, 3, 6000.0)
        room.memory.quotas.refused(Quota.TENANTS, _waiting(resource("first", "bank")), WORDS)
        room.clock.advance(10.0)
        with pytest.raises(ExternalError, match="others wait for room in the account") as refused:
            room.turns.check(mr)
    assert refused.value.made_nothing
    assert refused.value.retry.seconds > 0


def test_a_rehearsal_waits_for_nothing():
    world = World(cloudfront=FakeCloudFront(), rehearsing=True)
    waits_behind_another(world)
    assert CREATE in world.reconcile()


def test_a_creation_counts_at_once():
    world = World(cloudfront=FakeCloudFront())
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
    world = World(cloudfront=FakeCloudFront())
    world.cloudfront.refuse[CREATE] = refusal()
    world.reconcile()
    assert world.memory.quotas._lines[Quota.TENANTS].waiting == 1
    world.delete()
    world.reconcile()
    assert world.memory.quotas._lines[Quota.TENANTS].waiting == 0
