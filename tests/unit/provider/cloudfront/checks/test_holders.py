"""CloudFront refuses a domain: who has it is looked for then, over as many reconciles as it takes."""

from __future__ import annotations

import pytest

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet, RetryMode
from provider.cloudfront.aws.domain_calls import Conflict
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.checks.holders import Holders
from provider.cloudfront.checks.problems import Problem, Result
from provider.cloudfront.domain.moves import TAKE_ANNOTATION, Mover
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

OWNER = {OWNER_TAG: "cluster-1/DistributionTenant/shop/other.one"}
BY_DOMAIN, ELSEWHERE = "GetDistributionTenantByDomain", "ListDomainConflicts"
CREATE, UPDATE = "CreateDistributionTenant", "UpdateDistributionTenant"
GET_TENANT, MOVE = "GetDistributionTenant", "UpdateDomainAssociation"
HELD = "m.example.com"
MOST_CALLS = 12
"""Ten tenants to take from, and the resource's own with its second look."""


def test_a_domain_that_was_free_when_another_searched_is_searched_again() -> None:
    """A domain beside one that someone elsewhere has is searched, too; later, another tenant gets it."""
    first, elsewhere = "next.example.com", "taken.example.com"
    earlier = of_domains("early", first, elsewhere)
    earlier.cloudfront.elsewhere[elsewhere] = Conflict(elsewhere, "distribution", "E1OTHER", "******999999")
    earlier.reconcile()
    holder = of_domains("first", first, like=earlier)
    holder.settle()
    assert holder.ready() == ("True", "Available")
    earlier.clock.advance(600)
    refused = of_domains("second", first, like=earlier)
    refused.reconcile()
    assert "is served by tenant shop.first" in str(refused.error)


def test_a_remembered_tenant_of_its_own_that_is_gone_holds_up_no_other_domain() -> None:
    """It was deleted in the console, and someone else made a tenant with one of its two domains."""
    first, second, other = "a.example.com", "b.example.com", "y.example.com"
    owner = of_domains("owner", first, second)
    taker = of_domains("taker", other, like=owner)
    owner.settle()
    taker.settle()
    taker.edit(domains=[other, first])
    taker.reconcile()
    assert "shop.owner" in str(taker.error)
    cloudfront = owner.cloudfront
    cloudfront.tenants = {id_: each for id_, each in cloudfront.tenants.items() if each.name != "shop.owner"}
    cloudfront.add(name="made.elsewhere", domains={first: "active"})
    for _ in range(6):
        owner.reconcile()
        owner.clock.advance(5)
    again = next(each for each in cloudfront.tenants.values() if each.name == "shop.owner")
    assert set(again.domains) == {second}


def of_domains(name: str, *domains: str, like: World | None = None) -> World:
    obj = managed({**FOR_PROVIDER, "domains": list(domains)}, uid=name)
    obj["metadata"]["name"] = name
    obj["metadata"]["annotations"]["crossplane.io/external-name"] = f"shop.{name}"
    world = World(obj, like.cloudfront if like else None)
    if like:
        world.clock, world.memory = like.clock, like.memory
    return world


def searching(cloudfront: FakeCloudFront, memory: AccountMemory, mover: Mover) -> Holders:
    return Holders(cloudfront, memory.holders, memory.log_changes, mover)


def names(number: int) -> list[str]:
    return [f"{letter}.example.com" for letter in "abcdefghijklmnopqrstuvwxyz"[:number]]


def holding(*domains: str, name: str = "other.one") -> FakeCloudFront:
    cloudfront = FakeCloudFront()
    cloudfront.add(name=name, domains=dict.fromkeys(domains, "active"), tags=OWNER)
    return cloudfront


def world(cloudfront: FakeCloudFront, domains: list[str], **annotations: str) -> World:
    return World(managed({"distributionId": DISTRIBUTION, "domains": domains}, annotations=annotations),
                 cloudfront)  # fmt: skip


class Short(FakeCloudFront):
    """Allows so many lookups in one reconcile."""

    lookups = 5
    left = 5

    def tenant_of_domain(self, domain):
        if not self.left:
            raise AwsError(BY_DOMAIN, PAUSED, "wait", after=12.0)
        self.left -= 1
        return super().tenant_of_domain(domain)


def short(*domains: str) -> Short:
    cloudfront = Short()
    if domains:
        cloudfront.add(name="other.one", domains=dict.fromkeys(domains, "active"), tags=OWNER)
    return cloudfront


