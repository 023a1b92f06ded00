"""A managed resource's life against the emulator, with virtual time that passes with each pass."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import botocore.session
from boto3 import Session
from botocore.config import Config

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.settings import Settings
from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.clients.connection_group import GroupClient
from tests.contract.admin import Admin
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import World, dependencies, managed

ACCOUNT = "123456789012"
DISTRIBUTION = "E1OPEN"
WEB_ACL = f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"
KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
GEO = {"restrictionType": "blacklist", "locations": ["KP"]}
_NO_RETRY = Config(retries={"mode": "standard", "total_max_attempts": 1})
"""The provider's clients do not repeat a request that AWS refused."""
PASS_SECONDS = 60
MOST_TRIES = 2


class Recorded:
    """The calls, with the names that the harness looks for."""

    def __init__(self, url: str) -> None:
        session = Session(botocore_session=botocore.session.get_session())
        services = ("cloudfront", "acm", "sts")
        self.clients = [session.client(name, endpoint_url=url, config=_NO_RETRY, **KEYS) for name in services]
        self.calls, self.url = CloudFrontCalls(*self.clients), url
        self.numbers = itertools.count(1)
        self.journal: list[str] = []
        self.die = None
        self.admin = Admin(url)
        seed = {
            "id": DISTRIBUTION,
            "certificateDomains": ["*.example.com"],
            "parameters": [{"name": "tenantName"}],
        }
        self.admin("POST", "seed", {"account": ACCOUNT, "distributions": [seed]})
        self.own_certificate = acm.issue(ACCOUNT, ["*.custom.test"])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.calls, name)

    def deploy(self) -> None:
        self.admin("POST", "clock", {"step": PASS_SECONDS})

    def set(self, settings: dict[str, Any]) -> None:
        self.admin("PATCH", "settings", settings)

    def unset(self) -> None:
        self.set(Settings().as_json())

    def operations(self, since: int) -> list[str]:
        """What was called from a number of calls on."""
        return [call["operation"] for call in self.admin("GET", f"calls?since={since}")["calls"]]

    @property
    def called(self) -> int:
        return int(self.admin("GET", f"calls?since={sys.maxsize}")["total"])  # none of them


class Life(World):
    """One managed resource; its clock goes with the emulator's."""

    def step(self) -> None:
        self.cloudfront.deploy()
        self.clock.advance(PASS_SECONDS)
        self.reconcile()

    def settle(self, passes: int = 40) -> None:
        for _ in range(passes):
            if self.done():
                return
            self.step()
        raise AssertionError(f"{self.events} {self.error} {self.status.get('conditions')}")

    def change(self, **for_provider: Any) -> None:
        """The user edits, and all comes to rest."""
        self.edit(**for_provider)
        self.reconcile()
        self.settle()

    def stays(self) -> None:
        """What was asked last cannot be had; that is said, and not tried for ever."""
        before = len(self.events)
        for _ in range(5):
            self.step()
        assert self.condition("InSync")[:2] == ("False", "UpdateIneffective")
        # Of what was accepted: an update that is refused while InProgress is not yet a try.
        assert len(self.events) - before <= MOST_TRIES, "it is tried for ever"

    def done(self) -> bool:
        if self.mr.deleted or self.error:
            return self.gone
        at_rest = self.ready()[0] == "True" or self.ready()[1] == "Disabled"
        return at_rest and self.condition("InSync")[0] == "True"


class GroupLife(Life):
    @property
    def client(self) -> GroupClient:
        return GroupClient(dependencies(self.cloudfront, self.memory, "cluster-1", ACCOUNT))


def with_managed_certificate(aws: Recorded) -> None:
    """A tenant and its connection group: asked for, served, changed, deleted in the wrong order."""
    number = next(aws.numbers)
    name, domain = f"shop.m{number}", f"www.m{number}.test"
    group = GroupLife(manifest(name=f"shop.g{number}"), aws)
    group.settle()
    at = group.status["atProvider"]
    asked = {
        "distributionId": DISTRIBUTION,
        "connectionGroupId": at["id"],
        "domains": [domain],
        "customizations": {"geoRestrictions": GEO},
        "managedCertificateRequest": {"validationTokenHost": "cloudfront"},
    }
    tenant = Life(managed(asked, annotations={"crossplane.io/external-name": name}), aws)
    tenant.reconcile()
    assert tenant.ready() == ("False", "DomainValidationPending")
    aws.admin("POST", "records", {"name": domain, "type": "CNAME", "values": [at["routingEndpoint"]]})
    tenant.settle()
    assert tenant.condition("CertificateReady")[1] == "Validated"
    assert aws.calls.get_tenant(name).customizations.geo_restrictions is not None
    tenant.change(parameters={"tenantName": "b"}, enabled=True)
    assert aws.calls.get_tenant(name).parameters == {"tenantName": "b"}
    group.delete()
    group.reconcile()
    assert aws.calls.get_group(at["id"]).enabled, "disabled under its tenant"
    tenant.delete()
    tenant.settle()
    group.settle()
    assert not [g for g in aws.admin("GET", "state")["connectionGroups"] if g["Id"] == at["id"]]


