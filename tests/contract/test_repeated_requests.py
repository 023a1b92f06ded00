"""Answers that are lost over the wire: what AWS did is looked at before it is asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.desired import Tenant
from tests.contract.emulated import DISTRIBUTION, Emulated, config
from tests.unit.provider.world import World, managed

UPDATE = "UpdateDistributionTenant"
REQUEST = {"validationTokenHost": "self-hosted"}
OWN, NEW = "acme.example.com", "www.customer.test"


def served(aws: Emulated) -> World:
    world = World(managed({"distributionId": DISTRIBUTION, "domains": [OWN], "enabled": True}), aws)
    world.settle()
    aws.admin("DELETE", "calls")
    return world


def updates(aws: Emulated) -> list[dict[str, Any]]:
    """What was sent, with the answer's status."""
    return [call for call in aws.admin("GET", "calls")["calls"] if call["operation"] == UPDATE]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            {"when": "after", "action": "reset"}, id="the answer is lost, and the retry meets a new version"
        ),
        pytest.param({"when": "after", "code": "PreconditionFailed", "status": 412}, id="done, and refused"),
        pytest.param({"when": "after", "code": "InternalError", "status": 500}, id="done, and failed"),
    ],
)
def test_a_certificate_is_asked_for_once(aws: Emulated, fault: dict[str, Any]) -> None:
    world = served(aws)
    world.edit(domains=[OWN, NEW], managedCertificateRequest=REQUEST)
    aws.fault(UPDATE, **fault)
    world.reconcile()
    world.reconcile()
    accepted = [each for each in updates(aws) if "ManagedCertificateRequest" in each["parameters"]]
    versions = {each["parameters"]["IfMatch"] for each in accepted}
    assert len(versions) == 1, (
        "only the version that was asked for first: a second one may open another request"
    )
    assert world.error is None
    assert world.condition("CertificateReady")[1] == "PendingValidation"


@pytest.mark.parametrize("operation", ["CreateDistributionTenant", "GetDistributionTenant"])
def test_a_request_is_sent_although_idle_connections_were_closed_at_that_moment(
    aws: Emulated, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """Those of a config that others use more often are closed at any time."""
    account = Accounts(aws.clock).of(config(aws.url))
    manager = account.cloudfront._cloudfront._endpoint.http_session._manager
    find = manager.connection_from_url

    def closed(url: str) -> Any:
        found = find(url)
        monkeypatch.setattr(manager, "connection_from_url", find)
        account.close()
        return found

    monkeypatch.setattr(manager, "connection_from_url", closed)
    if operation == "CreateDistributionTenant":
        tenant = Tenant("shop.a", DISTRIBUTION, domains=frozenset({OWN}), enabled=False)
        account.cloudfront.create_tenant(tenant)
    else:
        with pytest.raises(AwsError, match="EntityNotFound"):
            account.cloudfront.get_tenant("shop.a")
    assert aws.journal.count(operation) == 1