def test_no_domain_is_asked_for_before_a_creation_or_an_update():
    made = world(FakeCloudFront(), names(10))
    made.settle()
    made.edit(domains=names(20))
    made.settle()
    assert not {BY_DOMAIN, ELSEWHERE} & set(made.cloudfront.journal)
    assert set(made.cloudfront.only.domains) == set(names(20))


def test_a_refused_creation_says_who_has_the_domain():
    tried = world(holding(HELD), names(15))
    calls = tried.reconcile()
    assert tried.ready() == ("False", "DomainConflict")
    words = f"{HELD} is served by tenant other.one (dt_1) of this account, which belongs to cluster-1/"
    assert words in tried.error.message
    assert "Release the domain there, remove it here, or move it" in tried.error.message
    assert tried.error.retry.mode is RetryMode.POLL
    assert calls.count(CREATE) == 1
    assert calls.count(BY_DOMAIN) == 15


def test_a_refused_update_says_it_too():
    tried = world(holding("held.example.com"), FOR_PROVIDER["domains"])
    tried.settle()
    tried.edit(domains=[*FOR_PROVIDER["domains"], "held.example.com"])
    calls = tried.reconcile()
    assert "held.example.com is served by tenant other.one (dt_1)" in tried.error.message
    assert tried.ready()[1] == "DomainConflict"
    assert (calls.count(UPDATE), calls.count(BY_DOMAIN), calls.count(ELSEWHERE)) == (1, 1, 0)


def test_another_accounts_domain_is_found_where_a_certificate_covers_it():
    tried = world(FakeCloudFront(), FOR_PROVIDER["domains"])
    tried.settle()
    found = Conflict("new.example.com", "distribution", "***ABC", "******789012")
    tried.cloudfront.elsewhere = {"new.example.com": found}
    tried.edit(domains=[*FOR_PROVIDER["domains"], "new.example.com"])
    tried.reconcile()
    assert "new.example.com is served by distribution ***ABC of account ******789012" in tried.error.message


def test_what_nobody_of_the_account_has_is_found_by_the_distribution():
    tried = world(FakeCloudFront(), names(3))
    tried.cloudfront.elsewhere = {"a.example.com": Conflict("a.example.com", "distribution", "E1", "1")}
    calls = tried.reconcile()
    assert "a.example.com is served by distribution E1 of account 1" in tried.error.message
    assert (calls.count(BY_DOMAIN), calls.count(ELSEWHERE)) == (3, 3)
    assert tried.ready() == ("False", "DomainConflict")


def test_a_search_goes_on_where_it_was_cut_off():
    tried = world(short(HELD), names(15))
    met = []
    for _ in range(3):
        tried.cloudfront.left = tried.cloudfront.lookups
        met.append((tried.reconcile().count(BY_DOMAIN), tried.error))
    assert [made for made, _ in met] == [5, 5, 5]
    for _, cut in met[:2]:
        assert cut.message.endswith("taken; searching for who has the domains")
        assert cut.retry.mode is RetryMode.BACKOFF
    assert f"{HELD} is served by tenant other.one" in met[2][1].message


def test_two_creations_share_what_was_found():
    first = world(short(HELD), names(15))
    second = world(first.cloudfront, names(15))
    second.memory = first.memory
    for each in (first, second, first):
        each.cloudfront.left = each.cloudfront.lookups
        each.reconcile()
    assert f"{HELD} is served by tenant other.one" in first.error.message
    assert first.cloudfront.journal.count(BY_DOMAIN) == 15


def test_what_was_found_is_not_believed_for_ever():
    tried = world(holding(HELD), names(15))
    tried.reconcile()
    tried.cloudfront.edit("dt_1", name="other.two")
    tried.reconcile()
    assert "other.one" in tried.error.message
    tried.clock.advance(301)
    tried.reconcile()
    assert "other.two" in tried.error.message
    assert tried.cloudfront.journal.count(BY_DOMAIN) == 16, "only what was found held is asked for again"
    tried.clock.advance(1801)
    assert tried.reconcile().count(BY_DOMAIN) == 15
    del tried.cloudfront.tenants["dt_1"]
    tried.reconcile()
    assert tried.error is None, "a release is met by the next try, whatever was found before"


def test_a_message_names_ten_and_the_rest_is_not_looked_for():
    tried = world(holding(*names(15)), names(15))
    calls = tried.reconcile()
    assert tried.error.message.count("is served by tenant") == 10
    assert tried.error.message.endswith("; other domains may be taken too")
    assert calls.count(BY_DOMAIN) == 10


