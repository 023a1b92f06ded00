"""Tenants whose provider config names BIND, Knot DNS or PowerDNS: from the spec to the records."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.account.dns_servers import Allowed
from provider.dns import powerdns as api
from provider.dns.records import RecordSet
from provider.dns.rfc2136 import exchange
from tests.contract.dns import benches
from tests.contract.dns.served import (
    API,
    APPLICATION,
    TOKEN,
    by_api,
    by_updates,
    new_servers,
    served,
    tsig,
    with_distribution,
)
from tests.contract.dns.servers import HOST, ZONE
from tests.contract.emulated import config

MARK = "_edgetenants."
SETTLED = ("DNSReady", "DNSPropagating")
"""The emulator's CloudFront sees the zones of Route 53 only, and says so at its checks."""
BY_CLOUDFRONT = {"managedCertificateRequest": {"validationTokenHost": "cloudfront"}}
SECRET = b"a-secret-that-no-message-may-show"


def service_of(request, aws, name):
    with_distribution(aws)
    running = request.getfixturevalue(name)
    if name == "powerdns":
        return by_api(running, benches.powerdns(running))
    return by_updates(running, benches.rfc2136(running))


@pytest.fixture(params=["bind", "knot", "powerdns"])
def service(request, aws):
    return service_of(request, aws, request.param)


@pytest.fixture
def bind_service(request, aws):
    return service_of(request, aws, "bind")


@pytest.fixture
def pdns_service(request, aws):
    return service_of(request, aws, "powerdns")


@pytest.fixture
def tenant(service, aws):
    made = served(aws, service.config(), service.bench.name())
    made.run(120)
    assert made.told("DNSReady")[:2] == ("True", "DNSReady"), made.told("DNSReady")
    return made


def domain_of(tenant):
    return tenant.stored["spec"]["forProvider"]["domains"][0]


class TestLife:
    def test_a_tenant_goes_live_and_away(self, service, tenant):
        domain = domain_of(tenant)
        assert service.target(domain) == tenant.endpoint
        assert service.types(f"{MARK}{domain}") == {"TXT"}
        (shown,) = tenant.instructions
        assert (shown["state"], shown["managedBy"]) == ("Present", "Provider")
        tenant.delete()
        tenant.run(240)
        assert tenant.mr is None
        assert service.types(domain) == service.types(f"{MARK}{domain}") == set()

    def test_records_come_first_where_cloudfront_answers_the_validation(self, service, aws):
        domain = service.bench.name()
        made = served(aws, service.config(), domain, **BY_CLOUDFRONT)
        made.run(30)
        assert service.types(domain) == {"CNAME"}

    def test_another_routing_endpoint_moves_the_record(self, service, tenant, aws):
        group = aws.calls._cloudfront.create_connection_group(Name="other")["ConnectionGroup"]
        tenant.edit(connectionGroupId=group["Id"])
        tenant.run(300)
        assert service.target(domain_of(tenant)) == group["RoutingEndpoint"]
        assert tenant.told("DNSReady")[1] in SETTLED

    def test_the_records_of_a_removed_domain_go(self, service, aws):
        stays, goes = service.bench.name(), service.bench.name()
        made = served(aws, service.config(), stays, goes)
        made.run(120)
        made.edit(domains=[stays])
        made.run(150)
        assert service.types(goes) == service.types(f"{MARK}{goes}") == set()
        assert service.types(stays) == {"CNAME"}
        assert made.told("InSync")[0] == "True"

    def test_after_a_restart_the_records_go_with_the_tenant(self, service, tenant):
        domain = domain_of(tenant)
        tenant.die()
        tenant.delete()
        tenant.run(240)
        assert tenant.mr is None
        assert service.types(domain) == set()

    def test_what_someone_deleted_comes_back(self, service, tenant):
        service.bench.drop(domain_of(tenant), "CNAME")
        tenant.run(900, every=30)
        assert service.target(domain_of(tenant)) == tenant.endpoint

    def test_at_rest_a_server_is_asked_every_ten_minutes(self, service, tenant, monkeypatch):
        tenant.run(60)
        asked = []
        inner = type(tenant.servers.of(service.config()).store._store)
        read = inner.read
        monkeypatch.setattr(inner, "read", lambda *how, **more: asked.append(1) or read(*how, **more))
        tenant.run(3600, every=30)
        assert 2 <= len(asked) <= 14, "the wildcard above was read earlier than the rest"


