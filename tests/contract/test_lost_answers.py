"""Creations whose answer is lost, by the runtime's own reconciler over the wire: nothing is left behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from botocore.config import Config

from edgetenants_runtime.clock import Stopwatch, SystemClock, pause
from edgetenants_runtime.rules import meta
from edgetenants_runtime.testing import Killed, World
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.clients.connector import GroupConnector, TenantConnector
from provider.cloudfront.state.observed import account_of
from provider.main import TREES, managed_kind
from tests.contract.emulated import ACCOUNT, config
from tests.contract.test_credentials import keys
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import FOR_PROVIDER, managed

TENANTS, GROUPS = managed_kind(TREES[0].tenant), managed_kind(TREES[0].group)
ASKED = {**FOR_PROVIDER, "domains": ["acme.example.com"]}
OTHER = "222233334444"


class Configs:
    def __init__(self, url):
        self.resolved = config(url)

    def resolve(self, mr):
        return self.resolved

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
        self.configs = Configs(aws.url)
        self._connect = lambda: connector(self.configs, Accounts(aws.clock), installation="cluster-1")
        self.world = World(obj, kind, self._connect())

    def reconcile(self):
        self.aws.clock.advance(700)
        self.world.reconcile()

    def sends(self, fault):
        """Reconcile until the call is sent that the fault holds: on a busy machine, one before it may take
        longer than the provider listens."""
        for _ in range(10):
            self.reconcile()
            if self.aws.admin("GET", f"faults/{fault}")["state"] == "held":
                return
        raise AssertionError("the call was never sent")

    def starts_again(self):
        """A new process, which remembers nothing."""
        self.world._connector = self._connect()
        self.world.restart()

    def uses(self, account):
        """The Secret of the provider config is rotated to the keys of that account."""
        self.configs.resolved = replace(self.configs.resolved, credentials=keys(account))

    def annotate(self, **annotations):
        stored = self.world.objects.find(self.world.kind, self.world.key)
        stored["metadata"]["annotations"] |= annotations
        self.world.objects.put(self.world.kind, stored)
        self.world.objects.touch(self.world.kind, self.world.key)

    @property
    def ready(self):
        told = self.world.mr.condition("Ready")
        return told.reason, told.message

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
    made.sends(fault)
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


# The credentials change.


def died(aws, kind, when):
    """The process died after AWS had created it, before or after it recorded the success, and the Secret was
    rotated to the keys of another account."""
    made = Provider(aws, kind)
    made.world.kill_at(1, when)
    with pytest.raises(Killed):
        made.reconcile()
    assert made.world.journal[-1].startswith("metadata")
    assert len(made.there) == 1
    assert not made.world.mr.status
    made.starts_again()
    made.uses(OTHER)
    return made


deaths = pytest.mark.parametrize("when", ["before", "after"])


@both
@deaths
def test_a_process_that_dies_during_a_creation_leaves_the_account_that_it_went_to(aws, kind, when):
    made = died(aws, kind, when)
    made.later(3600)
    aws.admin("DELETE", "calls")
    made.reconcile()
    reason, words = made.ready
    assert reason == "AccountMismatch"
    assert f"Use credentials of account {ACCOUNT}" in words
    assert not [call for call in aws.journal if not call.startswith("GetCaller")], "nothing is asked there"
    made.world.delete()
    for _ in range(4):
        made.reconcile()
        made.later(600)
    assert not made.gone
    reason, words = made.ready
    assert reason == "DeletionHeld"
    assert f"Use credentials of account {ACCOUNT}" in words
    assert "edgetenants.io/confirm to 0a1b2c3d" in words
    made.starts_again()
    made.reconcile()
    assert not made.gone
    made.uses(ACCOUNT)
    made.ends()


@both
@deaths
def test_it_goes_on_where_it_was_created_once_the_credentials_are_back(aws, kind, when):
    made = died(aws, kind, when)
    made.reconcile()
    made.uses(ACCOUNT)
    made.later(60)
    made.reconcile()
    assert len(made.there) == 1
    assert account_of(made.world.mr.at_provider["arn"]) == ACCOUNT


@both
def test_a_deletion_is_confirmed_where_the_account_is_closed(aws, kind):
    made = died(aws, kind, "before")
    made.world.delete()
    made.reconcile()
    made.annotate(**{"edgetenants.io/confirm": "0a1b2c3d"})
    made.later(600)
    made.reconcile()
    assert not made.gone, "one answer is no proof"
    made.reconcile()
    assert made.gone


@both
def test_a_creation_that_was_clearly_refused_ties_it_to_no_account(aws, kind):
    made = Provider(aws, kind)
    aws.fault(made.operation, code="AccessDenied", status=403)
    made.reconcile()
    made.starts_again()
    aws.fault(made.operation, code="AccessDenied", status=403)
    made.reconcile()
    assert not meta.creation(made.world.mr.annotations).incomplete
    made.starts_again()
    made.uses(OTHER)
    made.reconcile()
    if kind is TENANTS:
        # It is asked for there, and its distribution is elsewhere.
        reason, words = made.ready
        assert reason == "ParentNotFound"
        assert f"distribution E1EDGETENANTS does not exist in AWS account {OTHER}" in words
    else:
        assert account_of(made.world.mr.at_provider["arn"]) == OTHER
    made.world.delete()
    made.ends()


@both
def test_a_refusal_by_a_check_or_aws_costs_no_write_that_changes_nothing(aws, kind):
    """Retries of what AWS refuses are announced; what the provider's own checks refuse is not."""
    made = Provider(aws, kind)
    aws.fault("GetDistribution" if kind is TENANTS else made.operation, code="NoSuchDistribution", status=404)
    made.reconcile()
    aws.fault("GetDistribution" if kind is TENANTS else made.operation, code="NoSuchDistribution", status=404)
    before = len(made.world.journal)
    made.reconcile()
    written = [line for line in made.world.journal[before:] if line.startswith("metadata")]
    assert len(written) == (0 if kind is TENANTS else 2)


@both
def test_a_creation_that_the_pace_holds_back_costs_no_write(aws, kind):
    """While AWS throttles, many resources wait for their turn, and each write wakes their claims."""
    made = Provider(aws, kind)
    aws.fault(made.operation, code="ThrottlingException", status=429)
    made.reconcile()
    assert not meta.creation(made.world.mr.annotations).incomplete
    before = len(made.world.journal)
    made.world.reconcile()
    assert not [line for line in made.world.journal[before:] if line.startswith("metadata")]
    assert made.there == []
    made.reconcile()
    assert len(made.there) == 1
