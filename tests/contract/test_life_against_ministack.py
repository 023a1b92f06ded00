"""The provider's own life of a connection group and a tenant, against an emulator that strangers wrote: what
it leaves in AWS at each step is the same as with ours, but for the listed differences."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.clients.connection_group import GroupClient
from tests.contract.account import Account
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import INSTALLATION, World, dependencies, managed

NUMBER = "123456789012"
DOMAIN = "www.customer.test"
GEO = {"restrictionType": "whitelist", "locations": ["DE", "FR"]}
DIFFERENCES: dict[str, tuple[str, Any, Any]] = {
    "asked for a certificate: domains": (
        "ministack: a domain is active at once; Developer guide: once a certificate is attached",
        {DOMAIN: "active"},
        {DOMAIN: "inactive"},
    ),
}
"""Fact → why, what ministack has, what ours has."""


@dataclass
class Wire:
    """The provider's calls to one account at some server."""

    account: Account
    journal: list[str] = field(default_factory=list)
    die: None = None

    def __post_init__(self) -> None:
        clients = [self.account.client(name) for name in ("cloudfront", "acm", "sts")]
        self.calls = CloudFrontCalls(*clients)
        self.deploy = self.account.deploy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.calls, name)


class Life(World):
    def settle(self, passes: int = 30) -> None:
        for _ in range(passes):
            self.cloudfront.deploy()
            self.clock.advance(60)
            self.reconcile()
            if self.gone or (self.error is None and self.at_rest()):
                return
        raise AssertionError(f"{self.events} {self.error} {self.status.get('conditions')}")

    def at_rest(self) -> bool:
        if self.mr.deleted:
            return False
        return self.ready() in (("True", "Available"), ("False", "Disabled")) and (
            self.condition("InSync")[0] == "True"
        )

    def change(self, **fields: Any) -> None:
        self.edit(**fields)
        self.reconcile()
        self.settle()


class GroupLife(Life):
    @property
    def client(self) -> GroupClient:
        return GroupClient(dependencies(self.cloudfront, self.memory, INSTALLATION, NUMBER))


def life(account: Account, validate: Callable[[Account], None]) -> dict[str, Any]:
    """Fact → what the server has. `validate` has the pending certificate issued, where it is not at once."""
    aws, facts = Wire(account), {}
    group = GroupLife(manifest({"ipv6Enabled": True, "tags": {"team": "edge"}}), aws)
    group.settle()
    tell(facts, "group made", ipv6=aws.get_group("shop.front").ipv6_enabled, tags=user_tags(aws, group))
    group.change(ipv6Enabled=False, tags={"team": "core"})
    tell(facts, "group changed", ipv6=aws.get_group("shop.front").ipv6_enabled, tags=user_tags(aws, group))

    asked = {
        "distributionId": account.parent,
        "connectionGroupId": group.status["atProvider"]["id"],
        "domains": [DOMAIN],
        "managedCertificateRequest": {"validationTokenHost": "self-hosted"},
        "parameters": {"tenantName": "acme"},
        "tags": {"stage": "test", "team": "shop"},
    }
    tenant = Life(managed(asked), aws)
    tenant.reconcile()
    tell(facts, "asked for a certificate", **seen(aws, tenant))
    validate(account)
    tenant.settle()
    tell(facts, "serves", **seen(aws, tenant), attached=attached(aws))
    tenant.change(
        parameters={"tenantName": "gold"}, customizations={"geoRestrictions": GEO}, tags={"stage": "live"}
    )
    tell(facts, "changed", **seen(aws, tenant), attached=attached(aws))
    tenant.change(enabled=False)
    tell(facts, "disabled", **seen(aws, tenant))
    tenant.change(enabled=True)
    tell(facts, "enabled", **seen(aws, tenant))
    group.delete()
    group.reconcile()
    tell(facts, "the group waits", enabled=aws.get_group("shop.front").enabled)
    tenant.delete()
    tenant.settle()
    group.settle()
    left = account.ask("list_distribution_tenants").raw.get("DistributionTenantList") or []
    tell(facts, "deleted", tenants=[each["Name"] for each in left])
    return facts


def tell(facts: dict[str, Any], step: str, **told: Any) -> None:
    facts |= {f"{step}: {name}": value for name, value in told.items()}


def seen(aws: Wire, tenant: Life) -> dict[str, Any]:
    there = aws.get_tenant("shop.acme")
    geo = there.customizations.geo_restrictions
    return {
        "domains": dict(there.domains),
        "parameters": dict(there.parameters),
        "enabled": there.enabled,
        "geo": sorted(geo.locations) if geo else None,
        "tags": user_tags(aws, tenant),
    }


def attached(aws: Wire) -> bool:
    """The certificate that was asked for is the one in the customizations."""
    certificate = aws.managed_certificate("shop.acme")
    there = aws.get_tenant("shop.acme").customizations.certificate_arn
    return certificate is not None and there is not None and certificate.arn == there


def user_tags(aws: Wire, life: Life) -> dict[str, str]:
    tags = aws.tags(life.status["atProvider"]["arn"])
    return {key: value for key, value in tags.items() if key in ("team", "stage")}


def served(account: Account) -> None:
    """Our emulator waits, as ACM does, for the domain's web server."""
    body = json.dumps({"served": True}).encode()
    url = f"{account.url}/_edgetenants/managed-certificates/shop.acme"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, body, method="PATCH")).close()


def test_the_same_comes_of_it(ours, theirs):
    here = life(ours(NUMBER), served)
    there = life(theirs(NUMBER), lambda _: None)
    found = {fact: (there.get(fact), here.get(fact)) for fact in here if there.get(fact) != here.get(fact)}
    assert here.keys() == there.keys()
    assert found == {fact: row[1:] for fact, row in DIFFERENCES.items()}


@pytest.mark.parametrize("fact", DIFFERENCES)
def test_a_difference_says_why(fact):
    assert DIFFERENCES[fact][0]
