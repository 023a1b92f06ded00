"""Issued managed certificates: their dates, renewals and end, and what ACM says of certificates in use."""

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from edgetenants_emulator import EmulatorServer

DOMAIN = "shop.lives.test"
DAY = 24 * 3600
SELF_HOSTED = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}


class Life:
    """A tenant `acme` with an attached managed certificate for DOMAIN, which points to its endpoint."""

    def __init__(self, aws, admin):
        self.aws, self.admin, self.acm = aws, admin, aws.client("acm")
        groups = aws.cloudfront.list_connection_groups()["ConnectionGroups"]
        self.endpoint = groups[0]["RoutingEndpoint"]
        self.point()
        self.made = aws.tenant(Domains=[{"Domain": DOMAIN}], **SELF_HOSTED)["DistributionTenant"]
        admin.step(60)
        self.arn = self.details()["CertificateArn"]
        assert self.details()["CertificateStatus"] == "issued"

    def attach(self, customizations=None):
        found = self.aws.cloudfront.get_distribution_tenant(Identifier="acme")
        self.aws.cloudfront.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"],
            IfMatch=found["ETag"],
            Customizations={"Certificate": {"Arn": self.arn}} if customizations is None else customizations,
        )

    def point(self):
        record = {"name": DOMAIN, "type": "CNAME", "values": [self.endpoint]}
        self.admin("POST", "records", record)

    def astray(self):
        self.admin("DELETE", f"records?name={DOMAIN}")

    def details(self):
        found = self.aws.cloudfront.get_managed_certificate_details(Identifier="acme")
        return found["ManagedCertificateDetails"]

    def acms(self):
        return self.acm.describe_certificate(CertificateArn=self.arn)["Certificate"]

    def domain(self):
        found = self.aws.cloudfront.get_distribution_tenant(Identifier="acme")
        return found["DistributionTenant"]["Domains"][0]["Status"]

    def etag(self):
        return self.aws.cloudfront.get_distribution_tenant(Identifier="acme")["ETag"]


@pytest.fixture
def life(aws, admin):
    return Life(aws, admin)


@pytest.fixture
def attached(life):
    life.attach()
    return life


class TestDates:
    def test_thirteen_months_from_the_issue(self, attached):
        seen = attached.acms()
        assert seen["NotAfter"] - seen["NotBefore"] == timedelta(days=395)
        assert seen["NotBefore"] == seen["IssuedAt"]
        assert seen["IssuedAt"] - seen["CreatedAt"] == timedelta(seconds=60)
        assert "RenewalSummary" not in seen

    def test_a_pending_one_has_none(self, aws, admin):
        aws.tenant(Domains=[{"Domain": DOMAIN}], **SELF_HOSTED)
        acm = aws.client("acm")
        found = aws.cloudfront.get_managed_certificate_details(Identifier="acme")
        arn = found["ManagedCertificateDetails"]["CertificateArn"]
        seen = acm.describe_certificate(CertificateArn=arn)["Certificate"]
        assert not {"NotBefore", "NotAfter", "IssuedAt", "RenewalSummary"} & set(seen)
        assert "CreatedAt" in seen
        listed = {each["CertificateArn"] for each in acm.list_certificates()["CertificateSummaryList"]}
        assert arn in listed

    def test_the_life_is_a_setting(self, aws, admin):
        admin.settings(certificate_valid_days=90)
        seen = Life(aws, admin).acms()
        assert seen["NotAfter"] - seen["NotBefore"] == timedelta(days=90)


