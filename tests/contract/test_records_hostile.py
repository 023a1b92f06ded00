"""Records that would be left leading to CloudFront, and changes that Route 53 refuses again and again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.managed import ProviderConfigKey
from tests.contract.emulated import DISTRIBUTION
from tests.contract.led import Led, Zone, dns_config, led
from tests.contract.test_records import BY_CLOUDFRONT, MARK, order


@pytest.fixture
def zone(aws):
    return Zone(aws, "example.com")


@pytest.fixture
def custom(aws):
    return Zone(aws, "custom.test")


@pytest.fixture
def acme(aws, zone) -> Led:
    tenant = led(aws, dns_config(aws, zone), "acme.example.com")
    tenant.run(120)
    assert tenant.told("DNSReady")[:2] == ("True", "DNSReady")
    return tenant


class TestNothingDangles:
    def test_the_records_of_a_tenant_that_was_never_made_go_with_the_resource(self, aws, custom):
        aws.fault("CreateDistributionTenant", every=True, code="EntityLimitExceeded", message="", status=400)
        tenant = led(aws, dns_config(aws, custom), "www.custom.test", **BY_CLOUDFRONT)
        tenant.run(120)
        assert ("www.custom.test", "CNAME") in custom.records
        tenant.delete()
        tenant.run(240)
        assert (tenant.mr, custom.records) == (None, {})

    def test_those_of_a_tenant_that_someone_deleted_in_aws_go_with_the_resource(self, acme, aws, zone):
        client = aws.calls._cloudfront
        found = client.get_distribution_tenant(Identifier="shop.acme")
        client.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"], IfMatch=found["ETag"], Enabled=False
        )
        acme.pass_time(120)
        acme.delete()
        tenant = client.get_distribution_tenant(Identifier="shop.acme")
        client.delete_distribution_tenant(Id=tenant["DistributionTenant"]["Id"], IfMatch=tenant["ETag"])
        acme.run(240)
        assert (acme.mr, zone.records) == (None, {})

    def test_those_of_a_domain_that_was_never_accepted_go_when_the_spec_drops_it(self, aws, custom):
        number = aws.fault(
            "CreateDistributionTenant", every=True, code="EntityLimitExceeded", message="", status=400
        )
        tenant = led(aws, dns_config(aws, custom), "a.custom.test", "b.custom.test", **BY_CLOUDFRONT)
        tenant.run(60)
        assert ("b.custom.test", "CNAME") in custom.records
        tenant.restart()
        tenant.edit(domains=["a.custom.test"])
        tenant.run(700)
        assert ("a.custom.test", "CNAME") in custom.records
        assert ("b.custom.test", "CNAME") not in custom.records
        aws.admin("DELETE", f"faults/{number}")

    def test_nor_do_those_of_an_update_that_was_refused(self, aws, custom):
        tenant = led(aws, dns_config(aws, custom), "a.custom.test", **BY_CLOUDFRONT)
        tenant.run(300)
        assert tenant.told("Ready")[0] == "True"
        aws.fault("UpdateDistributionTenant", every=True, code="EntityLimitExceeded", message="", status=400)
        tenant.edit(domains=["a.custom.test", "b.custom.test"])
        tenant.run(120)
        assert ("b.custom.test", "CNAME") in custom.records
        tenant.edit(domains=["a.custom.test"])
        tenant.run(120)
        assert ("b.custom.test", "CNAME") not in custom.records
        assert ("a.custom.test", "CNAME") in custom.records

    def test_records_of_a_domain_that_another_tenant_has_by_now_stay(self, aws, zone):
        tenant = led(aws, dns_config(aws, zone), "a.example.com", "b.example.com")
        tenant.run(120)
        before = zone.records
        client = aws.calls._cloudfront
        other = client.create_distribution_tenant(
            DistributionId=DISTRIBUTION, Name="console", Domains=[{"Domain": "c.example.com"}]
        )
        aws.deploy()
        aws.admin("PATCH", "distribution-tenants/shop.acme", {"Domains": [{"Domain": "a.example.com"}]})
        both = [{"Domain": "b.example.com"}, {"Domain": "c.example.com"}]
        aws.admin("PATCH", f"distribution-tenants/{other['DistributionTenant']['Name']}", {"Domains": both})
        tenant.edit(domains=["a.example.com"])
        tenant.run(200)
        assert zone.records == before
        assert tenant.told("Synced")[0] == "True", "it is not its business any more"
        writes = len(tenant.writes)
        tenant.run(300)
        assert len(tenant.writes) == writes

    def test_a_resource_that_only_lists_a_domain_takes_no_records_of_another_with_it(self, acme, aws, zone):
        before = zone.records
        other = dns_config(aws, zone)
        lister = led(aws, other, "acme.example.com", name="lister", dns={"configRef": {"name": "dns"}})
        lister.run(30)
        assert lister.told("Ready")[:2] == ("False", "DomainConflict")
        lister.delete()
        lister.run(60)
        assert lister.mr is None
        assert zone.records == before

    def test_those_in_a_zone_that_the_config_does_not_name_any_more_are_not_forgotten(self, acme, aws, zone):
        other = Zone(aws, "other.test")
        acme.configs.dns = dns_config(aws, other)
        acme.restart()
        acme.delete()
        acme.run(240)
        assert acme.mr is not None
        assert ("acme.example.com", "CNAME") in zone.records
        assert "the provider made records of acme.example.com" in acme.told("DNSReady")[2]
        acme.configs.dns = dns_config(aws, zone, other)
        acme.run(240)
        assert (acme.mr, zone.records) == (None, {})

    def test_a_view_from_before_they_were_made_does_not_keep_them(self, acme, aws, zone):
        key = ProviderConfigKey("ClusterProviderConfig", "dns2", "")
        second = replace(dns_config(aws, zone), key=key, uid="u-2")
        acme.configs.dns = second
        acme.reconcile()
        assert order(aws, "ListResourceRecordSets"), "the second config has its own view now"
        first = dns_config(aws, zone)
        acme.configs.dns = first
        acme.edit(domains=["acme.example.com", "late.example.com"])
        acme.run(150)
        assert ("late.example.com", "CNAME") in zone.records
        acme.configs.dns = second
        acme.delete()
        acme.run(200)
        assert (acme.mr, zone.records) == (None, {})


class TestRefusedForGood:
    def test_it_is_told_and_not_tried_every_second(self, aws, zone):
        said = "[Number of records limit of 10000 exceeded.]"
        aws.fault("ChangeResourceRecordSets", every=True, code="InvalidChangeBatch", message=said, status=400)
        tenant = led(aws, dns_config(aws, zone), "acme.example.com")
        tenant.run(60)
        assert tenant.told("DNSReady")[1] == "DNSError"
        assert "limit of 10000" in tenant.told("DNSReady")[2]


class TestLostAnswers:
    def test_a_removal_whose_answer_is_lost_is_waited_for_as_any(self, acme, aws, zone, request):
        aws.admin("PATCH", "settings", {"route53_change_seconds": 60})
        request.addfinalizer(lambda: aws.admin("PATCH", "settings", {"route53_change_seconds": 0}))
        aws.fault(
            "ChangeResourceRecordSets", nth=1, when="after", code="InternalError", message="oops", status=500
        )
        aws.admin("DELETE", "calls")
        acme.delete()
        acme.run(30)
        assert zone.records == {}
        assert order(aws, "UpdateDistributionTenant", "DeleteDistributionTenant") == []


class TestMovesBetweenNamespaces:
    """A domain that moves takes its records with it, also to another namespace: who has the domain corrects
    and removes them."""

    @pytest.fixture
    def teams(self, aws, zone) -> tuple[Led, Led]:
        """A giver with two domains and a taker with one, whose resources know each other."""
        aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
        giver = led(aws, dns_config(aws, zone), "moves.example.com", "stays.example.com", namespace="team-a")
        taker = led(aws, dns_config(aws, zone), "own.example.com", namespace="team-b")
        for each in (giver, taker):
            each.everyone = lambda: [one.mr for one in (giver, taker) if one.mr]  # type: ignore[method-assign]
            each.run(120)
        return giver, taker

    def take(self, taker: Led, giver: Led) -> None:
        id_ = giver.stored["status"]["atProvider"]["id"]
        taker.edit(
            {"edgetenants.io/take-domains-from": id_}, domains=["own.example.com", "moves.example.com"]
        )

    def give(self, giver: Led, to: str = "team-b/team-b.acme") -> None:
        giver.edit({"edgetenants.io/give-domains-to": to})

    def test_who_got_the_domain_has_the_records_and_removes_them(self, teams, zone):
        giver, taker = teams
        before = dict(zone.records)
        self.give(giver)
        self.take(taker, giver)
        taker.run(120)
        assert taker.told("DNSReady")[:2] == ("True", "DNSReady")
        mark = (f"{MARK}moves.example.com", "TXT")
        assert zone.records[mark] != before[mark]
        assert {**zone.records, mark: ""} == {**before, mark: ""}
        giver.edit(domains=["stays.example.com"])
        giver.run(120)
        assert ("moves.example.com", "CNAME") in zone.records
        taker.delete()
        taker.run(120)
        assert taker.mr is None
        assert {name for name, _ in zone.records} == {"stays.example.com", f"{MARK}stays.example.com"}

    def test_a_new_process_takes_them_over_too(self, teams, aws, zone):
        giver, taker = teams
        self.give(giver)
        self.take(taker, giver)
        aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", message="no", status=500)
        taker.run(120)
        assert taker.told("DNSReady")[0] == "False"
        aws.admin("DELETE", "faults")
        taker.restart()
        taker.run(120)
        assert taker.told("DNSReady")[:2] == ("True", "DNSReady")

    def test_no_one_takes_over_records_before_the_domain(self, teams, aws, zone):
        giver, taker = teams
        self.give(giver)
        before = dict(zone.records)
        aws.fault("UpdateDomainAssociation", every=True, code="InternalError", message="no", status=500)
        self.take(taker, giver)
        taker.run(120)
        assert zone.records == before
        assert taker.told("DNSReady")[1] == "DNSError", "they are the giver's until then"

    def test_the_receiver_removes_them_also_before_it_has_the_mark(self, teams, aws, zone):
        giver, taker = teams
        self.give(giver)
        self.take(taker, giver)
        aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", message="no", status=500)
        taker.run(60)
        giver.edit(domains=["stays.example.com"])
        aws.admin("DELETE", "faults")
        taker.delete()
        taker.run(120)
        assert taker.mr is None
        assert {name for name, _ in zone.records} == {"stays.example.com", f"{MARK}stays.example.com"}

    def test_only_the_resource_that_made_them_can_agree(self, teams, aws, zone):
        giver, taker = teams
        before = dict(zone.records)
        self.give(giver)
        self.take(taker, giver)
        aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", message="no", status=500)
        taker.run(60)
        self.give(giver, "")
        other = led(aws, giver.configs.dns, "x.example.com", name="other", namespace="team-a")
        other.edit({"edgetenants.io/give-domains-to": "team-b/team-b.acme"})
        taker.everyone = lambda: [one.mr for one in (giver, taker, other) if one.mr]
        aws.admin("DELETE", "faults")
        taker.run(120)
        assert taker.told("DNSReady")[1] == "DNSError"
        assert zone.records == before

    def test_one_that_only_observes_does_not_agree(self, teams, aws, zone):
        giver, taker = teams
        before = dict(zone.records)
        self.give(giver)
        self.take(taker, giver)
        aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", message="no", status=500)
        taker.run(60)
        stored = giver.stored
        stored["spec"]["managementPolicies"] = ["Observe"]
        giver.objects.put(giver.kind, stored)
        aws.admin("DELETE", "faults")
        taker.run(120)
        assert taker.told("DNSReady")[1] == "DNSError"
        assert zone.records == before

    @pytest.mark.parametrize("to", ["", "team-b/team-b.other", "team-c/team-b.acme"])
    def test_without_consent_they_are_anothers(self, teams, aws, zone, to):
        giver, taker = teams
        before = dict(zone.records)
        self.give(giver)
        self.take(taker, giver)
        aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", message="no", status=500)
        taker.run(60)
        self.give(giver, to)
        aws.admin("DELETE", "faults")
        taker.run(120)
        has = {each["domain"] for each in taker.stored["status"]["atProvider"]["domains"]}
        assert "moves.example.com" in has
        assert taker.told("DNSReady")[1] == "DNSError"
        assert zone.records == before
