"""Web ACLs of tenants by their own operations."""

import pytest

ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/1"
INVALID, NOT_FOUND = ("InvalidArgument", 400), ("EntityNotFound", 404)
STALE, NO_VERSION = ("PreconditionFailed", 412), ("InvalidIfMatchVersion", 400)
GEO = {"RestrictionType": "whitelist", "Locations": ["DE"]}


def found(aws):
    answer = aws.cloudfront.get_distribution_tenant(Identifier="acme")
    return answer["DistributionTenant"].get("Customizations"), answer["ETag"]


@pytest.mark.parametrize("with_version", [True, False])
def test_there_and_back(aws, admin, with_version):
    made = aws.tenant(Customizations={"GeoRestrictions": GEO})
    tenant_id = made["DistributionTenant"]["Id"]
    version = {"IfMatch": made["ETag"]} if with_version else {}
    there = aws.cloudfront.associate_distribution_tenant_web_acl(Id=tenant_id, WebACLArn=ACL, **version)
    assert (there["Id"], there["WebACLArn"]) == (tenant_id, ACL)
    own = {"GeoRestrictions": GEO, "WebAcl": {"Action": "override", "Arn": ACL}}
    assert found(aws) == (own, there["ETag"])
    version = {"IfMatch": there["ETag"]} if with_version else {}
    back = aws.cloudfront.disassociate_distribution_tenant_web_acl(Id=tenant_id, **version)
    assert len({made["ETag"], there["ETag"], back["ETag"]}) == 3
    assert found(aws) == ({"GeoRestrictions": GEO}, back["ETag"])


def test_disassociated_to_none_where_set(aws, admin):
    admin.settings(disassociated_web_acl_inherits=False)
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    aws.cloudfront.associate_distribution_tenant_web_acl(Id=tenant_id, WebACLArn=ACL)
    aws.cloudfront.disassociate_distribution_tenant_web_acl(Id=tenant_id)
    assert found(aws)[0] == {"WebAcl": {"Action": "disable"}}


@pytest.mark.parametrize("operation", ["associate", "disassociate"])
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"Id": "dt_unknown"}, NOT_FOUND),
        ({"IfMatch": "nonsense"}, NO_VERSION),
        ({"IfMatch": "ETVPDKIKX0DER"}, STALE),
    ],
)
def test_both_refuse(aws, operation, params, expected):
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    arn = {"WebACLArn": ACL} if operation == "associate" else {}
    name = f"{operation}_distribution_tenant_web_acl"
    assert aws.refused(name, **{"Id": tenant_id, **arn, **params}) == expected


def test_what_is_no_web_acl(aws):
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    for arn in ("", "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/1"):
        params = {"Id": tenant_id, "WebACLArn": arn}
        assert aws.refused("associate_distribution_tenant_web_acl", **params) == INVALID
    assert aws.refused("disassociate_distribution_tenant_web_acl", Id=tenant_id) == INVALID
