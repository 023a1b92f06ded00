"""Tenants whose provider config names Cloudflare or Azure DNS: from the spec to the records."""

from __future__ import annotations

from functools import partial

import pytest

from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.account.hosted_dns import Clients
from provider.dns.azure.calls import AzureSettings
from provider.dns.azure.calls import connected as azure_connected
from provider.dns.errors import DnsError, Failure
from provider.dns.records import Zone
from tests.contract.dns import azure_dns, cloudflare_dns, described, test_tenants
from tests.contract.dns.azure_dns import AzureDns
from tests.contract.dns.cloudflare_dns import CloudflareDns
from tests.contract.dns.described import Answer
from tests.contract.dns.served import (
    APPLICATION,
    REF,
    TOKEN,
    Served,
    Service,
    new_servers,
    served,
    with_distribution,
)
from tests.contract.dns.servers import ZONE
from tests.contract.dns.test_tenants import MARK, SETTLED, domain_of
from tests.unit.provider.dns.conformance import Bench

SAID = {
    "cloudflare": {"apiTokenSecretRef": {**REF, "key": "token"}},
    "azure": {
        "subscriptionId": azure_dns.SUBSCRIPTION,
        "resourceGroup": azure_dns.SETTINGS.resource_group,
        "credentialsSecretRef": REF,
    },
}
SECRETS = {
    "cloudflare": {TOKEN: {"token": cloudflare_dns.TOKEN.encode()}},
    "azure": {
        APPLICATION: {
            "tenantId": azure_dns.TENANT.encode(),
            "clientId": azure_dns.CLIENT.encode(),
            "clientSecret": azure_dns.SECRET.encode(),
        }
    },
}
SECRET_TEXTS = (cloudflare_dns.TOKEN, azure_dns.SECRET, test_tenants.SECRET.decode())


def as_entra(url: str, settings: AzureSettings):
    """Gives a client only to the application with its secret."""
    if settings.client_secret != azure_dns.SECRET:
        raise DnsError(Failure.NOT_PERMITTED, "Azure DNS: 401: AADSTS7000215: Invalid client secret provided")
    return azure_connected(settings, url)


@pytest.fixture(params=SAID)
def name(request):
    return request.param


@pytest.fixture
def hosted(name):
    """The service behind the stores."""
    one = {"cloudflare": CloudflareDns, "azure": AzureDns}[name]()
    with described.serving(one) as one.url:
        yield one


@pytest.fixture
def service(name, hosted, aws, monkeypatch):
    with_distribution(aws)
    clients = Clients(Clients.at(f"{hosted.url}/client/v4", None).cloudflare, partial(as_entra, hosted.url))
    monkeypatch.setattr(Served, "clients", clients)
    zone = getattr(hosted, "zone", Zone(ZONE, ZONE))
    bench = Bench(None, zone, hosted.put, hosted.drop, hosted.truth, lambda: None)
    return Service(bench, {name: SAID[name]}, SECRETS[name])


@pytest.fixture
def tenant(service, aws):
    made = served(aws, service.config(), service.bench.name())
    made.run(120)
    assert made.told("DNSReady")[:2] == ("True", "DNSReady"), made.told("DNSReady")
    return made


class TestLife(test_tenants.TestLife):
    def test_at_rest_a_server_is_asked_every_ten_minutes(self, tenant, hosted):
        """And of Cloudflare, a list of the zone every five minutes, for all domains in it."""
        tenant.run(60)
        hosted.seen.clear()
        tenant.run(3600, every=30)
        assert 2 <= len(hosted.seen) <= 90
        assert not any(each.writes for each in hosted.seen)


class TestOfOthers(test_tenants.TestOfOthers):
    stores = 2
    """Each namespace has its own pace, and so its own store."""


class TestSecrets(test_tenants.TestSecrets):
    pass


class TestWithoutZone(test_tenants.TestWithoutZone):
    pass


class TestLastKnown(test_tenants.TestLastKnown):
    pass


class TestApex:
    def test_cloudflare_flattens_it_and_azure_has_none(self, service, name, aws):
        made = served(aws, service.config(), ZONE)
        made.run(120)
        if name == "azure":
            assert f"domain {ZONE} is the apex of its zone" in made.told("DNSReady")[2]
        else:
            assert service.types(ZONE) == {"ALIAS"}
            assert made.told("DNSReady")[0] == "True", made.told("DNSReady")
        made.delete()
        made.run(240)
        assert made.mr is None
        assert service.types(ZONE) == set()


class TestTeams:
    def test_a_team_uses_its_own_secret_without_a_flag(self, service, aws):
        made = served(aws, service.config("dns", "shop"), service.bench.name(), namespace="shop")
        made.run(120)
        assert made.told("DNSReady")[:2] == ("True", "DNSReady"), made.told("DNSReady")

    def test_a_team_reads_no_copies_of_zones(self, service, name, hosted, aws):
        made = served(aws, service.config("dns", "shop"), service.bench.name(), namespace="shop")
        made.run(1200)
        if name == "cloudflare":
            reads = [each for each in hosted.seen if each.operation == "list records"]
            assert all("name.exact" in each.query for each in reads)
            assert len(reads) > 4

    def test_a_secret_of_the_cluster_is_not_its(self, service, aws):
        """What the runtime gives for a reference of the namespace is all that counts."""
        bare = Service(service.bench, service.dns)
        servers = new_servers(aws)
        servers.of(service.config())
        with pytest.raises(ExternalError, match="SecretRef: "):
            servers.of(bare.config("dns", "shop"))


class TestDown:
    """A service that cannot be reached, hangs, or refuses."""

    @pytest.fixture(autouse=True)
    def hasty(self, monkeypatch):
        for module in ("provider.dns.azure.calls", "provider.dns.cloudflare.calls"):
            monkeypatch.setattr(f"{module}._SECONDS", 0.3)

    @pytest.mark.parametrize(
        "fault", ["lost", "hangs", Answer(503, raw=b"<html> ray id 123"), Answer(200, raw=b"{")]
    )
    def test_it_fails_and_comes_back(self, service, hosted, tenant, fault):
        more = service.bench.name()
        hosted.fault = lambda *_: fault
        tenant.edit(domains=[domain_of(tenant), more])
        tenant.run(120, every=10)
        assert tenant.told("Ready")[0] == "True"
        status, _, message = tenant.told("DNSReady")
        assert status == "False"
        said = set()
        for _ in range(12):
            tenant.run(5, every=5)
            said.add(tenant.told("DNSReady")[2])
        assert said == {message}, "the status is not written at each attempt"
        assert not any(each in str(tenant.stored) for each in SECRET_TEXTS)
        hosted.fault = lambda *_: None
        tenant.run(180, every=10)
        assert tenant.told("DNSReady")[1] in SETTLED, tenant.told("DNSReady")
        assert service.target(more) == tenant.endpoint

    def test_while_it_is_down_the_tenant_is_not_deleted(self, service, hosted, tenant):
        domain = domain_of(tenant)
        hosted.fault = lambda *_: "lost"
        tenant.delete()
        tenant.run(120, every=10)
        assert tenant.mr is not None, "the records lead to CloudFront"
        hosted.fault = lambda *_: None
        tenant.run(300, every=10)
        assert tenant.mr is None
        assert service.types(domain) == service.types(f"{MARK}{domain}") == set()
