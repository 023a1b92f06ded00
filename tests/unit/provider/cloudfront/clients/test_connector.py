"""The connector: the account of the provider config, and what forbids writing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import structlog

from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from edgetenants_runtime.testing import FakeObjects, Journal
from edgetenants_runtime.testing.world import World as RuntimeWorld
from provider import main
from provider.cloudfront.account import sessions
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.clients.connector import TenantConnector
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.rehearsal.dry_run import DryRunClient
from provider.cloudfront.state.identity import OWNER_TAG
from provider.records.config_maps import DomainRecords
from provider.records.use import Looks
from tests.unit.provider.cloudfront.account.test_sessions import CALLER, config
from tests.unit.provider.fake_cloudfront import ACCOUNT, FakeCloudFront
from tests.unit.provider.world import INSTALLATION, TODAY, managed


class Configs:
    def __init__(self, **spec):
        self.spec = spec

    def resolve(self, mr):
        return config(**self.spec)

    def report(self, config, fields):
        self.reported = fields


@pytest.mark.parametrize(
    ("spec", "flags", "annotations", "frozen"),
    [
        ({}, {}, {}, ""),
        ({"writes": "Frozen"}, {}, {}, "spec.writes of ClusterProviderConfig default is Frozen"),
        ({}, {"read_only": True}, {}, "the provider runs with --read-only"),
        ({}, {}, {"edgetenants.io/dry-run": "true"}, "the annotation edgetenants.io/dry-run is set"),
        ({}, {}, {"edgetenants.io/dry-run": "false"}, ""),
    ],
)
def test_what_forbids_writing_is_said(monkeypatch, spec, flags, annotations, frozen):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    configs = Configs(**spec)
    connector = TenantConnector(configs, sessions.Accounts(FakeClock()), installation="i", **flags)
    client = inner(connector.connect(Managed(managed(annotations=annotations))))
    assert client._policy.frozen == frozen
    assert client._account.id == CALLER.account
    assert configs.reported == {
        "accountId": CALLER.account,
        "callerArn": CALLER.arn,
        "tenantLists": None,
    }


def test_a_quota_that_is_nearly_used_up_is_an_event_of_the_config_once(monkeypatch):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    warned, configs = [], Configs(quotas={"tenants": 100})
    configs.warn = lambda config, message: warned.append((str(config.key), message[:50]))
    accounts = sessions.Accounts(FakeClock())
    connector = TenantConnector(configs, accounts, installation="i")
    connector.connect(Managed(managed()))
    assert warned == []
    accounts.opened("u1").memory.quotas.counted(90, None, 60.0)
    for _ in range(3):
        connector.connect(Managed(managed()))
    assert warned == [("ClusterProviderConfig default", "The AWS account has 90 of 100 distribution tenants")]


def test_the_config_of_another_resource_holds_its_tenant(monkeypatch):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    given = {"installation": "i", "config_of": lambda mr: {"spec": {"writes": mr.external_name}}}
    client = inner(
        TenantConnector(Configs(), sessions.Accounts(FakeClock()), **given).connect(Managed(managed()))
    )
    held, free = (
        Managed(managed(annotations={"crossplane.io/external-name": writes}))
        for writes in ("Frozen", "Enabled")
    )
    assert "is Frozen" in client._checks.hold(held)
    assert client._checks.hold(free) == ""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ExpiredToken", "AccessDenied"),
        ("Credentials", "AccessDenied"),
        ("Endpoint", "AWSError"),
        ("TLS", "AWSError"),
        ("Throttling", "Throttled"),
    ],
)
def test_credentials_and_endpoints_that_fail_are_told_on_what_does_not_serve(monkeypatch, code, reason):
    def refused(_):
        raise AwsError("GetCallerIdentity", code, "words")

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", refused)
    connector = TenantConnector(Configs(), sessions.Accounts(FakeClock()), installation="i")
    for _ in range(2):
        with pytest.raises(ExternalError, match=f"{code}: words") as caught:
            connector.connect(Managed(managed()))
        assert [(c.type, str(c.status), c.reason) for c in caught.value.conditions] == [
            ("Ready", "False", reason)
        ], "and so the second time, when it is not asked again"
    with pytest.raises(ExternalError) as caught:
        connector.connect(Managed(SERVING))
    assert caught.value.conditions == (), "it serves all the same"


def test_one_resource_takes_nothing_from_what_the_others_are_told(monkeypatch):
    def refused(_):
        raise AwsError("GetCallerIdentity", "ExpiredToken", "words")

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", refused)
    connector = TenantConnector(Configs(), sessions.Accounts(FakeClock()), installation="i")
    told = []
    for obj in (SERVING, managed(uid="2"), SERVING, managed(uid="3")):
        with pytest.raises(ExternalError) as caught:
            connector.connect(Managed(obj))
        told.append([c.reason for c in caught.value.conditions])
    assert told == [[], ["AccessDenied"], [], ["AccessDenied"]]


AVAILABLE = {"reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z"}
SERVING = {**managed(), "status": {"conditions": [{"type": "Ready", "status": "True", **AVAILABLE}]}}


def inner(client):
    """The client of tenants under what stands around it."""
    while not isinstance(client, TenantClient):
        client = getattr(client, "_watching", None) or client._client
    return client


@pytest.mark.parametrize(
    ("namespace", "endpoint", "others", "recording"),
    [
        ("", None, (), True),
        ("", None, ("https://staging.test",), True),
        ("", "https://aws.test", ("https://AWS.test/",), True),
        ("", "https://staging.test", ("https://staging.test", None), False),
        ("", "https://staging.test", None, False),
        ("", "https://staging.test", ("https://staging.test", "https://aws.test"), False),
        ("team", None, (), True),
        ("team", "https://x.test", (), False),
        ("team", "https://abc.execute-api.us-east-1.amazonaws.com", (), False),
        ("team", "https://x.test", ("https://x.test",), False),
    ],
)
def test_what_answers_at_an_endpoint_that_may_not_be_aws_proves_nothing(
    monkeypatch, namespace, endpoint, others, recording
):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    spec = {"endpoint": {"url": endpoint}} if endpoint else {}
    found = replace(config(**spec), key=ProviderConfigKey("ProviderConfig", "own", namespace))
    configs = Configs()
    configs.resolve = lambda _: found
    kept = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(FakeClock(), 60))
    connector = TenantConnector(
        configs,
        sessions.Accounts(FakeClock()),
        installation="i",
        kept=kept,
        shared_configs=lambda: (
            None
            if others is None
            else [{"spec": {"endpoint": {"url": url}} if url else {}} for url in others]
        ),
    )
    client = inner(connector.connect(Managed(managed())))
    assert client._cluster.kept.recording is recording


@pytest.mark.parametrize(
    ("other", "recording"),
    [
        ({"credentials": {"source": "None"}, "dns": {"rfc2136": {"server": "ns1.example.net"}}}, True),
        ({"credentials": {"source": "None"}, "webIdentity": {"roleARN": "arn:aws:iam::1:role/r"}}, False),
        ({"credentials": {"source": "None"}, "endpoint": {"url": "https://other.test"}}, False),
        ({"credentials": {"source": "InjectedIdentity"}}, False),
        ({}, False),
    ],
)
def test_a_config_that_only_has_dns_servers_says_of_no_domain_who_has_it(monkeypatch, other, recording):
    """Beside it, the endpoint of all other configs stays the only place where a domain is unique."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    spec = {"endpoint": {"url": "https://aws.test"}}
    configs = Configs()
    configs.resolve = lambda _: replace(config(**spec), key=ProviderConfigKey("ProviderConfig", "own", ""))
    kept = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(FakeClock(), 60))
    connector = TenantConnector(
        configs,
        sessions.Accounts(FakeClock()),
        installation="i",
        kept=kept,
        shared_configs=lambda: [{"spec": spec}, {"spec": other}],
    )
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            client = inner(connector.connect(Managed(managed())))
    assert client._cluster.kept.recording is recording
    told = [each for each in logs if "are not kept" in each["event"]]
    assert len(told) == (0 if recording else 1), "an administrator is told, once"