class TestRenewal:
    def test_sixty_days_before_the_end(self, attached, admin):
        first, etag = attached.acms(), attached.etag()
        admin.step(335 * DAY - 120)
        assert attached.acms()["NotAfter"] == first["NotAfter"]
        admin.step(120)
        renewed = attached.acms()
        assert renewed["NotBefore"] - first["NotBefore"] == timedelta(days=335)
        assert renewed["NotAfter"] - renewed["NotBefore"] == timedelta(days=395)
        assert renewed["IssuedAt"] == first["IssuedAt"]
        assert renewed["RenewalSummary"]["RenewalStatus"] == "SUCCESS"
        assert renewed["RenewalSummary"]["UpdatedAt"] == renewed["NotBefore"]
        assert (attached.details()["CertificateStatus"], attached.etag()) == ("issued", etag)

    def test_for_years_at_one_step(self, attached, admin):
        first = attached.acms()["NotBefore"]
        admin.step(10 * 365 * DAY)
        seen = attached.acms()
        assert seen["Status"] == "ISSUED"
        assert (seen["NotBefore"] - first) % timedelta(days=335) == timedelta(0)

    def test_by_a_token_that_is_served(self, attached, admin):
        attached.astray()
        admin("PATCH", "managed-certificates/acme", {"served": True})
        admin.step(400 * DAY)
        assert attached.acms()["RenewalSummary"]["RenewalStatus"] == "SUCCESS"

    def test_it_is_tried_again_until_the_domain_points_here(self, attached, admin):
        attached.astray()
        admin.step(336 * DAY)
        summary = attached.acms()["RenewalSummary"]
        assert summary["RenewalStatus"] == "PENDING_VALIDATION"
        assert summary["DomainValidationOptions"][0]["ValidationStatus"] == "PENDING_VALIDATION"
        attached.point()
        admin.step(3600)
        assert attached.acms()["RenewalSummary"]["RenewalStatus"] == "SUCCESS"
        admin.step(60 * DAY)
        assert attached.acms()["Status"] == "ISSUED"

    def test_each_name_is_validated_on_its_own(self, aws, admin, life):
        other = "other.lives.test"
        admin("POST", "records", {"name": other, "type": "CNAME", "values": [life.endpoint]})
        found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
        aws.cloudfront.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"],
            IfMatch=found["ETag"],
            Domains=[{"Domain": DOMAIN}, {"Domain": other}],
            **SELF_HOSTED,
        )
        admin.step(60)
        life.arn = life.details()["CertificateArn"]
        life.attach()
        admin("DELETE", f"records?name={other}")
        admin.step(336 * DAY)
        summary = life.acms()["RenewalSummary"]
        names = {each["DomainName"]: each["ValidationStatus"] for each in summary["DomainValidationOptions"]}
        assert summary["RenewalStatus"] == "PENDING_VALIDATION"
        assert names == {DOMAIN: "SUCCESS", other: "PENDING_VALIDATION"}

    def test_authorities_that_are_kept_out(self, attached, admin):
        admin("POST", "records", {"name": "lives.test", "type": "CAA", "values": ['0 issue "other.example"']})
        admin.step(336 * DAY)
        summary = attached.acms()["RenewalSummary"]
        assert (summary["RenewalStatus"], summary["RenewalStatusReason"]) == ("FAILED", "CAA_ERROR")

    def test_what_nobody_uses_is_not_renewed(self, life, admin):
        assert life.acms()["RenewalEligibility"] == "INELIGIBLE"
        admin.step(394 * DAY)
        assert life.acms()["RenewalSummary"]["RenewalStatus"] == "PENDING_VALIDATION"
        admin.step(2 * DAY)
        assert life.acms()["Status"] == "EXPIRED"

    @pytest.mark.parametrize(("days", "status"), [(0, "EXPIRED"), (1000, "ISSUED")])
    def test_when_it_begins_is_a_setting(self, aws, admin, days, status):
        admin.settings(certificate_renewal_days=days)
        life = Life(aws, admin)
        life.attach()
        admin.step(396 * DAY)
        assert life.acms()["Status"] == status


