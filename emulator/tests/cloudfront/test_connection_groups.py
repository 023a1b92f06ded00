"""Connection groups through boto3."""

import re

import pytest

NOT_FOUND, IN_USE = ("EntityNotFound", 404), ("CannotDeleteEntityWhileInUse", 409)
NOT_DISABLED, INVALID = ("ResourceNotDisabled", 409), ("InvalidArgument", 400)


def disabled(aws, admin, made):
    answer = aws.cloudfront.update_connection_group(
        Id=made["ConnectionGroup"]["Id"], IfMatch=made["ETag"], Enabled=False
    )
    admin.step(60)
    return {"Id": answer["ConnectionGroup"]["Id"], "IfMatch": answer["ETag"]}


def default(aws):
    (group,) = (g for g in aws.cloudfront.list_connection_groups()["ConnectionGroups"] if g["IsDefault"])
    return group


def test_create_answers_as_aws_does(aws):
    made = aws.group(Tags={"Items": [{"Key": "a", "Value": "b"}]})
    group = made["ConnectionGroup"]
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert made["ETag"].startswith("E23ZP02F085")
    assert re.fullmatch(r"cg_[0-9A-Za-z]{27}", group["Id"])
    assert group["Arn"] == f"arn:aws:cloudfront::123456789012:connection-group/{group['Id']}"
    assert re.fullmatch(r"d[0-9a-z]{13}\.cloudfront\.net", group["RoutingEndpoint"])
    assert group["Tags"] == {"Items": [{"Key": "a", "Value": "b"}]}
    assert (group["Ipv6Enabled"], group["Enabled"], group["IsDefault"]) == (True, True, False)


def test_found_by_id_arn_name_and_endpoint(aws):
    group = aws.group(Ipv6Enabled=False)["ConnectionGroup"]
    for identifier in (group["Id"], group["Arn"], "edge"):
        found = aws.cloudfront.get_connection_group(Identifier=identifier)["ConnectionGroup"]
        assert (found["Id"], found["Ipv6Enabled"]) == (group["Id"], False)
    by_endpoint = aws.cloudfront.get_connection_group_by_routing_endpoint(
        RoutingEndpoint=group["RoutingEndpoint"]
    )
    assert by_endpoint["ConnectionGroup"]["Id"] == group["Id"]


def test_the_default_group_comes_with_the_first_multi_tenant_distribution(aws):
    group = default(aws)
    assert group["Name"] == f"CreatedByCloudFront-{group['Id']}"
    aws.distribution("second")
    assert default(aws) == group


def test_an_update_keeps_what_it_leaves_out(aws):
    made = aws.group()
    answer = aws.cloudfront.update_connection_group(
        Id=made["ConnectionGroup"]["Id"], IfMatch=made["ETag"], Ipv6Enabled=False
    )
    group = answer["ConnectionGroup"]
    assert (group["Ipv6Enabled"], group["Enabled"], group["Name"]) == (False, True, "edge")
    assert answer["ETag"].startswith("ETVPDKIKX0")


def test_the_list_shows_the_version_but_neither_ipv6_nor_tags(aws):
    made = aws.group(Tags={"Items": [{"Key": "a", "Value": "b"}]})
    row = aws.cloudfront.list_connection_groups()["ConnectionGroups"][-1]
    hidden = {"Ipv6Enabled", "Tags"}
    shown = {key: value for key, value in made["ConnectionGroup"].items() if key not in hidden}
    assert row == {**shown, "ETag": made["ETag"]}


def test_deleted_once_disabled_and_deployed(aws, admin):
    made = aws.group()
    group_id = made["ConnectionGroup"]["Id"]
    assert aws.refused("delete_connection_group", Id=group_id, IfMatch=made["ETag"]) == NOT_DISABLED
    aws.cloudfront.delete_connection_group(**disabled(aws, admin, made))
    assert aws.refused("get_connection_group", Identifier=group_id) == NOT_FOUND


def test_not_deleted_while_its_disabling_is_in_progress(aws):
    made = aws.group(Enabled=False)
    params = {"Id": made["ConnectionGroup"]["Id"], "IfMatch": made["ETag"]}
    assert aws.refused("delete_connection_group", **params) == NOT_DISABLED