def test_a_search_that_is_not_permitted_is_told():
    tried = world(holding(HELD), [*names(3), HELD])
    tried.cloudfront.refuse[BY_DOMAIN] = AwsError(BY_DOMAIN, "AccessDenied", "no", status=403)
    tried.reconcile()
    assert (
        f"which one; checks skipped for lack of permission: {BY_DOMAIN}. Ask its owner" in tried.error.message
    )


def test_a_search_that_fails_leaves_the_refusal():
    tried = world(holding(HELD), [*names(3), HELD])
    tried.cloudfront.refuse[BY_DOMAIN] = AwsError(BY_DOMAIN, "InvalidArgument", "no", status=400)
    tried.reconcile()
    told = f"and AWS does not say which one; the search for it failed: {BY_DOMAIN}: InvalidArgument: no. "
    assert told in tried.error.message
    assert tried.error.message.endswith("AWS: CNAMEAlreadyExists: taken")


def test_the_end_of_a_reconciles_time_ends_the_search(monkeypatch):
    tried = world(holding(HELD), names(15))
    monkeypatch.setattr(tried.cloudfront, "tenant_of_domain", _out_of_time)
    tried.reconcile()
    assert tried.error.message.endswith("taken; searching for who has the domains")
    assert tried.ready() == ("False", "DomainConflict")


def _out_of_time(domain):
    raise ExternalError("the reconcile exceeded its timeout of 60 s")


def test_a_lost_creation_whose_domains_are_met_before_its_name_is_waited_for():
    tried = world(holding(HELD, name="shop.acme"), [HELD])
    gone = AwsError("GetDistributionTenant", "EntityNotFound", "lags", status=404)
    tried.cloudfront.refuse["GetDistributionTenant"] = gone
    tried.cloudfront.refuse[CREATE] = AwsError(CREATE, "CNAMEAlreadyExists", "taken", status=409)
    tried.reconcile()
    assert isinstance(tried.error, NotYet)
    assert "checking its owner tag" in tried.error.message


def test_a_rehearsal_looks_for_them_beforehand():
    tried = world(holding(HELD), names(15))
    recorder = Recorder(tried.cloudfront)
    tried.cloudfront = recorder.as_cloudfront
    told = rehearse(tried.client, tried.mr, recorder)
    assert f"{HELD} is served by tenant other.one" in told.refusal.message
    assert CREATE not in recorder.inner.journal


# Moves: only the tenants that are named are looked at.


def taking(cloudfront: FakeCloudFront, domains: list[str], *ids: str) -> World:
    return world(cloudfront, domains, **{TAKE_ANNOTATION: ",".join(ids)})


def sources(number: int) -> FakeCloudFront:
    cloudfront = FakeCloudFront()
    tags = {OWNER_TAG: "cluster-1/DistributionTenant/shop/x"}
    for index in range(number):
        name = f"d{index:03}.example.com"
        cloudfront.add(name=f"shop.s{index:03}", domains={name: "active"}, tags=tags)
    return cloudfront


def test_moves_cost_calls_for_the_tenants_that_are_named():
    cloudfront = sources(2)
    tried = taking(cloudfront, ["www.example.com", "d000.example.com", "d001.example.com"], "dt_1", "dt_2")
    tried.settle()
    assert BY_DOMAIN not in cloudfront.journal
    assert len(cloudfront.tenants["dt_3"].domains) == 3


def test_many_moves_are_made_in_portions_and_each_stays():
    cloudfront = sources(50)
    wanted = [f"d{index:03}.example.com" for index in range(50)]
    tried = taking(cloudfront, ["www.example.com", *wanted], *cloudfront.tenants)
    portions = []
    for _ in range(11):
        calls = tried.reconcile()
        portions.append((calls.count(GET_TENANT) <= MOST_CALLS, calls.count("UpdateDomainAssociation")))
    assert portions == [(True, moved) for moved in (*[0] * 5, *[10] * 5, 0)]
    assert tried.error is None
    assert set(cloudfront.tenants["dt_51"].domains) == {"www.example.com", *wanted}
    assert tried.condition("InSync")[0] == "True"


def test_a_domain_that_is_only_added_waits_for_the_last_portion():
    cloudfront = sources(30)
    wanted = [f"d{index:03}.example.com" for index in range(30)]
    tried = taking(cloudfront, ["www.example.com"], *cloudfront.tenants)
    tried.settle()
    tried.edit(domains=["new.example.com", *wanted])
    portions = [tried.reconcile() for _ in range(3)]
    assert [calls.count("UpdateDomainAssociation") for calls in portions] == [10, 10, 10]
    assert [calls.count(UPDATE) for calls in portions] == [0, 0, 1]
    assert set(cloudfront.tenants["dt_31"].domains) == {"new.example.com", *wanted}