def with_every_field(aws: Recorded) -> None:
    """A tenant under the distribution's certificate: each field set and taken back, drift, loss, deletion."""
    number = next(aws.numbers)
    name, domain = f"shop.f{number}", f"f{number}.example.com"
    asked = {"distributionId": DISTRIBUTION, "domains": [domain], "parameters": {"tenantName": "a"}}
    named = {"crossplane.io/external-name": name}
    tenant = Life(managed(asked, annotations=named), aws)
    tenant.settle()
    _certified(tenant, aws, name, domain)
    _tagged(tenant, aws, name)
    _customized(tenant, aws, name)
    _parametrized(tenant, aws, name)
    tenant.change(enabled=False)
    assert not aws.calls.get_tenant(name).enabled
    tenant.change(enabled=True)
    aws.admin("PATCH", f"distribution-tenants/{name}", {"Enabled": False})
    tenant.step()
    tenant.settle()
    assert aws.calls.get_tenant(name).enabled, "drift is left"
    again = Life(managed(tenant.obj["spec"]["forProvider"], annotations=named, uid="another"), aws)
    before = aws.called
    again.settle()
    assert not {"UpdateDistributionTenant", "CreateDistributionTenant"} & set(aws.operations(before))
    again.delete()
    again.settle()
    assert name not in [each["Name"] for each in aws.admin("GET", "state")["tenants"]]


def _taken_back(tenant: Life, field: str, value: Any, *, possible: bool) -> bool:
    """A field without some of what it had. AWS may turn out to have no way for that, whatever is sent; then
    it is said, and the user asks for the old value again."""
    if possible:
        tenant.change(**{field: value})
        return True
    had = tenant.obj["spec"]["forProvider"][field]
    tenant.edit(**{field: value})
    tenant.stays()
    tenant.change(**{field: had})
    return False


def _customized(tenant: Life, aws: Recorded, name: str) -> None:
    reading = aws.admin("GET", "settings")
    own = tenant.obj["spec"]["forProvider"].get("customizations") or {}
    override = {**own, "webAcl": {"action": "override", "arn": WEB_ACL}}
    tenant.change(customizations={**override, "geoRestrictions": GEO})
    seen = aws.calls.get_tenant(name).customizations
    assert (seen.web_acl.arn, seen.geo_restrictions.locations) == (WEB_ACL, {"KP"})
    replaced, cleared = not reading["customizations_merge"], reading["empty_customizations_clear"]
    if _taken_back(tenant, "customizations", override, possible=replaced):
        assert aws.calls.get_tenant(name).customizations.geo_restrictions is None
    if _taken_back(tenant, "customizations", own or None, possible=replaced if own else cleared):
        seen = aws.calls.get_tenant(name).customizations
        assert (seen.web_acl, seen.geo_restrictions) == (None, None)


def _parametrized(tenant: Life, aws: Recorded, name: str) -> None:
    tenant.change(parameters={"tenantName": "b"})
    assert aws.calls.get_tenant(name).parameters == {"tenantName": "b"}
    possible = aws.admin("GET", "settings")["empty_parameters_clear"]
    if _taken_back(tenant, "parameters", None, possible=possible):
        assert aws.calls.get_tenant(name).parameters == {}


def _certified(tenant: Life, aws: Recorded, name: str, domain: str) -> None:
    """A domain that only its own certificate covers, and where AWS lets it, back to the inherited one."""
    own = domain.replace("example.com", "custom.test")
    tenant.change(domains=[own], customizations={"certificate": {"arn": aws.own_certificate}})
    assert aws.calls.get_tenant(name).customizations.certificate_arn == aws.own_certificate
    if aws.admin("GET", "settings")["empty_customizations_clear"]:
        tenant.change(domains=[domain], customizations=None)
        assert aws.calls.get_tenant(name).customizations.certificate_arn is None
        own = domain
    tenant.change(domains=[own, f"x{own}"])
    tenant.change(domains=[f"x{own}"])
    assert list(aws.calls.get_tenant(name).domains) == [f"x{own}"]


def _tagged(tenant: Life, aws: Recorded, name: str) -> None:
    arn = aws.calls.get_tenant(name).arn
    tenant.change(tags={"team": "edge", "stage": "live"})
    aws.deploy()
    assert aws.calls.tags(arn)["team"] == "edge"
    tenant.change(tags={"stage": "live"})
    aws.deploy()
    assert "team" not in aws.calls.tags(arn)