def test_not_deleted_with_tenants(aws, admin):
    admin.settings(group_disable_needs_no_tenants=False)
    made = aws.group()
    aws.tenant(ConnectionGroupId=made["ConnectionGroup"]["Id"])
    assert aws.refused("delete_connection_group", **disabled(aws, admin, made)) == IN_USE


def test_not_disabled_with_tenants(aws):
    made = aws.group()
    aws.tenant(ConnectionGroupId=made["ConnectionGroup"]["Id"])
    params = {"Id": made["ConnectionGroup"]["Id"], "IfMatch": made["ETag"], "Enabled": False}
    assert aws.refused("update_connection_group", **params) == ("ResourceInUse", 409)


def test_the_default_group_is_not_deleted(aws, admin):
    params = disabled(aws, admin, {"ConnectionGroup": default(aws), "ETag": default(aws)["ETag"]})
    assert aws.refused("delete_connection_group", **params) == IN_USE


REFUSED = {
    "a name in use": ("create_connection_group", {"Name": "edge"}, ("EntityAlreadyExists", 409)),
    "an empty name": ("create_connection_group", {"Name": ""}, INVALID),
    "a name with a blank": ("create_connection_group", {"Name": "my edge"}, INVALID),
    "a name of 129 characters": ("create_connection_group", {"Name": "n" * 129}, INVALID),
    "a name not in ASCII": ("create_connection_group", {"Name": "größe"}, INVALID),
    "no items": ("list_connection_groups", {"MaxItems": 0}, INVALID),
    "a bad tag": (
        "create_connection_group",
        {"Name": "new", "Tags": {"Items": [{"Key": "aws:x", "Value": ""}]}},
        ("InvalidTagging", 400),
    ),
    "an unknown Anycast list": (
        "create_connection_group",
        {"Name": "new", "AnycastIpListId": "aip_0"},
        NOT_FOUND,
    ),
    "get of none": ("get_connection_group", {"Identifier": "cg_0"}, NOT_FOUND),
    "get of another account's": (
        "get_connection_group",
        {"Identifier": "arn:aws:cloudfront::210987654321:connection-group/cg_0"},
        ("AccessDenied", 403),
    ),
    "an unknown endpoint": (
        "get_connection_group_by_routing_endpoint",
        {"RoutingEndpoint": "d0.cloudfront.net"},
        NOT_FOUND,
    ),
    "update of none": ("update_connection_group", {"Id": "cg_0", "IfMatch": "E23ZP02F085DFQ"}, NOT_FOUND),
    "delete of none": ("delete_connection_group", {"Id": "cg_0", "IfMatch": "E23ZP02F085DFQ"}, NOT_FOUND),
    "a bad marker": ("list_connection_groups", {"Marker": "nonsense"}, INVALID),
    "a list by an unknown Anycast list": (
        "list_connection_groups",
        {"AssociationFilter": {"AnycastIpListId": "aip_0"}},
        NOT_FOUND,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(aws, case):
    aws.group()
    operation, params, expected = REFUSED[case]
    assert aws.refused(operation, **params) == expected


def test_names_need_not_be_checked(aws, admin):
    admin.settings(group_names_checked=False)
    assert aws.group("my edge")["ConnectionGroup"]["Name"] == "my edge"


@pytest.mark.parametrize("operation", ["update_connection_group", "delete_connection_group"])
@pytest.mark.parametrize(
    ("version", "expected"),
    [("", ("InvalidIfMatchVersion", 400)), ("ETVPDKIKX0DER", ("PreconditionFailed", 412))],
    ids=["missing", "stale"],
)
def test_a_write_needs_the_current_version(aws, operation, version, expected):
    group_id = aws.group()["ConnectionGroup"]["Id"]
    assert aws.refused(operation, Id=group_id, IfMatch=version) == expected


def test_the_quota_counts_the_accounts_groups(aws, admin):
    admin.settings(groups_per_account=2)
    aws.group("second-after-the-default-one")
    assert aws.refused("create_connection_group", Name="third") == ("EntityLimitExceeded", 400)