def test_a_source_that_is_no_id_is_refused_before_aws_is_asked():
    cloudfront = FakeCloudFront()
    tried = taking(cloudfront, ["www.example.com"], "dt_" + "x" * 200_000)
    assert "GetDistributionTenant" not in tried.reconcile()[1:]
    assert "expected at most 26000 characters, got more" in tried.error.message
    assert len(tried.error.message) < 500


def test_a_source_that_is_too_long_for_an_id_is_refused():
    tried = taking(FakeCloudFront(), ["www.example.com"], "dt_" + "x" * 200)
    tried.reconcile()
    assert "expected ids of at most 128 characters, got one of 203" in tried.error.message


def test_too_many_sources_are_refused():
    tried = taking(FakeCloudFront(), ["www.example.com"], *(f"dt_{n}" for n in range(201)))
    tried.reconcile()
    assert (
        f"metadata.annotations[{TAKE_ANNOTATION}]: expected at most 200 ids, got 201" in tried.error.message
    )


@pytest.mark.parametrize("asked_by", ["dt_404", "shop.s000"])
def test_a_source_that_is_not_there_or_is_named_gives_nothing(asked_by):
    tried = taking(sources(1), ["www.example.com", "d000.example.com"], asked_by)
    tried.reconcile()
    assert "d000.example.com is served by tenant shop.s000 (dt_1)" in tried.error.message
    assert f"set the annotation {TAKE_ANNOTATION} to dt_1" in tried.error.message


# What one resource costs, whatever it says.


def absent(number: int) -> list[str]:
    return [f"dt_absent{n:03}" for n in range(number)]


def test_a_creation_looks_at_ten_sources_in_a_reconcile_and_goes_on():
    tried = taking(FakeCloudFront(), ["www.example.com"], *absent(35))
    calls = [tried.reconcile() for _ in range(4)]
    assert all(each.count(GET_TENANT) <= MOST_CALLS for each in calls), [len(each) for each in calls]
    assert [each.count(CREATE) for each in calls] == [0, 0, 0, 1]
    assert tried.error is None


def test_a_creation_that_goes_on_says_so_in_the_same_words_each_time():
    tried = taking(FakeCloudFront(), ["www.example.com"], *absent(35))
    met = []
    for _ in range(2):
        tried.reconcile()
        met.append((type(tried.error), tried.error.message, tried.error.after))
    assert met[0] == met[1]
    kind, words, _ = met[0]
    assert kind is NotYet
    assert f"metadata.annotations[{TAKE_ANNOTATION}]" in words
    assert "the next reconcile continues" in words


def test_a_change_looks_at_ten_sources_in_a_reconcile_and_goes_on():
    tried = taking(FakeCloudFront(), ["www.example.com"], *absent(35))
    while tried.reconcile().count(CREATE) == 0:
        pass
    tried.settle()
    tried.clock.advance(1801)
    tried.edit(domains=["www.example.com", "new.example.com"])
    calls = [tried.reconcile() for _ in range(4)]
    assert all(each.count(GET_TENANT) <= MOST_CALLS for each in calls)
    assert [each.count(UPDATE) for each in calls] == [0, 0, 0, 1]


def test_a_source_that_is_not_there_is_asked_for_once_whatever_is_refused():
    cloudfront = holding(HELD)
    tried = taking(cloudfront, ["www.example.com", HELD], *absent(5))
    calls = tried.reconcile()
    first = calls.count(GET_TENANT)
    again = tried.reconcile()
    assert tried.ready() == ("False", "DomainConflict")
    assert (again.count(CREATE), first - again.count(GET_TENANT)) == (1, 5)


def test_a_source_that_shows_late_is_met_by_the_refusal():
    cloudfront = sources(1)
    hidden = cloudfront.tenants.pop("dt_1")
    tried = taking(cloudfront, ["www.example.com", "d000.example.com"], "dt_1")
    gone = searching(cloudfront, tried.memory, Mover(tried.mr, "cluster-1"))
    assert list(gone.sources({"d000.example.com"}, None)) == []
    cloudfront.tenants["dt_1"] = hidden
    tried.settle()
    assert "d000.example.com" not in cloudfront.tenants["dt_1"].domains


def test_a_domain_is_not_moved_by_what_was_found_a_while_ago():
    cloudfront = sources(1)
    tried = taking(cloudfront, ["www.example.com"], "dt_1")
    tried.settle()
    looked = searching(cloudfront, tried.memory, Mover(tried.mr, "cluster-1"))
    list(looked.sources({"d000.example.com"}, None))
    cloudfront.edit("dt_1", domains={"another.example.com": "active"})
    cloudfront.add(name="sales.x", domains={"d000.example.com": "active"}, tags={OWNER_TAG: "someone"})
    tried.edit(domains=["www.example.com", "d000.example.com"])
    assert MOVE not in tried.reconcile()
    assert tried.ready()[1] == "DomainConflict"


