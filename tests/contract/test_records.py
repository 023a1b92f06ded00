"""The DNS records of tenants in Route 53: made in the right order, never those of others, and gone before the
tenant."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import botocore.client
import pytest

from tests.contract.led import DNS, Led, Zone, dns_config, led

BY_CLOUDFRONT = {"managedCertificateRequest": {"validationTokenHost": "cloudfront"}}
MARK = "_edgetenants."


@pytest.fixture
def zone(aws):
    return Zone(aws, "example.com")


@pytest.fixture
def acme(aws, zone) -> Led:
    tenant = led(aws, dns_config(aws, zone), "acme.example.com")
    tenant.run(120)
    assert tenant.told("DNSReady")[:2] == ("True", "DNSReady")
    return tenant


def order(aws, *operations: str) -> list[str]:
    """The calls of these operations, in order."""
    return [each for each in aws.journal if each in operations]


class TestMade:
    def test_a_domain_below_the_apex_has_a_cname_and_a_mark(self, acme, zone):
        assert {key[:2] for key in zone.records} == {
            ("acme.example.com", "CNAME"),
            (f"{MARK}acme.example.com", "TXT"),
        }
        assert zone.records["acme.example.com", "CNAME"] == acme.endpoint
        (shown,) = acme.instructions
        assert (shown["state"], shown["managedBy"]) == ("Present", "Provider")
        mark = zone.records[f"{MARK}acme.example.com", "TXT"]
        assert "shop" not in mark, "the names of namespaces do not belong in public DNS"

    def test_an_apex_has_aliases_and_the_record_that_proves_them(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "example.com")
        tenant.run(120)
        endpoint = tenant.endpoint
        assert zone.records == {
            ("example.com", "A"): endpoint,
            ("example.com", "AAAA"): endpoint,
            ("_cf-challenge.example.com", "TXT"): f'"{endpoint}"',
            (f"{MARK}example.com", "TXT"): zone.records[f"{MARK}example.com", "TXT"],
        }
        assert {each["state"] for each in tenant.instructions} == {"Present"}

    def test_a_wildcard_has_a_mark_of_its_own(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "*.example.com")
        tenant.run(120)
        assert zone.records["*.example.com", "CNAME"] == tenant.endpoint
        assert tenant.told("DNSReady")[0] == "True"
        tenant.delete()
        tenant.run(240)
        assert (tenant.mr, zone.records) == (None, {})

    def test_other_record_sets_of_an_apex_stay(self, aws, zone):
        zone.put("example.com", "MX", "10 mail.example.com.")
        zone.put("example.com", "TXT", '"v=spf1 -all"')
        tenant = led(aws, dns_config(aws, zone), "example.com")
        tenant.run(120)
        assert tenant.told("DNSReady")[0] == "True"
        tenant.delete()
        tenant.run(240)
        assert zone.records == {
            ("example.com", "MX"): "10 mail.example.com.",
            ("example.com", "TXT"): '"v=spf1 -all"',
        }

    def test_the_zone_with_the_longest_name_is_used_and_a_private_one_is_not(self, aws, zone):
        inner = Zone(aws, "eu.example.com")
        Zone(
            aws,
            "shop.eu.example.com",
            VPC={"VPCRegion": "us-east-1", "VPCId": "vpc-1"},
            HostedZoneConfig={"PrivateZone": True, "Comment": ""},
        )
        tenant = led(aws, dns_config(aws), "a.shop.eu.example.com", **BY_CLOUDFRONT)
        tenant.run(60)
        assert ("a.shop.eu.example.com", "CNAME") in inner.records
        assert zone.records == {}

    def test_of_a_zone_in_another_account(self, aws):
        zone = Zone(aws, "example.com", account="222222222222")
        tenant = led(aws, dns_config(aws, zone, account="222222222222"), "acme.example.com")
        tenant.run(120)
        assert tenant.told("DNSReady")[:2] == ("True", "DNSReady")
        assert ("acme.example.com", "CNAME") in zone.records

    def test_with_the_time_to_live_of_the_spec(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "acme.example.com", dns={**DNS, "ttlSeconds": 60})
        tenant.run(120)
        rows = zone.client.list_resource_record_sets(HostedZoneId=zone.id)["ResourceRecordSets"]
        assert [row["TTL"] for row in rows if row["Type"] == "CNAME"] == [60]
        tenant.edit(dns={**DNS, "ttlSeconds": 120})
        tenant.run(60)
        rows = zone.client.list_resource_record_sets(HostedZoneId=zone.id)["ResourceRecordSets"]
        assert [row["TTL"] for row in rows if row["Type"] == "CNAME"] == [120]

    def test_at_rest_nothing_is_written_and_a_zone_is_read_every_ten_minutes(self, acme, aws):
        acme.run(60)
        aws.admin("DELETE", "calls")
        before = len(acme.writes)
        acme.run(3600, every=30)
        assert len(acme.writes) == before
        assert 1 <= len(order(aws, "ListResourceRecordSets")) <= 7
        assert order(aws, "ChangeResourceRecordSets", "GetChange") == []

    def test_many_domains_of_a_tenant_take_one_request(self, aws, zone):
        domains = [f"d{number}.example.com" for number in range(40)]
        tenant = led(aws, dns_config(aws, zone), *domains)
        tenant.run(150)
        assert tenant.told("DNSReady")[0] == "True"
        assert len(order(aws, "ChangeResourceRecordSets")) == 1
        assert len(zone.records) == 80


class TestOrder:
    def test_records_come_first_where_cloudfront_answers_the_validation(self, aws):
        zone = Zone(aws, "custom.test")
        tenant = led(aws, dns_config(aws, zone), "www.custom.test", **BY_CLOUDFRONT)
        tenant.run(300)
        assert tenant.told("Ready")[0] == "True", tenant.told("Ready")
        assert order(aws, "ChangeResourceRecordSets", "CreateDistributionTenant") == [
            "ChangeResourceRecordSets",
            "CreateDistributionTenant",
        ]
        assert tenant.told("CertificateReady")[1] == "Validated"

    def test_no_one_is_asked_to_make_the_records_of_the_provider(self, aws):
        tenant = led(aws, dns_config(aws, Zone(aws, "custom.test")), "www.custom.test", **BY_CLOUDFRONT)
        told = set()
        for _ in range(60):
            tenant.run(5)
            told.add(tenant.told("CertificateReady")[1:])
        said = " ".join(words for reason, words in told if reason == "PendingValidation")
        assert "The provider makes the records" in said
        assert "Create the records" not in said

    def test_no_record_is_made_for_a_domain_that_another_tenant_has(self, aws):
        zone = Zone(aws, "example.com")
        first = led(aws, dns_config(aws, zone), "acme.example.com", name="first", dns=None)
        first.run(60)
        second = led(aws, dns_config(aws, zone), "acme.example.com", name="second", **BY_CLOUDFRONT)
        second.run(60)
        assert second.told("Ready")[:2] == ("False", "DomainConflict")
        assert zone.records == {}

    def test_a_name_that_answers_elsewhere_is_not_led_away_before_the_tenant_serves(self, aws):
        zone = Zone(aws, "custom.test")
        zone.put("*.custom.test", "CNAME", "old.example.net")
        tenant = led(aws, dns_config(aws, zone), "www.custom.test", **BY_CLOUDFRONT)
        tenant.run(60)
        assert list(zone.records) == [("*.custom.test", "CNAME")]
        status, reason, message = tenant.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert "*.custom.test CNAME old.example.net" in message
        token = message.rpartition("edgetenants.io/confirm to ")[2].rstrip(".")
        tenant.edit(annotations={"edgetenants.io/confirm": token})
        tenant.run(600)
        assert tenant.told("DNSReady")[0] == "True"
        assert tenant.told("Ready")[0] == "True", tenant.told("Ready")

    def test_under_a_certificate_the_record_beside_a_wildcard_comes_once_it_serves(self, aws, zone):
        zone.put("*.example.com", "CNAME", "old.example.net")
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(200)
        assert zone.records["acme.example.com", "CNAME"] == tenant.endpoint
        assert tenant.told("DNSReady")[0] == "True"

    def test_the_records_of_a_removed_domain_go_before_the_domain(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "a.example.com", "b.example.com")
        tenant.run(120)
        aws.admin("DELETE", "calls")
        tenant.edit(domains=["a.example.com"])
        tenant.run(150)
        assert {name for name, _ in zone.records} == {"a.example.com", f"{MARK}a.example.com"}
        changes = order(aws, "ChangeResourceRecordSets", "UpdateDistributionTenant")
        assert changes == ["ChangeResourceRecordSets", "UpdateDistributionTenant"]
        assert tenant.told("InSync")[0] == "True"

    def test_the_records_go_before_the_tenant(self, acme, aws, zone):
        aws.admin("DELETE", "calls")
        acme.delete()
        acme.run(10)
        assert zone.records == {}
        assert order(aws, "UpdateDistributionTenant", "DeleteDistributionTenant") == []
        acme.run(240)
        assert acme.mr is None
        assert (
            order(aws, "ChangeResourceRecordSets", "DeleteDistributionTenant")[0]
            == "ChangeResourceRecordSets"
        )

    def test_an_orphaned_tenant_keeps_its_records(self, acme, aws, zone):
        stored = acme.stored
        stored["spec"]["managementPolicies"] = ["Observe", "Create", "Update", "LateInitialize"]
        acme.objects.put(acme.kind, stored)
        acme.reconcile()
        acme.delete()
        acme.run(60)
        assert acme.mr is None
        assert ("acme.example.com", "CNAME") in zone.records

    def test_records_of_a_domain_that_another_resource_of_the_namespace_takes_over_stay(
        self, acme, aws, zone
    ):
        other = led(aws, acme.configs.dns, "acme.example.com", name="other")
        both = lambda: [each.mr for each in (acme, other) if each.mr]  # noqa: E731
        acme.everyone = other.everyone = both
        before = zone.records
        acme.delete()
        for _ in range(60):
            for each in (acme, other):
                if each.mr:
                    each.reconcile()
            assert set(zone.records) == set(before), "visitors find it all the time"
            acme.pass_time(5)
        assert acme.mr is None
        assert other.told("DNSReady")[0] == "True"

    def test_a_stranger_who_lists_the_domain_takes_nothing_over(self, acme, aws, zone):
        stranger = led(aws, acme.configs.dns, "acme.example.com", name="other", namespace="evil")
        acme.everyone = lambda: [each.mr for each in (acme, stranger) if each.mr]
        acme.delete()
        acme.run(240)
        assert zone.records == {}

    def test_without_dns_in_the_spec_the_records_stay(self, acme, aws, zone):
        acme.edit(dns=None)
        acme.run(30)
        assert acme.told("DNSReady")[:2] == ("True", "DNSNotConfigured")
        assert "managedBy" not in acme.instructions[0]
        acme.delete()
        acme.run(120)
        assert acme.mr is None
        assert ("acme.example.com", "CNAME") in zone.records


class TestOfOthers:
    def test_a_record_that_others_made_stays_and_is_named(self, aws, zone):
        zone.put("acme.example.com", "CNAME", "old.example.net")
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(120)
        assert zone.records == {("acme.example.com", "CNAME"): "old.example.net"}
        status, reason, message = tenant.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert "acme.example.com CNAME old.example.net" in message
        assert tenant.told("Ready")[0] == "True", "CloudFront serves it all the same"
        tenant.delete()
        tenant.run(120)
        assert tenant.mr is None
        assert zone.records == {("acme.example.com", "CNAME"): "old.example.net"}

    def test_one_that_leads_to_the_right_place_is_enough(self, aws, zone):
        before = led(aws, dns_config(aws, zone), "x.example.com", dns=None)
        before.run(60)
        zone.put("acme.example.com", "CNAME", before.endpoint)
        tenant = led(aws, dns_config(aws, zone), "acme.example.com", name="other")
        tenant.run(60)
        assert tenant.told("DNSReady")[0] == "True"
        assert "managedBy" not in tenant.instructions[0]
        tenant.delete()
        tenant.run(120)
        assert zone.records == {("acme.example.com", "CNAME"): before.endpoint}

    def test_it_is_replaced_where_the_config_allows_it_and_a_user_confirms(self, aws, zone):
        zone.put("acme.example.com", "A", "192.0.2.1")
        dns = dns_config(aws, zone, existingRecords="ReplaceIfConfirmed")
        tenant = led(aws, dns, "acme.example.com")
        tenant.run(60)
        assert zone.records == {("acme.example.com", "A"): "192.0.2.1"}
        token = tenant.told("DNSReady")[2].rpartition("edgetenants.io/confirm to ")[2].rstrip(".")
        tenant.edit(annotations={"edgetenants.io/confirm": token})
        tenant.run(60)
        assert zone.records["acme.example.com", "CNAME"] == tenant.endpoint
        assert ("acme.example.com", "A") not in zone.records

    def test_a_confirmation_does_nothing_where_the_config_keeps_them(self, aws, zone):
        zone.put("acme.example.com", "A", "192.0.2.1")
        allowing = led(aws, dns_config(aws, zone, existingRecords="ReplaceIfConfirmed"), "acme.example.com")
        allowing.run(30)
        token = allowing.told("DNSReady")[2].rpartition("edgetenants.io/confirm to ")[2].rstrip(".")
        allowing.configs.dns = dns_config(aws, zone)
        allowing.accounts.gone("u-dns")
        allowing.accounts.back("u-dns")
        allowing.edit(annotations={"edgetenants.io/confirm": token})
        allowing.run(60)
        assert zone.records == {("acme.example.com", "A"): "192.0.2.1"}

    def test_mail_is_never_deleted(self, aws, zone):
        zone.put("acme.example.com", "MX", "10 mail.example.com.")
        dns = dns_config(aws, zone, existingRecords="ReplaceIfConfirmed")
        tenant = led(aws, dns, "acme.example.com")
        tenant.run(30)
        token = tenant.told("DNSReady")[2].rpartition("edgetenants.io/confirm to ")[2].rstrip(".")
        tenant.edit(annotations={"edgetenants.io/confirm": token})
        tenant.run(30)
        assert zone.records == {("acme.example.com", "MX"): "10 mail.example.com."}

    def test_the_records_of_another_namespace_stay(self, acme, aws, zone):
        before = zone.records
        acme.edit(dns=None, domains=["other.example.com"])
        acme.run(60)
        evil = led(aws, acme.configs.dns, "acme.example.com", name="x", namespace="evil")
        evil.run(60)
        assert evil.told("DNSReady")[:2] == ("False", "DNSError")
        assert "shop" not in evil.told("DNSReady")[2]
        evil.delete()
        evil.run(120)
        assert evil.mr is None
        assert zone.records == before

    def test_a_record_that_a_person_led_elsewhere_since_is_left_at_the_end(self, acme, zone):
        acme.stored["spec"]["driftPolicy"] = "Report"
        stored = acme.stored
        stored["spec"]["driftPolicy"] = "Report"
        acme.objects.put(acme.kind, stored)
        zone.put("acme.example.com", "CNAME", "new.example.net")
        acme.delete()
        acme.run(900)
        assert acme.mr is None
        assert zone.records == {("acme.example.com", "CNAME"): "new.example.net"}


class TestDrift:
    def test_a_record_that_someone_deleted_comes_back(self, acme, zone):
        zone.empty("acme.example.com")
        acme.run(900)
        assert zone.records["acme.example.com", "CNAME"] == acme.endpoint

    def test_a_record_that_someone_changed_is_repaired(self, acme, zone):
        zone.put("acme.example.com", "CNAME", "old.example.net")
        acme.run(900)
        assert zone.records["acme.example.com", "CNAME"] == acme.endpoint

    def test_or_reported_under_the_policy_report(self, acme, zone):
        stored = acme.stored
        stored["spec"]["driftPolicy"] = "Report"
        acme.objects.put(acme.kind, stored)
        zone.put("acme.example.com", "CNAME", "old.example.net")
        acme.run(900)
        assert zone.records["acme.example.com", "CNAME"] == "old.example.net"
        assert acme.told("DNSReady")[0] == "False"
        assert acme.instructions[0]["state"] == "Wrong"

    def test_another_routing_endpoint_is_no_drift(self, acme, aws, zone):
        stored = acme.stored
        stored["spec"]["driftPolicy"] = "Report"
        acme.objects.put(acme.kind, stored)
        group = aws.calls._cloudfront.create_connection_group(Name="other")["ConnectionGroup"]
        aws.fault("ChangeResourceRecordSets", code="Throttling", message="slow", status=400)
        before = acme.endpoint
        acme.edit(connectionGroupId=group["Id"])
        acme.reconcile()
        (shown,) = acme.instructions
        assert shown["found"] == f"CNAME {before}", "what leads to the old group keeps it"
        acme.run(300)
        assert zone.records["acme.example.com", "CNAME"] == group["RoutingEndpoint"]
        assert "found" not in acme.instructions[0]


class TestTrouble:
    def test_a_domain_without_a_zone(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "shop.acme.com")
        tenant.run(60)
        status, reason, message = tenant.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert "shop.acme.com: no zone of ClusterProviderConfig dns contains it" in message
        assert tenant.told("Ready")[0] == "True"

    def test_a_zone_that_is_deleted_under_us(self, acme, aws, zone):
        zone.empty("acme.example.com")
        zone.empty(f"{MARK}acme.example.com")
        zone.client.delete_hosted_zone(Id=zone.id)
        acme.run(1800, every=20)
        assert acme.told("DNSReady")[:2] == ("False", "DNSError")
        assert acme.told("Ready")[0] == "True"
        acme.delete()
        acme.run(240)
        assert acme.mr is None

    def test_a_zone_that_comes_back_with_another_id(self, acme, aws, zone):
        acme.configs.dns = dns_config(aws)
        acme.run(30)
        zone.empty("acme.example.com")
        zone.empty(f"{MARK}acme.example.com")
        zone.client.delete_hosted_zone(Id=zone.id)
        again = Zone(aws, "example.com")
        acme.run(1800, every=20)
        assert again.records["acme.example.com", "CNAME"] == acme.endpoint

    def test_without_the_permission_it_says_so_and_the_tenant_serves(self, aws, zone):
        aws.fault("ChangeResourceRecordSets", every=True, code="AccessDenied", message="no", status=403)
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(120)
        assert tenant.told("Ready")[0] == "True"
        status, reason, message = tenant.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert "AccessDenied" in message

    def test_while_they_cannot_be_removed_the_tenant_stays(self, acme, aws, zone):
        aws.fault("ChangeResourceRecordSets", every=True, code="AccessDenied", message="no", status=403)
        acme.delete()
        acme.run(120)
        assert acme.mr is not None
        assert "remove spec.forProvider.dns" in acme.told("DNSReady")[2]
        assert aws.calls.get_tenant("shop.acme").enabled
        acme.edit(dns=None)
        acme.run(120)
        assert acme.mr is None

    def test_a_config_that_is_missing_stops_nothing_but_the_records(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        spec = {key: value for key, value in tenant.configs.dns.spec.items() if key != "dns"}
        tenant.configs.dns = replace(tenant.configs.dns, spec=spec)
        tenant.run(60)
        assert tenant.told("Ready")[0] == "True"
        assert tenant.told("DNSReady")[1:] == (
            "DNSError",
            "spec.forProvider.dns: ClusterProviderConfig dns: spec.dns: expected a DNS service, got none",
        )
        tenant.delete()
        tenant.run(120)
        assert tenant.mr is None, "no record was ever made"

    def test_records_that_cloudfront_does_not_see_are_told(self, aws, zone, request):
        aws.admin("PATCH", "settings", {"dns_propagation_seconds": 1800})
        request.addfinalizer(lambda: aws.admin("PATCH", "settings", {"dns_propagation_seconds": 0}))
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(300)
        tenant.edit(annotations={"crossplane.io/reconcile-requested-at": "now"})
        tenant.run(30)
        status, reason, message = tenant.told("DNSReady")
        assert (status, reason) == ("False", "DNSPropagating")
        assert "CloudFront does not see them yet" in message
        assert tenant.instructions[0]["state"] == "Missing"
        before = len(tenant.writes)
        tenant.run(600)
        assert len(tenant.writes) == before, "it does not flap"
        tenant.run(6000, every=60)
        assert tenant.told("DNSReady")[0] == "True"
        assert tenant.instructions[0]["state"] == "Present"

    def test_a_zone_that_is_busy_is_asked_again(self, aws, zone, request):
        aws.admin("PATCH", "settings", {"route53_change_seconds": 30})
        request.addfinalizer(lambda: aws.admin("PATCH", "settings", {"route53_change_seconds": 0}))
        tenants = [led(aws, dns_config(aws, zone), f"t{n}.example.com", name=f"t{n}") for n in range(3)]
        for _ in range(60):
            for each in tenants:
                each.reconcile()
            tenants[0].pass_time(5)
        assert [each.told("DNSReady")[0] for each in tenants] == ["True"] * 3

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize(
        "operation", ["ChangeResourceRecordSets", "ListResourceRecordSets", "GetHostedZone", "GetChange"]
    )
    def test_a_failed_call_leaves_no_trace(self, aws, zone, operation, when):
        for nth in (1, 2):
            aws.fault(operation, nth=nth, when=when, code="InternalError", message="oops", status=500)
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(300)
        assert tenant.told("DNSReady")[:2] == ("True", "DNSReady")
        assert len(zone.records) == 2
        for nth in (1, 2):
            aws.fault(operation, nth=nth, when=when, code="InternalError", message="oops", status=500)
        tenant.delete()
        tenant.run(600)
        assert (tenant.mr, zone.records) == (None, {})


class Killed(BaseException):
    """The process is gone."""


class TestKilled:
    """The process dies at any call, before or after AWS gets it, and another one goes on."""

    @pytest.mark.parametrize("certificate", [{}, BY_CLOUDFRONT], ids=["records last", "records first"])
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_at_each_call(self, aws, monkeypatch, certificate, after):
        zone = Zone(aws, "custom.test" if certificate else "example.com")
        domain = f"www.{zone.name}"
        made, died = botocore.client.BaseClient._make_api_call, set[tuple[str, int]]()
        counts = Counter[str]()

        def call(client, operation, params):
            counts[operation] += 1
            here = (operation, counts[operation])
            if client is zone.client or operation not in DEADLY or here in died or here[1] > 3:
                return made(client, operation, params)
            died.add(here)
            if after:
                made(client, operation, params)
            raise Killed

        tenant = led(aws, dns_config(aws, zone), domain, **certificate)
        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
        for step in (lambda: None, lambda: tenant.edit(parameters={"tenantName": "b"}), tenant.delete):
            step()
            counts.clear()
            died.clear()
            for _ in range(150):
                if tenant.mr is None:
                    break
                try:
                    tenant.reconcile()
                except Killed:
                    tenant.restart()
                tenant.pass_time(5)
                served = [each["Name"] for each in aws.tenants if each["Enabled"]]
                if step == tenant.delete and zone.records:
                    assert served, "a record leads to nothing"
            if step != tenant.delete:
                assert tenant.told("DNSReady")[:2] == ("True", "DNSReady")
                assert len(zone.records) == 2
        assert died, "the test does not kill"
        # After a creation without an answer, the resource itself waits for two minutes of real time.
        assert (aws.tenants, zone.records) == ([], {})


DEADLY = frozenset(
    {
        "ChangeResourceRecordSets",
        "GetChange",
        "ListResourceRecordSets",
        "CreateDistributionTenant",
        "UpdateDistributionTenant",
        "DeleteDistributionTenant",
    }
)
