"""Providers of two clusters that adopt the same tenant, which has no owner: one gets it."""

from __future__ import annotations

from typing import Any

import pytest

from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.state.desired import Tenant
from tests.contract.emulated import DISTRIBUTION
from tests.contract.reconciled import Reconciled
from tests.unit.provider.world import managed

DOMAIN = "acme.example.com"


@pytest.fixture
def adopters(aws) -> tuple[Reconciled, Reconciled]:
    """The same manifest in two clusters."""
    made = aws.calls.create_tenant(
        Tenant(name="shop.acme", distribution_id=DISTRIBUTION, domains=frozenset({DOMAIN}), enabled=True)
    )
    aws.deploy()
    return adopter(aws, made.id, "cluster-1"), adopter(aws, made.id, "cluster-2")


def adopter(aws, id_: str, installation: str) -> Reconciled:
    asked = {"distributionId": DISTRIBUTION, "domains": [DOMAIN], "tags": {"cluster": installation}}
    obj = managed(asked, annotations={"edgetenants.io/adopt": id_}, uid=f"0a1b2c3d-{installation}")
    obj["metadata"]["resourceVersion"] = "1"
    return Reconciled(obj, aws, installation=installation)


def tags(aws) -> dict[str, str]:
    [tenant] = aws.tenants
    return dict(aws.calls.tags(tenant["Arn"]))


def in_turn(aws, adopters: tuple[Reconciled, Reconciled]) -> None:
    for _ in range(10):
        for each in adopters:
            each.reconcile()
        pass_time(aws)


def pass_time(aws, seconds: float = 15) -> None:
    aws.clock.advance(seconds)
    aws.admin("POST", "clock", {"step": seconds})


def winner_and_loser(aws, adopters: tuple[Reconciled, Reconciled]) -> tuple[Reconciled, Reconciled]:
    owner = tags(aws)["edgetenants.io/owner"]
    winner, loser = sorted(adopters, key=lambda each: not owner.startswith(each.installation))
    assert winner.told("Ready")[:2] == ("True", "Available")
    assert loser.told("Ready")[:2] == ("False", "AdoptionRefused")
    assert tags(aws)["cluster"] == winner.installation
    return winner, loser


def deleted(aws, each: Reconciled) -> None:
    stored = each.stored
    stored["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    each.objects.put(each.kind, stored)
    each.objects.touch(each.kind, each.key)
    for _ in range(5):
        if each.objects.find(each.kind, each.key) is None:
            return
        each.reconcile()
        pass_time(aws)


def test_adopters_in_turn(aws, adopters):
    in_turn(aws, adopters)
    winner, loser = winner_and_loser(aws, adopters)
    deleted(aws, loser)
    [tenant] = aws.tenants
    assert tenant["Enabled"]
    assert tags(aws)["edgetenants.io/owner"].startswith(winner.installation)


@pytest.mark.parametrize("other_tags", ["before", "after"])
def test_adopters_that_both_saw_no_owner(aws, adopters, monkeypatch, other_tags):
    """The second one sets its tag between the first one's look and its tag, or just after that."""
    first, second = adopters
    really, meanwhile = CloudFrontCalls.tag, [second]

    def tag(self: CloudFrontCalls, arn: str, given: Any) -> None:
        if other_tags == "after":
            really(self, arn, given)
        if meanwhile:
            meanwhile.pop().reconcile()
        if other_tags == "before":
            really(self, arn, given)

    monkeypatch.setattr(CloudFrontCalls, "tag", tag)
    written = len(aws.journal)
    first.reconcile()
    assert not meanwhile, "both set their tag"
    assert not [each for each in aws.journal[written:] if each.startswith("Update")]
    in_turn(aws, adopters)
    _, loser = winner_and_loser(aws, adopters)
    deleted(aws, loser)
    [tenant] = aws.tenants
    assert tenant["Enabled"]
