"""Creations whose answer is lost, by the runtime's own reconciler over the wire: nothing is left behind."""

from __future__ import annotations

from datetime import timedelta

import pytest
from botocore.config import Config

from edgetenants_runtime.clock import Stopwatch, SystemClock, pause
from edgetenants_runtime.managed import ManagedKind
from edgetenants_runtime.testing import World
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.clients.connector import GroupConnector, TenantConnector
from tests.contract.emulated import config
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import FOR_PROVIDER, managed

GROUP, VERSION = "cloudfront.m.edgetenants.io", "v1alpha1"
TENANTS = ManagedKind(GROUP, VERSION, "DistributionTenant", "distributiontenants", namespaced=True)
GROUPS = ManagedKind(GROUP, VERSION, "ConnectionGroup", "connectiongroups", namespaced=True)
ASKED = {**FOR_PROVIDER, "domains": ["acme.example.com"]}


class Configs:
    def __init__(self, url):
        self.url = url

    def resolve(self, mr):
        return config(self.url)

    def report(self, config, fields): ...


@pytest.fixture
def impatient(aws, monkeypatch):
    """The provider's own clients, which listen for a second only."""
    settings = Config(
        connect_timeout=5, read_timeout=1, retries={"mode": "standard", "total_max_attempts": 1}
    )
    monkeypatch.setattr("provider.cloudfront.account.sessions._settings", lambda: settings)
    return aws


class Provider:
    """One managed resource, and a provider to restart."""

    def __init__(self, aws, kind):
        self.aws, self.kind = aws, kind
        self.operation = f"Create{kind.kind}"
        connector, obj = (
            (TenantConnector, managed(ASKED)) if kind is TENANTS else (GroupConnector, manifest())
        )
        obj["metadata"]["resourceVersion"] = "1"
        accounts = Accounts(aws.clock)
        self.world = World(obj, kind, connector(Configs(aws.url), accounts, installation="cluster-1"))

    def reconcile(self):
        self.aws.clock.advance(700)
        self.world.reconcile()

    def later(self, seconds):
        self.world.time += timedelta(seconds=seconds)

    @property
    def there(self):
        state = self.aws.admin("GET", "state")
        groups = [g for g in state["connectionGroups"] if not g.get("IsDefault")]
        return [each["Name"] for each in (state["tenants"] if self.kind is TENANTS else groups)]

    @property
    def gone(self):
        return self.world.mr is None

    def ends(self):
        for _ in range(8):
            self.reconcile()
            self.aws.deploy()
            self.later(60)
        assert self.gone
        assert self.there == []


both = pytest.mark.parametrize("kind", [TENANTS, GROUPS], ids=["tenant", "group"])


@both
@pytest.mark.parametrize("restarts", [False, True])
def test_a_call_that_goes_on_after_our_time_out_leaves_nothing_behind(impatient, kind, restarts):
    aws, made = impatient, Provider(impatient, kind)
    fault = aws.fault(made.operation, action="hold")
    made.reconcile()
    assert made.there == []
    made.world.delete()
    if restarts:
        made.world.restart()
    made.later(110)
    made.reconcile()
    assert not made.gone, "it may still be made"
    aws.admin("DELETE", f"faults/{fault}")
    elapsed = Stopwatch()
    while not made.there:
        assert elapsed.elapsed() < 10, "the call has had no effect"
        pause(SystemClock(), 0.02)
    made.ends()


@both
@pytest.mark.parametrize("lost", [{"action": "reset", "when": "after"}, {"action": "fail", "status": 500}])
def test_a_later_refusal_says_nothing_of_an_answer_that_was_lost(impatient, kind, lost):
    aws, made = impatient, Provider(impatient, kind)
    if lost["action"] == "reset":
        # The tenant is made, and is not to be seen at first.
        aws.fault(f"Get{kind.kind}", action="fail", nth=2, code="EntityNotFound", status=404)
    aws.fault(made.operation, **lost)
    made.reconcile()
    aws.fault(made.operation, code="AccessDenied", status=403)
    made.reconcile()
    made.world.delete()
    aws.fault(f"Get{kind.kind}", action="fail", code="EntityNotFound", status=404)
    made.reconcile()
    assert not made.gone, "the first may still be made"
    made.later(120)
    made.ends()


@both
def test_what_is_clearly_refused_does_not_wait(impatient, kind):
    aws, made = impatient, Provider(impatient, kind)
    aws.fault(made.operation, code="AccessDenied", status=403, every=True)
    made.reconcile()
    made.reconcile()
    made.world.delete()
    made.reconcile()
    assert made.gone


@both
def test_a_creation_is_sent_once_where_its_connection_breaks(impatient, kind):
    aws, made = impatient, Provider(impatient, kind)
    aws.admin("DELETE", "calls")
    aws.fault(made.operation, action="reset", when="after")
    made.reconcile()
    assert aws.journal.count(made.operation) == 1
    made.reconcile()
    assert len(made.there) == 1
    made.world.delete()
    made.later(120)
    made.ends()
