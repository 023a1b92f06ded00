"""Distribution tenants through boto3: what each operation answers and keeps."""

import re

import pytest
from moto.acm.models import acm_backends

DOMAIN = [{"Domain": "acme.example.com"}]


def test_create_answers_as_aws_does(aws):
    made = aws.tenant(
        Parameters=[{"Name": "tenantName", "Value": "acme"}], Tags={"Items": [{"Key": "a", "Value": "b"}]}
    )
    tenant = made["DistributionTenant"]
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert made["ETag"].startswith("E23ZP02F085")
    assert re.fullmatch(r"dt_[0-9A-Za-z]{27}", tenant["Id"])
    assert tenant["Arn"] == f"arn:aws:cloudfront::123456789012:distribution-tenant/{tenant['Id']}"
    assert tenant["Domains"] == [{"Domain": "acme.example.com", "Status": "active"}]
    assert tenant["Tags"] == {"Items": [{"Key": "a", "Value": "b"}]}
    assert tenant["Parameters"] == [{"Name": "tenantName", "Value": "acme"}]
    assert tenant["CreatedTime"] == tenant["LastModifiedTime"]
    assert (tenant["Status"], tenant["Enabled"]) == ("InProgress", True)


def test_a_tenant_without_group_is_in_the_default_group(aws):
    tenant = aws.tenant()["DistributionTenant"]
    groups = aws.cloudfront.list_connection_groups()["ConnectionGroups"]
    assert [group["Id"] for group in groups if group["IsDefault"]] == [tenant["ConnectionGroupId"]]


def test_found_by_id_arn_name_and_domain(aws):
    made = aws.tenant()
    tenant = made["DistributionTenant"]
    for identifier in (tenant["Id"], tenant["Arn"], "acme"):
        found = aws.cloudfront.get_distribution_tenant(Identifier=identifier)
        assert (found["DistributionTenant"]["Id"], found["ETag"]) == (tenant["Id"], made["ETag"])
    found = aws.cloudfront.get_distribution_tenant_by_domain(Domain="ACME.example.com")
    assert (found["DistributionTenant"]["Id"], found["ETag"]) == (tenant["Id"], made["ETag"])


def test_tags_are_in_no_answer_but_the_creates(aws):
    made = aws.tenant(Tags={"Items": [{"Key": "a", "Value": "b"}]})
    tenant_id = made["DistributionTenant"]["Id"]
    assert "Tags" not in aws.cloudfront.get_distribution_tenant(Identifier=tenant_id)["DistributionTenant"]
    updated = aws.cloudfront.update_distribution_tenant(Id=tenant_id, IfMatch=made["ETag"], Enabled=False)
    assert "Tags" not in updated["DistributionTenant"]


UPDATES = {
    "Enabled": ({"Enabled": False}, {"Enabled": False}),
    "Parameters": (
        {"Parameters": [{"Name": "tier", "Value": "gold"}]},
        {"Parameters": [{"Name": "tier", "Value": "gold"}]},
    ),
    "an empty list of parameters clears them": ({"Parameters": []}, {"Parameters": None}),
    "Domains": (
        {"Domains": [{"Domain": "b.example.com"}, {"Domain": "c.acme.com"}]},
        {
            "Domains": [
                {"Domain": "b.example.com", "Status": "active"},
                {"Domain": "c.acme.com", "Status": "active"},
            ]
        },
    ),
    "Customizations are replaced as a whole": (
        {"Customizations": {"WebAcl": {"Action": "disable"}}},
        {"Customizations": {"WebAcl": {"Action": "disable"}}},
    ),
    "empty Customizations clear them": ({"Customizations": {}}, {"Customizations": None}),
    "nothing": ({}, {}),
}