class TestOfOthers:
    stores = 1
    """Of two teams with equal configs."""

    def test_a_record_that_others_made_stays_and_is_named(self, service, aws):
        domain = service.bench.name()
        service.bench.put(RecordSet(domain, "A", ("192.0.2.1",), 300))
        made = served(aws, service.config(), domain)
        made.run(120)
        status, reason, message = made.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert f"{domain} A 192.0.2.1" in message
        assert made.told("Ready")[0] == "True", "CloudFront serves it all the same"
        made.delete()
        made.run(120)
        assert made.mr is None
        assert service.types(domain) == {"A"}

    def test_what_others_made_since_the_last_look_is_not_hidden(self, service, aws):
        """What is remembered may be ten minutes old."""
        domain, servers = f"a.{service.bench.name()}", new_servers(aws)
        wild = domain.replace("a.", "*.", 1)
        store = servers.of(service.config()).store
        store.read(service.bench.zone, [domain, f"{MARK}{domain}", wild, f"*.{ZONE}"])
        service.bench.put(RecordSet(wild, "CNAME", ("elsewhere.example.net",), 300))
        made = served(aws, service.config(), domain, servers=servers, **BY_CLOUDFRONT)
        made.run(120)
        assert service.types(domain) == set()
        assert f"A wildcard answers for {domain} today" in made.told("DNSReady")[2]

    def test_two_teams_share_a_server_and_no_records(self, service, tenant, aws):
        domain = domain_of(tenant)
        other = served(aws, service.config(), domain, name="thief", namespace="red", servers=tenant.servers)
        other.run(120)
        assert other.told("DNSReady")[1] != "DNSReady"
        other.delete()
        other.run(120)
        assert service.target(domain) == tenant.endpoint

    def test_of_two_teams_with_equal_configs_each_has_its_own_domain(self, service, aws):
        servers = new_servers(aws, allowed_of(service))
        mine, yours = (served_by_team(aws, service, team, servers) for team in ("shop", "red"))
        for each in (mine, yours):
            each.run(120)
            assert each.told("DNSReady")[:2] == ("True", "DNSReady"), each.told("DNSReady")
        stores = {id(servers.of(each.configs.dns).store) for each in (mine, yours)}
        assert len(stores) == self.stores, "equal configs share a store"
        mine.delete()
        mine.run(240)
        assert service.target(domain_of(yours)) == yours.endpoint


def allowed_of(service):
    (said,) = service.dns.values()
    port = said.get("port") or int(said.get("url", ":1").rpartition(":")[2])
    return Allowed(frozenset({(HOST, port)}))


def served_by_team(aws, service, team, servers):
    config = service.config("dns", team)
    return served(aws, config, service.bench.name(), name=f"of-{team}", namespace=team, servers=servers)


class TestSecrets:
    def test_a_key_that_was_rotated_takes_effect(self, service, aws):
        domain = service.bench.name()
        wrong = replace(service, secrets=other_secret(service))
        made = served(aws, wrong.config(), domain)
        made.run(120)
        status, reason, message = made.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert "BADSIG" in message or "401" in message
        assert "spec.dns." in message, "it says which field to check"
        assert "SecretRef" in message
        assert SECRET.decode() not in str(made.stored)
        assert made.told("Ready")[0] == "True"
        made.configs.dns = service.config()
        made.run(60)
        assert made.told("DNSReady")[0] == "True"
        assert service.target(domain) == made.endpoint

    def test_a_secret_that_is_missing_stops_nothing_but_the_records(self, service, aws, monkeypatch):
        made = served(aws, service.config(), service.bench.name())
        resolve = made.configs.resolve
        words = "ClusterProviderConfig dns: spec.dns: Secret n/dns does not exist"

        def resolved(mr, use):
            if use.suffix:
                raise ExternalError(words)
            return resolve(mr, use)

        made.configs.resolve = lambda mr, *use: resolved(mr, *use) if use else resolve(mr)
        made.run(120)
        assert made.told("DNSReady")[1:] == ("DNSError", f"spec.forProvider.dns: {words}")
        assert made.told("Ready")[0] == "True"
        made.configs.resolve = resolve
        made.run(60)
        assert made.told("DNSReady")[0] == "True"


