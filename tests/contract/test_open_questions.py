"""The life of a tenant with a managed certificate and of its connection group, whatever AWS turns out to do.

Each open question of the emulator is switched alone; the provider's own clients are called as the runtime
would call them, and time is stepped.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import boto3
import pytest

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.unknowns import UNKNOWNS
from provider.cloudfront.calls import CloudFrontCalls
from provider.cloudfront.connectiongroup import GroupClient
from provider.cloudfront.context import Context
from tests.unit.provider.test_connectiongroup import manifest
from tests.unit.provider.world import World, managed

ACCOUNT = "123456789012"
DISTRIBUTION = "E1OPEN"
DOMAIN = "www.customer.test"
KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
LIMITS = {"acm_certificates_per_account", "domains_per_tenant", "certificate_timeout_seconds"}
"""Of which a lower value rightly stops everything."""


def switched() -> Iterator[tuple[str, Any]]:
    """Each setting of an open question with each value that it does not have by default."""
    named = {name for unknown in UNKNOWNS for name in unknown.settings} - LIMITS
    choices = Settings.choices()
    for field in fields(Settings):
        if field.name not in named:
            continue
        if field.name in choices:
            yield from ((field.name, word) for word in choices[field.name] if word != field.default)
        elif isinstance(field.default, bool):
            yield field.name, not field.default
        else:
            yield field.name, type(field.default)(3)


class Recorded:
    """The calls, with the names that the harness looks for."""

    def __init__(self, url: str) -> None:
        clients = [boto3.client(name, endpoint_url=url, **KEYS) for name in ("cloudfront", "acm", "sts")]
        self.calls, self.url = CloudFrontCalls(*clients), url
        self.journal: list[str] = []
        self.die = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.calls, name)

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_edgetenants/{path}", data=data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return json.loads(answer.read() or b"{}")

    def deploy(self) -> None:
        self.admin("POST", "clock", {"step": 60})


class Life(World):
    """One managed resource against the emulator; virtual time passes with each pass."""

    def settle(self, passes: int = 40) -> None:
        for _ in range(passes):
            if self.done():
                return
            self.cloudfront.deploy()
            self.clock.advance(60)
            self.reconcile()
        raise AssertionError(f"{self.events} {self.error} {self.status.get('conditions')}")

    def done(self) -> bool:
        return self.gone if self.mr.deleted else self.ready()[0] == self.condition("InSync")[0] == "True"


class GroupLife(Life):
    @property
    def client(self) -> GroupClient:
        return GroupClient(Context(self.cloudfront, self.memory, "cluster-1", ACCOUNT))


@pytest.fixture(scope="module")
def server() -> Iterator[EmulatorServer]:
    with EmulatorServer(rate=0) as running:
        yield running


@pytest.fixture
def aws(server: EmulatorServer) -> Iterator[Recorded]:
    made = Recorded(server.url)
    empty = made.admin("GET", "snapshot")
    yield made
    made.admin("PUT", "snapshot", empty)


def live(aws: Recorded) -> None:
    seed = {
        "id": DISTRIBUTION,
        "certificateDomains": ["*.example.com"],
        "parameters": [{"name": "tenantName"}],
    }
    aws.admin("POST", "seed", {"account": ACCOUNT, "distributions": [seed]})
    group = GroupLife(manifest(), aws)
    group.settle()
    at = group.status["atProvider"]
    geo = {"geoRestrictions": {"restrictionType": "blacklist", "locations": ["KP"]}}
    asked = {
        "distributionId": DISTRIBUTION,
        "connectionGroupId": at["id"],
        "domains": [DOMAIN],
        "customizations": geo,
        "managedCertificateRequest": {"validationTokenHost": "cloudfront"},
    }
    tenant = Life(managed(asked), aws)
    tenant.reconcile()
    assert tenant.ready() == ("False", "DomainValidationPending")
    aws.admin("POST", "records", {"name": DOMAIN, "type": "CNAME", "values": [at["routingEndpoint"]]})
    tenant.settle()
    assert tenant.condition("CertificateReady")[1] == "Validated"
    assert aws.calls.get_tenant("shop.acme").customizations.geo_restrictions is not None
    tenant.edit(parameters={"tenantName": "b"}, enabled=True)
    tenant.reconcile()
    tenant.settle()
    assert aws.calls.get_tenant("shop.acme").parameters == {"tenantName": "b"}
    group.delete()
    group.reconcile()
    assert aws.calls.get_group(at["id"]).enabled, "disabled under its tenant"
    tenant.delete()
    tenant.settle()
    group.settle()
    assert not [g for g in aws.admin("GET", "state")["connectionGroups"] if g["Id"] == at["id"]]


def test_as_the_emulator_reads_it(aws: Recorded) -> None:
    live(aws)


LOST = ("certificate_request_lost", True)


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(*each, id="=".join(map(str, each))) for each in switched() if each != LOST],
)
def test_under_each_other_reading(aws: Recorded, name: str, value: Any) -> None:
    aws.admin("PATCH", "settings", {name: value})
    live(aws)


def test_where_requests_are_lost_they_are_repeated_with_patience(aws: Recorded) -> None:
    aws.admin("PATCH", "settings", {"certificate_request_lost": True})
    seed = {"id": DISTRIBUTION, "certificateDomains": ["*.example.com"]}
    aws.admin("POST", "seed", {"account": ACCOUNT, "distributions": [seed]})
    request = {"validationTokenHost": "self-hosted"}
    asked = {"distributionId": DISTRIBUTION, "domains": [DOMAIN], "managedCertificateRequest": request}
    tenant = Life(managed(asked), aws)
    before = aws.admin("GET", "calls")["total"]
    for _ in range(5):
        tenant.cloudfront.deploy()
        tenant.reconcile()
    made = [call["operation"] for call in aws.admin("GET", f"calls?since={before}")["calls"]]
    assert "CreateDistributionTenant" in made
    assert "UpdateDistributionTenant" not in made
    aws.admin("PATCH", "settings", {"certificate_request_lost": False})
    tenant.clock.advance(601)
    tenant.reconcile()
    aws.admin("PATCH", "managed-certificates/shop.acme", {"served": True})
    tenant.settle()