class TestEnd:
    def test_it_expires(self, attached, admin):
        attached.astray()
        etag = attached.etag()
        admin.step(395 * DAY - 1)
        assert attached.details()["CertificateStatus"] == "issued"
        admin.step(1)
        assert attached.details()["CertificateStatus"] == "expired"
        assert attached.acms()["Status"] == "EXPIRED"
        assert attached.etag() != etag
        assert attached.domain() == "active"

    def test_and_stays_so(self, attached, admin):
        attached.astray()
        admin.step(396 * DAY)
        attached.details()
        attached.point()
        admin.step(396 * DAY)
        assert attached.details()["CertificateStatus"] == "expired"

    def test_where_set_its_domains_are_inactive_then(self, attached, admin):
        admin.settings(expired_certificate_deactivates=True)
        attached.astray()
        admin.step(396 * DAY)
        assert attached.domain() == "inactive"

    def test_a_new_request_follows(self, attached, admin):
        attached.astray()
        admin.step(396 * DAY)
        found = attached.aws.cloudfront.get_distribution_tenant(Identifier="acme")
        attached.aws.cloudfront.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"], IfMatch=found["ETag"], **SELF_HOSTED
        )
        attached.point()
        admin.step(60)
        assert attached.details()["CertificateStatus"] == "issued"
        assert attached.details()["CertificateArn"] != attached.arn

    def test_a_revoked_one_does_not_expire(self, attached, admin):
        admin("PATCH", "managed-certificates/acme", {"status": "revoked"})
        attached.astray()
        admin.step(400 * DAY)
        assert attached.details()["CertificateStatus"] == "revoked"

    def test_one_that_was_replaced_ends_too(self, attached, admin):
        found = attached.aws.cloudfront.get_distribution_tenant(Identifier="acme")
        attached.aws.cloudfront.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"], IfMatch=found["ETag"], **SELF_HOSTED
        )
        admin.step(60)
        attached.aws.cloudfront.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"],
            IfMatch=attached.etag(),
            Customizations={"Certificate": {"Arn": attached.details()["CertificateArn"]}},
        )
        admin("PUT", "snapshot", admin("GET", "snapshot"))
        admin.step(400 * DAY)
        assert attached.acms()["Status"] == "EXPIRED"
        assert attached.details()["CertificateStatus"] == "issued"


class TestUse:
    def test_acm_names_the_tenant(self, life):
        assert life.acms()["InUseBy"] == []
        life.attach()
        seen = life.acms()
        assert seen["InUseBy"] == [life.made["Arn"]]
        assert seen["RenewalEligibility"] == "ELIGIBLE"
        life.attach({"GeoRestrictions": {"RestrictionType": "none"}})
        assert life.acms()["InUseBy"] == []

    def test_and_the_distribution(self, aws):
        arn = aws.certificate("own.example.org")
        made = aws.distribution("two", arn)
        seen = aws.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
        assert seen["InUseBy"] == [f"arn:aws:cloudfront::{aws.account}:distribution/{made}"]
        assert seen["NotAfter"] > seen["NotBefore"]

    def test_what_is_in_use_cannot_be_deleted(self, attached):
        with pytest.raises(ClientError) as raised:
            attached.acm.delete_certificate(CertificateArn=attached.arn)
        assert raised.value.response["Error"]["Code"] == "ResourceInUseException"
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        attached.attach({"GeoRestrictions": {"RestrictionType": "none"}})
        attached.acm.delete_certificate(CertificateArn=attached.arn)

    def test_nor_a_distributions(self, aws):
        arn = aws.certificate("own.example.org")
        aws.distribution("two", arn)
        with pytest.raises(ClientError, match="is in use"):
            aws.client("acm").delete_certificate(CertificateArn=arn)

    def test_an_unknown_one_is_still_unknown(self, aws):
        arn = "arn:aws:acm:us-east-1:123456789012:certificate/none"
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            aws.client("acm").delete_certificate(CertificateArn=arn)


class TestSnapshots:
    def test_the_life_goes_on_in_another_emulator(self, attached, admin):
        admin.step(300 * DAY)
        before = attached.acms()
        saved = admin("GET", "snapshot")
        with EmulatorServer(rate=0) as second:
            elsewhere = type(admin)(second.url)
            elsewhere("PUT", "snapshot", saved)
            acm = type(attached.aws)(second.url, attached.aws.account).client("acm")
            seen = acm.describe_certificate(CertificateArn=attached.arn)["Certificate"]
            assert abs(seen["NotAfter"] - before["NotAfter"]) < timedelta(seconds=1)
            elsewhere.step(35 * DAY)
            seen = acm.describe_certificate(CertificateArn=attached.arn)["Certificate"]
            assert seen["RenewalSummary"]["RenewalStatus"] == "SUCCESS"
            again = elsewhere("GET", "snapshot")
            elsewhere("PUT", "snapshot", again)
            assert acm.describe_certificate(CertificateArn=attached.arn)["Certificate"] == seen
