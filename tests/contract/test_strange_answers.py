"""Answers with status 200 that AWS would not give: nothing is concluded from them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.reconcile.guard import GuardedConnector
from provider.cloudfront.aws import operations
from provider.cloudfront.state.identity import OWNER_TAG
from tests.contract.emulated import DISTRIBUTION, Emulated
from tests.contract.reconciled import Reconciled
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import managed

WEB_PAGE = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>"
EMPTY_LIST = b"<ListDistributionTenantsResult></ListDistributionTenantsResult>"
NO_TAGS = b"<Tags><Items/></Tags>"


def shop() -> dict[str, Any]:
    return managed({"distributionId": DISTRIBUTION, "domains": ["acme.example.com"]})


class _Raw:
    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, **_: Any) -> Any:
        yield self.body


class Changed(Reconciled):
    """A managed resource whose provider gets other answers than AWS gave."""

    def __init__(self, obj: dict[str, Any], aws: Emulated) -> None:
        super().__init__(obj, aws)
        self.sent: list[str] = []
        self.passes(4)

    def passes(self, times: int) -> None:
        for _ in range(times):
            self.time += timedelta(seconds=61)
            self.aws.clock.advance(61)
            self.aws.deploy()
            self.reconcile()

    def answers(
        self, operation: str, body: bytes, headers: dict[str, str] | None = None, *, times: int = 1_000
    ) -> None:
        """Answer this many calls of the operation with this body."""
        answers = iter([body] * times)

        def answer(**_: Any) -> AWSResponse | None:
            body = next(answers, None)
            return None if body is None else AWSResponse(self.aws.url, 200, headers or {}, _Raw(body))

        self._on("before-send", operation, answer)

    def without(self, operation: str, member: str) -> None:
        """Leave a member out of the operation's answers."""

        def cut(response_dict: dict[str, Any], **_: Any) -> None:
            body = response_dict["body"].decode()
            start, end = body.index(f"<{member}>"), body.index(f"</{member}>") + len(member) + 3
            response_dict["body"] = (body[:start] + body[end:]).encode()

        self._on("before-parse", operation, cut)

    def records(self) -> None:
        """From now on, note in `sent` what is sent, also if a handler answers it."""
        self._on("before-send", "*", lambda event_name, **_: self.sent.append(event_name.split(".")[-1]))

    def _on(self, event: str, operation: str, handler: Any) -> None:
        [client, *_] = self.connector._accounts.of(self.configs.resolved).clients
        client.meta.events.register(f"{event}.cloudfront.{operation}", handler)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(WEB_PAGE, {"x-amzn-requestid": "1"}, id="a web page"),
        pytest.param(b"", {"x-amzn-requestid": "1"}, id="nothing"),
        pytest.param(EMPTY_LIST, {}, id="no request id"),
    ],
)
def test_a_list_that_is_not_from_aws_does_not_disable_a_group(aws, body, headers):
    group = Changed(manifest(), aws)
    group.answers("ListDistributionTenants", body, headers)
    group.delete()
    group.passes(6)
    groups = aws.admin("GET", "state")["connectionGroups"]
    assert [each["Enabled"] for each in groups if each["Name"] == "shop.front"] == [True]
    assert "does not look like one of AWS" in group.told("Synced")[2]


@pytest.mark.parametrize("body", [WEB_PAGE, b"", b"<?xml version='1.0'?><Maintenance/>", NO_TAGS])
@pytest.mark.parametrize("restarts", [False, True])
def test_one_answer_without_tags_does_not_delete_a_tenant_that_was_given_away(aws, restarts, body):
    tenant = Changed(shop(), aws)
    [made] = aws.tenants
    aws.calls.tag(made["Arn"], {OWNER_TAG: "cluster-1/DistributionTenant/other/shop.acme"})
    if restarts:
        tenant.restart()
    tenant.delete()
    tenant.passes(1)
    tenant.answers("ListTagsForResource", body, {"x-amzn-requestid": "1"} if body is NO_TAGS else {}, times=1)
    tenant.passes(6)
    assert tenant.mr is None
    assert [each["Enabled"] for each in aws.tenants] == [True]