def other_secret(service):
    if "cloudflare" in service.dns:
        return {TOKEN: {"token": SECRET}}
    if "azure" in service.dns:
        return {APPLICATION: {**service.secrets[APPLICATION], "clientSecret": SECRET}}
    return {API: {"key": SECRET}} if "powerdns" in service.dns else tsig(SECRET)


class TestDown:
    @pytest.fixture(autouse=True)
    def hasty(self, monkeypatch):
        for module, name in ((exchange, "_STEP_SECONDS"), (api, "_SECONDS")):
            monkeypatch.setattr(module, name, 0.2)

    def test_a_server_that_stops_answering_and_comes_back(self, request, service, tenant):
        name = request.node.callspec.params["service"]
        process = request.getfixturevalue(name).process
        process.send_signal(signal.SIGSTOP)
        try:
            more = service.bench.name()
            tenant.edit(domains=[domain_of(tenant), more])
            tenant.run(120, every=10)
            assert tenant.told("Ready")[0] == "True"
            status, reason, message = tenant.told("DNSReady")
            assert (status, reason) == ("False", "DNSRecordCreating")
            assert "cannot be read now: " in message
            assert "The provider tries again" in message
            said = set()
            for _ in range(12):
                tenant.run(5, every=5)
                said.add(tenant.told("DNSReady"))
            assert said == {(status, reason, message)}, "the status is not written at each attempt"
        finally:
            process.send_signal(signal.SIGCONT)
        tenant.run(180, every=10)
        assert tenant.told("DNSReady")[1] in SETTLED, tenant.told("DNSReady")
        assert service.target(more) == tenant.endpoint

    def test_while_it_is_down_the_tenant_is_not_deleted(self, request, service, tenant):
        name = request.node.callspec.params["service"]
        process = request.getfixturevalue(name).process
        domain = domain_of(tenant)
        process.send_signal(signal.SIGSTOP)
        try:
            tenant.delete()
            tenant.run(120, every=10)
            assert tenant.mr is not None, "the records lead to CloudFront"
            said = set()
            for _ in range(12):
                tenant.run(5, every=5)
                said.add(tenant.told("DNSReady"))
            ((status, reason, message),) = said
            assert (status, reason) == ("False", "DNSError")
            assert "the DNS service of ClusterProviderConfig dns does not answer" in message
        finally:
            process.send_signal(signal.SIGCONT)
        tenant.run(300, every=10)
        assert tenant.mr is None
        assert service.types(domain) == set()


class TestWithoutZone:
    """A service that shows no zone of a domain, although the provider made its records."""

    def test_a_config_that_names_another_zone_leaves_no_records(self, service, tenant):
        domain = domain_of(tenant)
        tenant.configs.dns = service.changed(zones=["other.test"]).config()
        tenant.run(120)
        (shown,) = tenant.instructions
        assert shown["managedBy"] == "Provider", "the records are still there"
        tenant.die()
        tenant.delete()
        tenant.run(240)
        assert tenant.mr is not None
        assert service.target(domain) == tenant.endpoint
        message = tenant.told("DNSReady")[2]
        assert f"the provider made records of {domain}, and ClusterProviderConfig dns has no zone" in message
        assert "remove spec.forProvider.dns of this resource" in message
        tenant.configs.dns = service.config()
        tenant.run(240)
        assert tenant.mr is None
        assert service.types(domain) == service.types(f"{MARK}{domain}") == set()

    def test_nor_does_one_that_names_no_service_any_more(self, tenant, aws):
        tenant.configs.dns = config(aws.url)
        tenant.delete()
        tenant.run(240)
        assert tenant.mr is not None
        assert "expected a DNS service, got none" in tenant.told("DNSReady")[2]
        tenant.edit(dns=None)
        tenant.run(240)
        assert tenant.mr is None, "a person decided that the records stay"

    def test_a_domain_without_records_keeps_no_tenant(self, service, aws):
        made = served(aws, service.config(), "shop.acme.com")
        made.run(60)
        assert "shop.acme.com: no zone of ClusterProviderConfig dns" in made.told("DNSReady")[2]
        made.delete()
        made.run(240)
        assert made.mr is None