@pytest.mark.parametrize("case", UPDATES)
def test_an_update_keeps_what_it_leaves_out(aws, case):
    sent, changed = UPDATES[case]
    made = aws.tenant(
        Parameters=[{"Name": "tenantName", "Value": "acme"}],
        Customizations={"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}},
    )
    before = made["DistributionTenant"]
    answer = aws.cloudfront.update_distribution_tenant(Id=before["Id"], IfMatch=made["ETag"], **sent)
    after = answer["DistributionTenant"]
    expected = {**before, **changed, "LastModifiedTime": after["LastModifiedTime"], "Status": "InProgress"}
    assert after == {key: value for key, value in expected.items() if value is not None}
    assert answer["ETag"] != made["ETag"]
    assert aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"] == after


def test_locations_come_back_sorted(aws):
    restrictions = {"RestrictionType": "whitelist", "Locations": ["GB", "DE", "ES"]}
    tenant = aws.tenant(Customizations={"GeoRestrictions": restrictions})["DistributionTenant"]
    assert tenant["Customizations"]["GeoRestrictions"]["Locations"] == ["DE", "ES", "GB"]


def test_moved_to_another_distribution_and_group(aws, inherited):
    second = aws.distribution("two", certificate=inherited[aws.account])
    group = aws.group()["ConnectionGroup"]["Id"]
    made = aws.tenant()
    moved = aws.cloudfront.update_distribution_tenant(
        Id=made["DistributionTenant"]["Id"],
        IfMatch=made["ETag"],
        DistributionId=second,
        ConnectionGroupId=group,
    )["DistributionTenant"]
    assert (moved["DistributionId"], moved["ConnectionGroupId"]) == (second, group)


def test_a_deleted_tenant_frees_its_name_and_its_domains(aws, admin):
    made = aws.tenant(Enabled=False)
    admin.step(60)
    gone = aws.cloudfront.delete_distribution_tenant(
        Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"]
    )
    assert gone["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert aws.refused("get_distribution_tenant", Identifier="acme") == ("EntityNotFound", 404)
    assert aws.refused("get_distribution_tenant_by_domain", Domain="acme.example.com") == (
        "EntityNotFound",
        404,
    )
    again = aws.tenant()
    assert again["DistributionTenant"]["Id"] != made["DistributionTenant"]["Id"]
    assert again["ETag"] == made["ETag"]


def test_a_domain_that_a_tenant_gives_up_is_free(aws):
    made = aws.tenant()
    other_domain = [{"Domain": "other.example.com"}]
    aws.cloudfront.update_distribution_tenant(
        Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"], Domains=other_domain
    )
    assert (
        aws.tenant("second", Domains=DOMAIN)["DistributionTenant"]["Domains"][0]["Domain"]
        == "acme.example.com"
    )


class TestDeletion:
    def test_needs_the_tenant_disabled(self, aws):
        made = aws.tenant()
        params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"]}
        assert aws.refused("delete_distribution_tenant", **params) == ("ResourceNotDisabled", 409)

    def test_needs_the_disabling_deployed(self, aws, admin):
        made = aws.tenant()
        admin.step(60)
        tenant_id = made["DistributionTenant"]["Id"]
        disabled = aws.cloudfront.update_distribution_tenant(
            Id=tenant_id, IfMatch=made["ETag"], Enabled=False
        )
        params = {"Id": tenant_id, "IfMatch": disabled["ETag"]}
        assert aws.refused("delete_distribution_tenant", **params) == ("ResourceNotDisabled", 409)
        admin.step(46)
        aws.cloudfront.delete_distribution_tenant(**params)

    def test_can_be_set_to_go_at_once(self, aws, admin):
        admin.settings(delete_needs_deployed=False)
        made = aws.tenant(Enabled=False)
        aws.cloudfront.delete_distribution_tenant(Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"])

    def test_is_told_of_a_stale_version_first(self, aws):
        made = aws.tenant()
        tenant_id = made["DistributionTenant"]["Id"]
        aws.cloudfront.update_distribution_tenant(Id=tenant_id, IfMatch=made["ETag"], Enabled=False)
        params = {"Id": tenant_id, "IfMatch": made["ETag"]}
        assert aws.refused("delete_distribution_tenant", **params) == ("PreconditionFailed", 412)


class TestList:
    def test_shows_the_version_but_neither_parameters_nor_tags(self, aws):
        made = aws.tenant(
            Parameters=[{"Name": "tenantName", "Value": "acme"}], Tags={"Items": [{"Key": "a", "Value": "b"}]}
        )
        (row,) = aws.cloudfront.list_distribution_tenants()["DistributionTenantList"]
        hidden = {"Parameters", "Tags"}
        shown = {key: value for key, value in made["DistributionTenant"].items() if key not in hidden}
        assert row == {**shown, "ETag": made["ETag"]}

    def test_filters_by_distribution_and_group(self, aws, inherited):
        second = aws.distribution("two", certificate=inherited[aws.account])
        group = aws.group()["ConnectionGroup"]["Id"]
        aws.tenant("one")
        aws.tenant("two", DistributionId=second)
        aws.tenant("three", DistributionId=second, ConnectionGroupId=group)

        def names(**wanted):
            found = aws.cloudfront.list_distribution_tenants(AssociationFilter=wanted)
            return [row["Name"] for row in found["DistributionTenantList"]]

        assert names() == ["one", "two", "three"]
        assert names(DistributionId=second) == ["two", "three"]
        assert names(ConnectionGroupId=group) == ["three"]
        assert names(DistributionId=aws.parent, ConnectionGroupId=group) == []

    def test_by_customization(self, aws):
        acl = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/1"
        certificate = aws.certificate("own.test.org")
        aws.tenant("plain")
        aws.tenant("guarded", Customizations={"WebAcl": {"Action": "override", "Arn": acl}})
        aws.tenant("owner", Customizations={"Certificate": {"Arn": certificate}})
        by = aws.cloudfront.list_distribution_tenants_by_customization
        assert [row["Name"] for row in by(WebACLArn=acl)["DistributionTenantList"]] == ["guarded"]
        assert [row["Name"] for row in by(CertificateArn=certificate)["DistributionTenantList"]] == ["owner"]


class TestCertificates:
    def test_the_tenants_own_covers_what_the_parents_does_not(self, aws):
        own = aws.certificate("shop.test.org")
        made = aws.tenant(
            Domains=[{"Domain": "shop.test.org"}, {"Domain": "a.example.com"}],
            Customizations={"Certificate": {"Arn": own}},
        )
        assert {d["Status"] for d in made["DistributionTenant"]["Domains"]} == {"active"}

    def test_a_tenant_whose_certificate_is_gone_can_still_be_disabled(self, aws):
        own = aws.certificate("shop.test.org")
        made = aws.tenant(Domains=[{"Domain": "shop.test.org"}], Customizations={"Certificate": {"Arn": own}})
        # ACM refuses it while it is in use: it went another way.
        acm_backends[aws.account]["us-east-1"].delete_certificate(own)
        tenant_id = made["DistributionTenant"]["Id"]
        disabled = aws.cloudfront.update_distribution_tenant(
            Id=tenant_id, IfMatch=made["ETag"], Enabled=False
        )
        assert disabled["DistributionTenant"]["Domains"] == [{"Domain": "shop.test.org", "Status": "active"}]

    def test_a_self_hosted_request_leaves_the_domain_inactive(self, aws):
        made = aws.tenant(
            Domains=[{"Domain": "shop.test.org"}],
            ManagedCertificateRequest={
                "ValidationTokenHost": "self-hosted",
                "PrimaryDomainName": "shop.test.org",
            },
        )
        tenant = made["DistributionTenant"]
        assert tenant["Domains"] == [{"Domain": "shop.test.org", "Status": "inactive"}]
        assert "ManagedCertificateRequest" not in tenant
        details = aws.cloudfront.get_managed_certificate_details(Identifier=tenant["Id"])
        assert details["ManagedCertificateDetails"]["CertificateStatus"] == "pending-validation"

    def test_its_domain_turns_active_when_a_certificate_is_attached(self, aws):
        made = aws.tenant(
            Domains=[{"Domain": "shop.test.org"}],
            ManagedCertificateRequest={"ValidationTokenHost": "self-hosted"},
        )
        own = aws.certificate("shop.test.org")
        attached = aws.cloudfront.update_distribution_tenant(
            Id=made["DistributionTenant"]["Id"],
            IfMatch=made["ETag"],
            Customizations={"Certificate": {"Arn": own}},
        )
        assert attached["DistributionTenant"]["Domains"] == [{"Domain": "shop.test.org", "Status": "active"}]