@pytest.mark.parametrize("body", [WEB_PAGE, NO_TAGS])
def test_one_answer_without_tags_does_not_leave_a_tenant_whose_resource_has_lost_its_status(aws, body):
    tenant = Changed(shop(), aws)
    tenant.objects.put(tenant.kind, {**tenant.stored, "status": {}})
    tenant.restart()
    tenant.answers("ListTagsForResource", body, {"x-amzn-requestid": "1"} if body is NO_TAGS else {}, times=1)
    tenant.delete()
    tenant.passes(6)
    assert tenant.mr is None
    assert aws.tenants == [], "it is deleted with its resource"


def test_a_page_in_place_of_a_deletion_does_not_count_as_done(aws):
    tenant = Changed(shop(), aws)
    tenant.answers("DeleteDistributionTenant", WEB_PAGE, times=1)
    tenant.delete()
    tenant.passes(1)
    assert "does not look like one of AWS" in tenant.told("Synced")[2]
    tenant.passes(6)
    assert tenant.mr is None
    assert aws.tenants == []


@pytest.mark.parametrize("member", ["Id", "Arn", "Name"])
def test_a_tenant_that_does_not_say_which_it_is_is_not_released(aws, member):
    tenant = Changed(shop(), aws)
    tenant.without("GetDistributionTenant", member)
    tenant.delete()
    tenant.passes(6)
    assert [each["Enabled"] for each in aws.tenants] == [True]
    assert f"does not look like one of AWS: KeyError('{member}')" in tenant.told("Synced")[2]


class Sights:
    def up_to_date(self, mr: Any) -> None: ...

    def repaired(self, mr: Any) -> None: ...


@pytest.mark.parametrize(
    ("moment", "sent", "not_sent"),
    [
        pytest.param("response-received", ["UpdateDistributionTenant"], "TagResource", id="in a call"),
        pytest.param("before-sign", [], "UpdateDistributionTenant", id="before it is signed"),
        pytest.param("before-send", [], "UpdateDistributionTenant", id="right before it is sent"),
    ],
)
def test_a_leader_that_was_frozen_sends_no_call_that_writes_when_it_thaws(aws, moment, sent, not_sent):
    leads = True
    tenant = Changed(shop(), aws)
    tenant._connector = GuardedConnector(tenant.connector, lambda: leads, Sights())
    tenant.restart()
    tenant.passes(1)
    before = aws.admin("GET", "calls")["total"]

    def freeze(**_: Any) -> None:
        nonlocal leads
        leads = False

    tenant._on(moment, "UpdateDistributionTenant", freeze)
    tenant.edit(enabled=False, tags={"team": "edge"})
    with pytest.raises(StandDown, match=f"the call {not_sent}"):
        tenant.passes(1)
    calls = aws.admin("GET", f"calls?since={before}")["calls"]
    assert [call["operation"] for call in calls if operations.writes(call["operation"])] == sent
    circuit = tenant.connector._accounts.of(tenant.configs.resolved).pace.circuits["cloudfront"]
    assert circuit._under_way == {}


@pytest.mark.parametrize("restarts", [False, True])
def test_tags_that_lag_behind_a_hand_back_do_not_release_a_tenant(aws, restarts):
    """An administrator gave the tenant away and takes it back, and the old tag still shows."""
    tenant = Changed(shop(), aws)
    [made] = aws.tenants
    own = aws.calls.tags(made["Arn"])
    aws.calls.tag(made["Arn"], {OWNER_TAG: "cluster-1/DistributionTenant/other/shop.acme"})
    if restarts:
        tenant.restart()
    tenant.delete()
    tenant.reconcile()
    aws.calls.tag(made["Arn"], own)
    tenant.passes(6)
    assert tenant.mr is None
    assert aws.tenants == [], "it is deleted with its resource"


def test_a_tenant_that_was_given_away_stays_when_its_former_resource_goes(aws):
    tenant = Changed(shop(), aws)
    [made] = aws.tenants
    aws.calls.tag(made["Arn"], {OWNER_TAG: "cluster-1/DistributionTenant/other/shop.acme"})
    tenant.delete()
    tenant.passes(6)
    assert tenant.mr is None
    assert [each["Enabled"] for each in aws.tenants] == [True]