def test_a_dry_run_records_nothing(monkeypatch):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    kept = DomainRecords(FakeObjects(Journal()), "crossplane-system", Looks(FakeClock(), 60))
    connector = TenantConnector(Configs(), sessions.Accounts(FakeClock()), installation="i", kept=kept)
    dry = connector.connect(Managed(managed(annotations={"edgetenants.io/dry-run": "true"})))
    while not isinstance(dry, DryRunClient):
        dry = dry._client
    assert [c._cluster.kept.recording for c in (dry._watching, dry._acting)] == [False, False]
    mr = Managed(managed(uid="looked at"))
    dry._acting._cluster.kept.looked(mr, frozenset({"made.up.example.com"}))
    assert kept._looks._looks == {}, "what is rehearsed is not so"
    dry._watching._cluster.kept.on_hold(mr)
    assert kept._looks._on_hold == {}, "an annotation keeps no domain for ever"
    dry._watching._cluster.kept.looked(mr, frozenset({"acme.example.com"}))
    assert kept._looks.uses([mr]).is_held("shop", "acme.example.com"), "for days, if it takes so long"


def test_a_successor_that_waits_and_is_deleted_leaves_no_tenant(monkeypatch):
    """Its predecessor is released meanwhile: what stands around the client passes on that a tenant exists."""
    clock, cloudfront, name = FakeClock(), FakeCloudFront(), "shop.acme"
    owner = f"{INSTALLATION}/DistributionTenant/shop/{name}"
    id_ = cloudfront.add(name=name, tags={OWNER_TAG: owner}).id
    older = managed(uid="older", created="2025-01-01T00:00:00Z")
    older["metadata"] |= {"name": "before", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    peers = [Managed({**older, "status": {"atProvider": {"id": id_}}})]
    accounts = sessions.Accounts(clock)
    connector = TenantConnector(Configs(), accounts, installation=INSTALLATION, peers=lambda *_: peers)
    memory = AccountMemory(clock, today=lambda: TODAY)
    account = SimpleNamespace(
        cloudfront=cloudfront,
        memory=memory,
        id=ACCOUNT,
        caller_arn="arn",
        frozen=False,
        rehearsals=memory,
        swept=None,
    )
    monkeypatch.setattr(connector, "_account", lambda *_: account)
    mine = managed()
    mine["metadata"]["resourceVersion"] = "1"
    world = RuntimeWorld(mine, main.managed_kind(main.TREES[0].tenant), connector)
    world.reconcile()
    assert FINALIZER in world.mr.finalizers
    world.delete()
    peers.clear()
    for _ in range(8):
        if world.mr is None:
            break
        world.reconcile()
        clock.advance(60)
        cloudfront.deploy()
    assert not cloudfront.tenants
    assert world.mr is None


def test_the_account_is_reported_before_the_work_is_left_to_another_process(monkeypatch):
    """The status leads the other process to the config."""
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    configs = Configs()
    connector = TenantConnector(
        configs, sessions.Accounts(FakeClock(), mine=lambda _: False), installation="i"
    )
    with pytest.raises(StandDown):
        connector.connect(Managed(managed()))
    assert configs.reported["accountId"] == CALLER.account


def test_an_unknown_account_with_shards_is_told(monkeypatch):
    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", lambda _: CALLER)
    monkeypatch.setattr(sessions, "_caller", lambda *_: None)
    connector = TenantConnector(
        Configs(), sessions.Accounts(FakeClock(), mine=lambda _: True), installation="i"
    )
    with pytest.raises(ExternalError, match="with --shards, the account decides"):
        connector.connect(Managed(managed()))
