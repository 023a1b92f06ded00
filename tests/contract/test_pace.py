"""A throttled account over the wire: one request, a pause for all its resources, and no one else's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.metrics import Instruments
from provider.cloudfront.aws.pacing.waiting_places import For, WaitingPlaces
from tests.contract.emulated import ACCOUNT, Emulated
from tests.contract.test_credentials import EDGE, config_with
from tests.unit.provider.world import World, managed


def other(aws: Emulated) -> World:
    obj = managed(
        {**managed()["spec"]["forProvider"], "domains": ["other.example.com"]},
        uid="other",
        annotations={"crossplane.io/external-name": "shop.other"},
    )
    return World(obj, aws)


def throttle(aws, operation="GetDistributionTenant", **more):
    aws.fault(operation, action="throttle", **more)


def test_one_throttled_answer_holds_back_all_resources_of_the_account(aws):
    serving, new = World(managed(), aws), other(aws)
    serving.settle()
    throttle(aws)
    assert serving.reconcile() == ["GetDistributionTenant"], "botocore does not try again by itself"
    assert isinstance(serving.error, ExternalError)
    assert serving.ready() == ("True", "Available")
    assert new.reconcile() == []
    assert isinstance(new.error, NotYet)
    assert 0 < new.error.after <= 1
    assert new.ready() == ("False", "Throttled")
    writes = serving.status_writes
    assert serving.reconcile() == []
    assert (serving.status_writes, serving.ready()) == (writes, ("True", "Available"))
    aws.clock.advance(new.error.after)
    new.settle()
    assert new.ready() == ("True", "Available")


def test_another_account_goes_on(aws):
    accounts = Accounts(aws.clock)
    one, two = accounts.of(config_with(aws, uid="a")), accounts.of(config_with(aws, EDGE, uid="b"))
    throttle(aws)
    with pytest.raises(AwsError, match="Throttling"):
        one.cloudfront.get_tenant("acme")
    with pytest.raises(AwsError, match="Paused"):
        one.cloudfront.get_tenant("acme")
    with pytest.raises(AwsError, match="EntityNotFound"):
        two.cloudfront.get_tenant("acme")
    assert accounts.pauses == {one.id: 1.0, EDGE: 0.0}


def test_all_accounts_share_the_places_for_calls_that_wait(aws):
    accounts = Accounts(aws.clock, workers=4, places=WaitingPlaces(4))
    one, two = accounts.of(config_with(aws, uid="a")), accounts.of(config_with(aws, EDGE, uid="b"))
    throttle(aws)
    with pytest.raises(AwsError, match="Throttling"):
        one.cloudfront.get_tenant("acme")
    assert two.pace._places.take(For.TURN)
    with pytest.raises(AwsError, match="Paused"):
        one.cloudfront.get_tenant("acme")


def test_two_configs_of_one_account_share_its_pace(aws):
    accounts = Accounts(aws.clock)
    one = accounts.of(config_with(aws, uid="a", rateLimits={"cloudfront": 3}))
    same = accounts.of(config_with(aws, uid="b", rateLimits={"cloudfront": 7}))
    assert one.pace is same.pace
    assert same.pace.rate("cloudfront") == 3
    accounts.of(config_with(aws, EDGE, uid="a", rateLimits={"cloudfront": 3}))
    assert same.pace.rate("cloudfront") == 7, (
        "a config that went to another account sets nothing here any more"
    )


def test_a_throttled_change_is_finished_after_the_pause(aws):
    world = World(managed(), aws)
    world.settle()
    world.edit(parameters={"tenantName": "b"}, tags={"stage": "live"})
    throttle(aws, "TagResource")
    calls = world.reconcile()
    assert calls[-2:] == ["UpdateDistributionTenant", "TagResource"]
    world.settle()
    (tenant,) = aws.tenants
    assert aws.calls.tags(tenant["Arn"])["stage"] == "live"


def test_a_lost_connection_is_tried_again_once_and_calls_are_counted(aws):
    registry = CollectorRegistry()
    account = Accounts(aws.clock, Instruments(registry)).of(config_with(aws, ACCOUNT))
    of = {"account": ACCOUNT, "operation": "cloudfront:GetDistributionTenant"}
    aws.admin("DELETE", "calls")
    aws.fault("GetDistributionTenant", action="reset")
    with pytest.raises(AwsError, match="EntityNotFound"):
        account.cloudfront.get_tenant("acme")
    assert aws.journal == ["GetDistributionTenant"] * 2
    aws.fault("GetDistributionTenant", action="reset", every=True)
    with pytest.raises(AwsError, match="Endpoint"):
        account.cloudfront.get_tenant("acme")
    aws.admin("DELETE", "faults")
    throttle(aws)
    with pytest.raises(AwsError, match="Throttling"):
        account.cloudfront.get_tenant("acme")
    counted = {
        code: registry.get_sample_value("edgetenants_aws_errors_total", {**of, "code": code})
        for code in ("EntityNotFound", "Endpoint", "Throttling")
    }
    assert counted == dict.fromkeys(counted, 1.0)
    assert registry.get_sample_value("edgetenants_aws_throttles_total", of) == 1


def test_an_endpoint_that_is_not_there_and_one_without_tls_are_told(aws):
    accounts = Accounts(aws.clock)
    nowhere = config_with(aws, endpoint={"url": "http://127.0.0.1:9"})
    with pytest.raises(ExternalError, match="Endpoint: Could not connect"):
        accounts.of(nowhere)
    plain = config_with(aws, uid="tls", endpoint={"url": aws.url.replace("http://", "https://")})
    with pytest.raises(ExternalError, match="TLS: SSL validation failed"):
        accounts.of(plain)


def test_a_config_of_a_namespace_does_not_slow_down_the_account(aws):
    accounts = Accounts(aws.clock)
    platform = accounts.of(config_with(aws, uid="a", rateLimits={"cloudfront": 7, "acm": 8}))
    slow = config_with(aws, uid="b", rateLimits={"cloudfront": 0.1, "acm": 0.1})
    team = accounts.of(replace(slow, key=ProviderConfigKey("ProviderConfig", "slow", "team")))
    assert team.pace is platform.pace
    assert (platform.pace.rate("cloudfront"), platform.pace.rate("acm")) == (7, 8)


def test_a_config_of_a_namespace_lowers_its_own_share(aws):
    accounts = Accounts(aws.clock)
    platform = accounts.of(config_with(aws, uid="a"))
    slow = config_with(aws, uid="b", rateLimits={"cloudfront": 0.1})
    team = accounts.of(replace(slow, key=ProviderConfigKey("ProviderConfig", "slow", "team")))
    with pytest.raises(AwsError, match="EntityNotFound"):
        team.cloudfront.get_tenant("acme")
    with pytest.raises(AwsError, match=r"at most 0\.1 requests per second to cloudfront with this Provider"):
        team.cloudfront.get_tenant("acme")
    for _ in range(10):
        with pytest.raises(AwsError, match="EntityNotFound"):
            platform.cloudfront.get_tenant("acme")


def test_a_config_that_is_gone_slows_down_nobody_any_more(aws):
    accounts = Accounts(aws.clock)
    slow = config_with(aws, uid="a", rateLimits={"cloudfront": 0.5, "acm": 0.5})
    kept = accounts.of(config_with(aws, uid="b", rateLimits={"cloudfront": 7}))
    accounts.of(slow)
    assert kept.pace.rate("cloudfront") == 0.5
    accounts.gone("a")
    assert (kept.pace.rate("cloudfront"), kept.pace.rate("acm")) == (7, 5)
    accounts.of(slow)
    assert kept.pace.rate("cloudfront") == 7, "a reconcile that had found it before it went"
    accounts.gone("never opened")
    aws.clock.advance(301)
    accounts.of(slow)
    assert kept.pace.rate("cloudfront") == 0.5, "it is back: only a cache was emptied"


def test_one_that_is_made_anew_under_its_name_counts(aws):
    accounts = Accounts(aws.clock)
    accounts.of(config_with(aws, uid="a", rateLimits={"cloudfront": 2}))
    accounts.gone("a")
    again = accounts.of(config_with(aws, uid="again", rateLimits={"cloudfront": 3}))
    assert again.pace.rate("cloudfront") == 3