class TestLastKnown:
    def test_what_the_zone_had_is_shown_while_the_config_fails(self, service, aws):
        made = served(aws, service.config(), service.bench.name())
        made.run(120)
        before = made.instructions
        assert before[0]["managedBy"] == "Provider"
        resolve = made.configs.resolve

        def resolved(mr, *use):
            if use and use[0].suffix:
                raise ExternalError("the Secret is gone")
            return resolve(mr, *use)

        made.configs.resolve = resolved
        made.run(60)
        assert made.told("DNSReady")[1:] == ("DNSError", "spec.forProvider.dns: the Secret is gone")
        assert [each["managedBy"] for each in made.instructions] == ["Provider"]
        assert [each["name"] for each in made.instructions] == [each["name"] for each in before]


class TestApex:
    def test_without_an_alias_it_is_told_and_the_other_domains_go_on(self, service, aws):
        domain = service.bench.name()
        made = served(aws, service.config(), ZONE, domain)
        made.run(120)
        status, reason, message = made.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert f"domain {ZONE}: this DNS service has no alias at the apex" in message
        assert service.target(domain) == made.endpoint
        made.delete()
        made.run(240)
        assert made.mr is None
        assert service.types(ZONE) == {"SOA", "NS"}

    def test_what_others_made_at_the_apex_since_the_last_look_stays(self, pdns_service, aws):
        service, servers = pdns_service.changed(apexAlias=True), new_servers(aws)
        store = servers.of(service.config()).store
        store.read(service.bench.zone, [ZONE, f"{MARK}{ZONE}", f"_cf-challenge.{ZONE}"])
        service.bench.put(RecordSet(ZONE, "A", ("192.0.2.1",), 300))
        try:
            made = served(aws, service.config(), ZONE, servers=servers)
            made.run(120)
            assert f"{ZONE} A 192.0.2.1" in made.told("DNSReady")[2]
            assert service.types(ZONE) == {"SOA", "NS", "A"}
        finally:
            service.bench.drop(ZONE, "A")

    def test_powerdns_makes_one_where_the_config_says_so(self, pdns_service, aws):
        service = pdns_service.changed(apexAlias=True)
        made = served(aws, service.config(), ZONE)
        made.run(120)
        assert "ALIAS" in {each.type for each in stored(service, made, ZONE)}
        assert made.told("DNSReady")[0] == "True", made.told("DNSReady")
        made.delete()
        made.run(240)
        assert {each.type for each in stored(service, made, ZONE)} == {"SOA", "NS"}


def stored(service, tenant, name):
    store = tenant.servers.of(service.config()).store
    return store.read(service.bench.zone, [name], fresh=True).of(name)


class TestTeams:
    def test_a_team_names_no_server_that_is_not_allowed(self, service, aws):
        made = served(aws, service.config("dns", "shop"), service.bench.name())
        made.run(120)
        status, reason, message = made.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert f"{HOST}:" in message
        assert "--namespaced-dns-servers" in message
        assert made.told("Ready")[0] == "True"

    def test_a_team_sends_no_updates_without_a_signature(self, bind_service, aws):
        said = bind_service.dns["rfc2136"]
        servers = new_servers(aws, Allowed(frozenset({(HOST, said["port"])})))
        bare = replace(
            bind_service.changed(tsigSecretRef=None),
            secrets={},
            dns={"rfc2136": {key: value for key, value in said.items() if key != "tsigSecretRef"}},
        )
        made = served(aws, bare.config("dns", "shop"), bare.bench.name(), servers=servers)
        made.run(60)
        assert "may not send updates without a signature" in made.told("DNSReady")[2]
