"""What is counted of AWS, and what is read at a scrape."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.metrics import Gauges, Instruments
from provider.cloudfront.clients.metrics import MetricsClient
from provider.cloudfront.quota.limits import Quota
from provider.cloudfront.quota.quotas import Reading
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import ACCOUNT
from tests.unit.provider.world import World, managed


@pytest.fixture
def registry():
    return CollectorRegistry()


class MeasuredWorld(World):
    def __init__(self, registry, obj=None):
        self.instruments = Instruments(registry)
        super().__init__(obj)

    @property
    def client(self):
        return MetricsClient(super().client, self.instruments.tenants, ACCOUNT, self.clock)


def value(registry, name, **labels):
    return registry.get_sample_value(f"edgetenants_aws_{name}", labels)


def test_calls_are_counted_by_operation_outcome_and_account(registry):
    calls = Instruments(registry).calls
    calls.answered(ACCOUNT, "cloudfront", "TagResource", None, 0.3)
    calls.answered(
        ACCOUNT, "cloudfront", "TagResource", AwsError("TagResource", "Throttling", "", status=400), 0.1
    )
    calls.answered(ACCOUNT, "cloudfront", "TagResource", AwsError("TagResource", "Novel", ""), 0.1)
    of = {"account": ACCOUNT, "operation": "cloudfront:TagResource"}
    for outcome in ("ok", "throttled", "terminal"):
        assert value(registry, "request_duration_seconds_count", **of, outcome=outcome) == 1
    assert value(registry, "request_duration_seconds_sum", **of, outcome="ok") == 0.3
    assert value(registry, "errors_total", **of, code="Throttling") == 1
    assert value(registry, "errors_total", **of, code="other") == 1, (
        "codes of AWS make no labels of their own"
    )
    assert value(registry, "throttles_total", **of) == 1


def test_waiting_for_the_rate_is_counted(registry):
    calls = Instruments(registry).calls
    calls.held_back(ACCOUNT, "cloudfront", 0.0)
    calls.held_back(ACCOUNT, "cloudfront", 1.5)
    assert value(registry, "held_back_seconds_total", account=ACCOUNT, service="cloudfront") == 1.5


def test_drift_is_counted_once_and_when_it_is_repaired(registry):
    world = MeasuredWorld(registry)
    world.settle()
    world.cloudfront.edit("dt_1", enabled=False, parameters={"tenantName": "x"})
    for _ in range(3):
        world.reconcile()
    for field in ("enabled", "parameters"):
        of = {"account": ACCOUNT, "field": field}
        assert value(registry, "drift_found_total", **of) == 1
        assert value(registry, "drift_repaired_total", **of) == 1


def test_drift_that_stays_is_counted_once(registry):
    world = MeasuredWorld(registry, managed(driftPolicy="Report"))
    world.settle()
    world.cloudfront.edit("dt_1", enabled=False)
    for _ in range(3):
        world.reconcile()
    assert value(registry, "drift_found_total", account=ACCOUNT, field="enabled") == 1
    assert value(registry, "drift_repaired_total", account=ACCOUNT, field="enabled") is None


def test_a_change_of_the_spec_is_no_drift(registry):
    world = MeasuredWorld(registry)
    world.settle()
    world.edit(enabled=False)
    world.settle()
    assert value(registry, "drift_found_total", account=ACCOUNT, field="enabled") is None


def test_the_time_from_creation_to_ready_is_told_once(registry):
    world = MeasuredWorld(registry)
    world.cloudfront.deploys = False
    world.reconcile()
    world.clock.advance(42)
    world.settle()
    world.settle()
    assert value(registry, "tenant_creation_seconds_count", account=ACCOUNT) == 1
    assert value(registry, "tenant_creation_seconds_sum", account=ACCOUNT) == 42


class MeasuredGroups(Groups):
    def __init__(self, registry, **given):
        self.instruments = Instruments(registry)
        super().__init__(**given)

    @property
    def client(self):
        return MetricsClient(super().client, self.instruments.tenants, ACCOUNT, self.clock)


def test_a_connection_group_is_no_tenant_but_its_drift_counts(registry):
    world = MeasuredGroups(registry, for_provider={"enabled": True})
    world.settle()
    assert value(registry, "tenant_creation_seconds_count", account=ACCOUNT) is None
    assert world.instruments.tenants._created == {}
    group = world.group
    world.cloudfront.groups[group.id] = replace(group, enabled=False, etag="v9")
    world.settle()
    for what in ("found", "repaired"):
        assert value(registry, f"drift_{what}_total", account=ACCOUNT, field="enabled") == 1


def test_what_is_gone_is_forgotten(registry):
    world = MeasuredWorld(registry, managed(driftPolicy="Report"))
    world.settle()
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    world.delete()
    world.settle()
    tenants = world.instruments.tenants
    assert (tenants._drifting, tenants._created) == ({}, {})


EXPIRY = "2026-01-11T00:00:00Z", "2026-03-01T00:00:00Z", "2025-12-31T00:00:00Z"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def resource(reason, uid, **at_provider):
    condition = {"type": "Ready", "status": "True", "reason": reason, "lastTransitionTime": "x"}
    obj = managed({}, uid=uid)
    return Managed({**obj, "status": {"conditions": [condition], "atProvider": at_provider}})


def test_tenants_and_certificates_are_read_at_a_scrape(registry):
    looked = Instruments(registry).tenants
    for uid, (status, until) in enumerate(zip(("issued", "issued", "expired"), EXPIRY, strict=True)):
        looked.looked(ACCOUNT, f"u{uid}", {"status": status, "notAfter": until})
    looked.looked(ACCOUNT, "u3", {}, 2)
    looked.looked(ACCOUNT, "u1", {"status": "issued", "notAfter": EXPIRY[1]}, 1)
    resources = [resource("Available", f"u{uid}") for uid in range(3)]
    resources += [resource("Deploying", "u3"), Managed(managed())]
    registry.register(Gauges(lambda: resources, looked, lambda: {ACCOUNT: 3.5}, lambda: NEW_YEAR))
    assert value(registry, "tenants", account=ACCOUNT, state="Available") == 3
    assert value(registry, "tenants", account=ACCOUNT, state="Deploying") == 1
    assert value(registry, "tenants", account="unknown", state="Unknown") == 1
    assert value(registry, "certificates", account=ACCOUNT, state="issued") == 2
    assert value(registry, "certificate_days_left", account=ACCOUNT) == -1
    expiring = [value(registry, "certificates_expiring", account=ACCOUNT, days=str(d)) for d in (7, 14, 60)]
    assert expiring == [1, 2, 3]
    assert value(registry, "paused_seconds", account=ACCOUNT) == 3.5
    assert value(registry, "domains_without_proof", account=ACCOUNT) == 3
    assert b"edgetenants_aws_tenants{" in generate_latest(registry)
    resources.clear()
    registry.collect()
    assert generate_latest(registry).count(b"edgetenants_aws_certificates{") == 0
    assert looked._looks == {}, "a look is forgotten with its resource"


@pytest.mark.parametrize("of_the_next", [{}, {"notAfter": EXPIRY[1]}])
def test_the_end_of_the_attached_certificate_counts_while_another_is_to_replace_it(registry, of_the_next):
    looked = Instruments(registry).tenants
    looked.looked(ACCOUNT, "u0", {"status": "issued", "replaces": {"notAfter": EXPIRY[0]}, **of_the_next})
    resources = [resource("Available", "u0")]
    registry.register(Gauges(lambda: resources, looked, dict, lambda: NEW_YEAR))
    assert value(registry, "certificate_days_left", account=ACCOUNT) == 10


def test_a_forged_status_raises_no_alarm_and_makes_up_no_label(registry):
    forged = {
        "arn": "arn:aws:cloudfront::evil:x",
        "certificate": {"status": "evil", "notAfter": "0001-01-01"},
    }
    resources = [resource("Evil", "forged", **forged)]
    looked = Instruments(registry).tenants
    registry.register(Gauges(lambda: resources, looked, dict, lambda: NEW_YEAR))
    shown = generate_latest(registry).decode()
    looked.looked(ACCOUNT, "forged", {"status": "evil"})
    shown += generate_latest(registry).decode()
    assert "vil" not in shown
    assert value(registry, "certificates", account=ACCOUNT, state="other") == 1
    assert 'edgetenants_aws_tenants{account="unknown",state="other"} 1.0' in shown
    assert "edgetenants_aws_certificate_days_left{" not in shown


def test_the_certificate_that_is_shown_is_the_one_that_a_look_found(registry):
    world = MeasuredWorld(registry)
    world.settle()
    looks = world.instruments.tenants.looks({world.mr.uid})
    assert [look.account for look in looks.values()] == [ACCOUNT]
    world.cloudfront.tenants.clear()
    world.reconcile()
    assert world.instruments.tenants.looks({world.mr.uid})[world.mr.uid].certificate == ""


def test_the_quotas_of_an_account_are_shown_as_far_as_they_are_known(registry):
    readings = [Reading(Quota.TENANTS, 9_500, 10_000, 3), Reading(Quota.GROUPS, None, 100, 0)]
    registry.register(
        Gauges(list, Instruments(registry).tenants, dict, quotas=lambda: {ACCOUNT: tuple(readings)})
    )

    def shown(name):
        of = ("tenants", "connection_groups")
        return [value(registry, f"quota_{name}", account=ACCOUNT, quota=quota) for quota in of]

    assert shown("used") == [9_500, None]
    assert shown("allowed") == [10_000, 100]
    assert shown("waiting") == [3, 0]


def test_every_metric_is_documented(registry):
    registry.register(Gauges(list, Instruments(registry).tenants, dict))
    page = (Path(__file__).parents[5] / "docs/how-to/run-in-production.md").read_text()
    missing = [metric.name for metric in registry.collect() if metric.name not in page]
    assert missing == []