def test_no_source_is_looked_at_once_all_domains_are_found():
    cloudfront = sources(1)
    tried = taking(cloudfront, ["www.example.com"], "dt_1", *(f"dt_z{n}" for n in range(8)))
    tried.settle()
    tried.clock.advance(1801)
    tried.edit(domains=["www.example.com", "d000.example.com"])
    calls = tried.reconcile()
    assert calls.count(MOVE) == 1
    assert calls.count(GET_TENANT) <= 4


def test_moves_from_one_source_are_made_in_portions_too():
    wanted = [f"d{index:03}.example.com" for index in range(50)]
    cloudfront = FakeCloudFront()
    tags = {OWNER_TAG: "cluster-1/DistributionTenant/shop/x"}
    cloudfront.add(name="shop.s", domains=dict.fromkeys([*wanted, "own.example.com"], "active"), tags=tags)
    tried = taking(cloudfront, ["www.example.com", *wanted], "dt_1")
    assert [tried.reconcile().count(MOVE) for _ in range(5)] == [0, 20, 20, 10, 0]


def test_who_has_which_of_many_domains_is_looked_for_in_portions():
    cloudfront = holding("z.example.com")
    tried = world(cloudfront, [*(f"n{n:02}.example.com" for n in range(50)), "z.example.com"])
    calls = [tried.reconcile() for _ in range(3)]
    assert [each.count(BY_DOMAIN) for each in calls] == [20, 20, 11]
    assert "z.example.com is served by tenant other.one" in tried.error.message


@pytest.mark.parametrize("seconds", [12, 20, 40])
def test_all_sources_are_read_however_long_that_takes(seconds):
    wanted = [f"d{index:03}.example.com" for index in range(150)]
    cloudfront = sources(150)
    tried = taking(cloudfront, wanted, *cloudfront.tenants)
    for _ in range(16):
        mover = searching(cloudfront, tried.memory, Mover(tried.mr, "cluster-1"))
        list(mover.sources(set(wanted), None))
        tried.clock.advance(seconds)
    assert (mover.unread, len(mover.moves)) == (False, 150)


def test_what_was_read_of_sources_a_while_ago_is_read_again_in_portions():
    wanted = [f"d{index:03}.example.com" for index in range(30)]
    cloudfront = sources(30)
    tried = taking(cloudfront, wanted, *cloudfront.tenants)
    reads = []
    for _ in range(12):
        before = len(cloudfront.journal)
        mover = searching(cloudfront, tried.memory, Mover(tried.mr, "cluster-1"))
        list(mover.sources(set(wanted), None))
        tried.clock.advance(301)
        reads.append(sorted(cloudfront.journal[before:]))
        cloudfront.edit("dt_1", domains={"another.example.com": "active"})
    assert all(len(each) <= 20 for each in reads), reads
    assert "d000.example.com" not in mover.moves
    assert len(mover.moves) == 29


def test_drained_sources_keep_no_move_from_the_others():
    wanted = [f"d{index:03}.example.com" for index in range(40)]
    cloudfront = sources(40)
    tried = taking(cloudfront, ["www.example.com"], *cloudfront.tenants)
    tried.settle()
    tried.edit(domains=["www.example.com", *wanted])
    for _ in range(8):
        tried.reconcile()
        tried.clock.advance(301)
    assert cloudfront.journal.count(MOVE) == 40


def test_sources_that_may_not_be_read_hold_nothing_up():
    tried = taking(FakeCloudFront(), ["www.example.com"], *absent(35))
    tried.cloudfront.refuse[GET_TENANT] = AwsError(GET_TENANT, "AccessDenied", "no", status=403)
    mover = searching(tried.cloudfront, tried.memory, Mover(tried.mr, "cluster-1"))
    assert list(mover.sources({"www.example.com"}, None)) == []
    assert (mover.unread, mover.permitted.denied) == (False, (GET_TENANT,))
    assert tried.cloudfront.journal.count(GET_TENANT) == 10


def test_a_problem_that_two_checks_find_is_told_once():
    twice = Problem(Reason.DOMAIN_CONFLICT, "a.example.com is served by another tenant")
    assert Result((twice, Problem(Reason.INVALID_SPEC, "no"), twice)).message == f"{twice.message}; no"
