"""What AWS allows, as provider configs say it, and the warnings before it is used up."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.quota.allowances import Allowances, Allowed
from provider.cloudfront.quota.limits import Quota
from provider.cloudfront.quota.quotas import Quotas
from tests.unit.provider.cloudfront.quota.account import WORDS, waiting

TENANTS, GROUPS = Quota.TENANTS, Quota.GROUPS
SHARED = ProviderConfigKey("ClusterProviderConfig", "default", "")
OTHER = ProviderConfigKey("ProviderConfig", "legacy", "")
TEAM = ProviderConfigKey("ProviderConfig", "aws", "shop")
BANK = ProviderConfigKey("ProviderConfig", "aws", "bank")
DAY = 24 * 3600.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def allowances(clock) -> Allowances:
    return Allowances(clock)


def number(allowances: Allowances) -> int:
    return allowances.of_account(TENANTS).number


def test_without_a_word_it_is_what_aws_publishes(allowances):
    assert allowances.of_account(TENANTS) == Allowed(10_000, is_default=True)
    assert allowances.of_account(GROUPS) == Allowed(100, is_default=True)


def test_the_lowest_of_the_clusters_configs_counts_even_above_the_default(allowances):
    allowances.allow("u1", SHARED, {TENANTS: 30_000})
    allowances.allow("u2", OTHER, {TENANTS: 20_000})
    assert allowances.of_account(TENANTS) == Allowed(20_000, is_default=False)
    assert allowances.of_account(GROUPS).is_default
    assert allowances.of_config(TENANTS, str(SHARED)).config == str(OTHER), "the one that says it"
    allowances.forget("u2")
    assert number(allowances) == 30_000
    assert allowances.of_account(TENANTS).config == str(SHARED)


def test_a_team_lowers_and_raises_nothing_for_others(allowances):
    allowances.allow("u1", SHARED, {TENANTS: 20_000})
    for tiny_or_large in (1, 50_000):
        allowances.allow("u2", TEAM, {TENANTS: tiny_or_large})
        assert number(allowances) == 20_000
        assert allowances.of_config(TENANTS, str(SHARED)).number == 20_000
    assert allowances.of_config(TENANTS, str(TEAM)).number == 20_000
    allowances.allow("u2", TEAM, {TENANTS: 1})
    assert allowances.of_config(TENANTS, str(TEAM)).number == 1
    assert allowances.of_config(TENANTS, str(TEAM)).config == str(TEAM)


def test_a_team_does_not_count_beside_a_shared_config_that_says_nothing(allowances):
    allowances.allow("u1", SHARED, {})
    allowances.allow("u2", TEAM, {TENANTS: 1})
    assert number(allowances) == 10_000


def test_a_team_without_a_shared_config_does_not_count_for_the_account(allowances):
    allowances.allow("u1", TEAM, {TENANTS: 1})
    assert number(allowances) == 10_000, "a shared one may not have been opened yet"
    allowances.allow("u1", TEAM, {TENANTS: 20_000})
    allowances.allow("u2", BANK, {TENANTS: 1})
    assert number(allowances) == 10_000
    assert allowances.of_config(TENANTS, str(TEAM)).number == 20_000


def test_what_is_of_another_account_counts_no_more(allowances):
    allowances.allow("u1", SHARED, {TENANTS: 20})
    allowances.forget("u1")
    assert number(allowances) == 10_000
    allowances.forget("never seen")


def test_a_config_that_is_unknown_has_what_the_account_has(allowances):
    allowances.allow("u1", SHARED, {TENANTS: 20})
    assert allowances.of_config(TENANTS, "ProviderConfig x/y").number == 20


def test_a_change_for_the_account_is_told(allowances):
    assert allowances.allow("u1", SHARED, {TENANTS: 20}) == {TENANTS}
    assert allowances.allow("u1", SHARED, {TENANTS: 20}) == set()
    assert allowances.allow("u1", SHARED, {TENANTS: 30, GROUPS: 7}) == {TENANTS, GROUPS}
    assert allowances.allow("u2", TEAM, {TENANTS: 1}) == set()


class TestWarnings:
    def warned(self, allowances, used, uid="u1", quota=TENANTS):
        return allowances.warn(uid, quota, used) is not None

    @pytest.fixture(autouse=True)
    def shared(self, allowances):
        allowances.allow("u1", SHARED, {TENANTS: 100})

    def test_at_nine_tenths_once(self, allowances):
        assert [self.warned(allowances, used) for used in (0, 89, 90, 91, 90, 100, 101)] == [
            False,
            False,
            True,
            False,
            False,
            False,
            False,
        ]

    def test_not_again_until_it_was_clearly_less_and_a_day_has_passed(self, allowances, clock):
        assert self.warned(allowances, 90)
        clock.advance(3 * DAY)
        assert [self.warned(allowances, used) for used in (89, 90, 85, 90)] == [False] * 4
        assert [self.warned(allowances, used) for used in (84, 90)] == [False, True]
        assert [self.warned(allowances, used) for used in (84, 90, 84, 90)] == [False] * 4
        clock.advance(DAY)
        assert self.warned(allowances, 90)

    def test_what_is_unknown_warns_of_nothing(self, allowances):
        assert not self.warned(allowances, None)
        assert not self.warned(allowances, 100, uid="unknown")

    def test_each_quota_has_its_own(self, allowances):
        assert self.warned(allowances, 90)
        assert self.warned(allowances, 90, quota=GROUPS)
        assert not self.warned(allowances, 91, quota=GROUPS)

    def test_beside_a_shared_config_a_team_has_none_but_its_own(self, allowances):
        allowances.allow("u2", TEAM, {})
        assert not self.warned(allowances, 95, uid="u2")
        allowances.allow("u3", BANK, {TENANTS: 10})
        assert self.warned(allowances, 9, uid="u3")
        assert not self.warned(allowances, 9), "the shared one"

    def test_a_team_with_its_own_account_has_them(self, allowances):
        allowances.forget("u1")
        allowances.allow("u2", TEAM, {})
        assert self.warned(allowances, 9_000, uid="u2")

    def test_a_config_that_is_opened_again_does_not_warn_again(self, allowances):
        assert self.warned(allowances, 90)
        allowances.allow("u1", SHARED, {TENANTS: 100})
        assert not self.warned(allowances, 90)


class TestQuotas:
    """The parts together."""

    @pytest.fixture
    def woken(self) -> list[str]:
        return []

    @pytest.fixture
    def quotas(self, clock, woken) -> Quotas:
        return Quotas(clock, lambda called: woken.extend(each.uid for each in called))

    def refuse(self, quotas, *which):
        for who in which:
            assert quotas.ask(TENANTS, who).seconds == 0
        for who in which:
            quotas.refused(TENANTS, who, WORDS)
            quotas.done(TENANTS, who.uid)

    def test_the_warning_has_the_numbers_and_what_to_do(self, quotas):
        quotas.allow("u1", SHARED, {TENANTS: 100})
        quotas.counted(95, 90, 60.0)
        what_to_do = (
            "Request an increase in Service Quotas before AWS refuses new ones, or delete what is not needed"
        )
        assert list(quotas.warnings("u1")) == [
            f"The AWS account has 95 of 100 distribution tenants (what spec.quotas says). {what_to_do}",
            f"The AWS account has 90 of 100 connection groups (AWS's default). {what_to_do}",
        ]
        assert list(quotas.warnings("u1")) == []

    def test_all_configs_are_looked_at_once_until_something_changes(self, quotas, clock):
        looks = []
        warn = quotas.allowances.warn
        quotas.allowances.warn = lambda *asked: looks.append(asked) or warn(*asked)

        def number(uid="u1"):
            del looks[:]
            quotas.warnings(uid)
            return len(looks)

        quotas.allow("u1", SHARED, {TENANTS: 100})
        quotas.counted(5, 5, 60.0)
        assert [number(), number(), number("u2"), number("u2")] == [3, 0, 3, 0]
        quotas.counted(95, 5, 60.0)
        assert [number(), number()] == [3, 0]
        quotas.allow("u2", SHARED, {})
        assert [number(), number()] == [3, 0]
        quotas.forget_config("u2")
        assert [number(), number()] == [3, 0]
        clock.advance(3600)
        assert [number(), number()] == [3, 0]

    def test_what_a_config_says_while_another_one_is_warned_counts(self, quotas):
        quotas.allow("u1", SHARED, {TENANTS: 1000})
        quotas.counted(95, 5, 60.0)
        warn = quotas.allowances.warn

        def slow(*asked):
            found = warn(*asked)
            if asked[1] == TENANTS:
                quotas.allowances.warn = warn
                quotas.allow("u2", SHARED, {TENANTS: 100})
            return found

        quotas.allowances.warn = slow
        assert quotas.warnings("u1") == []
        assert len(quotas.warnings("u1")) == 1

    def test_the_readings_are_what_is_known(self, quotas):
        quotas.counted(3, None, 60.0)
        self.refuse(quotas, waiting("shop", 0), waiting("bank", 1))
        read = [(each.quota, each.used, each.allowed, each.waiting) for each in quotas.readings()]
        assert read == [
            ("tenants", 3, 10_000, 2),
            ("connection_groups", None, 100, 0),
            ("certificates", None, 2_500, None),
        ]

    def test_a_number_counts_for_ten_intervals(self, quotas, clock):
        quotas.counted(3, 4, 60.0)
        clock.advance(600.0)
        assert [each.used for each in quotas.readings()] == [3, 4, None]
        clock.advance(1.0)
        assert [each.used for each in quotas.readings()] == [None, None, None]

    def test_room_wakes_the_first_one(self, quotas, woken):
        self.refuse(quotas, waiting("shop", 0), waiting("bank", 1))
        woken.clear()
        quotas.released(GROUPS)
        assert woken == [], "another quota"
        quotas.released(TENANTS)
        assert woken == ["shop-0000"]

    def test_an_administrators_number_wakes_the_first_one(self, quotas, woken):
        self.refuse(quotas, waiting("shop", 0), waiting("bank", 1))
        woken.clear()
        quotas.allow("u2", TEAM, {TENANTS: 5})
        assert woken == [], "a team wakes none"
        quotas.allow("u1", SHARED, {TENANTS: 20_000})
        assert woken[0] == "shop-0000"

    def test_one_that_leaves_wakes_the_next(self, quotas, woken):
        self.refuse(quotas, waiting("shop", 0), waiting("shop", 2), waiting("bank", 3))
        quotas.released(TENANTS)
        assert woken[0] == "shop-0000"
        woken.clear()
        quotas.left("shop-0000")
        assert woken == ["shop-0002"]
