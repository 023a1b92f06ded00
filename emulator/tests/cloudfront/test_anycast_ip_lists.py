"""Anycast static IP lists, by themselves and under connection groups."""

import ipaddress
import re

import pytest

LIMIT, NOT_FOUND = ("EntityLimitExceeded", 400), ("EntityNotFound", 404)


@pytest.fixture
def made(aws):
    return aws.cloudfront.create_anycast_ip_list(
        Name="edge", IpCount=21, Tags={"Items": [{"Key": "team", "Value": "edge"}]}
    )


def test_create_answers_as_the_model_says(aws, admin, made):
    given = made["AnycastIpList"]
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert made["ETag"] == "E23ZP02F085DFQ"
    assert re.fullmatch(r"aip_[0-9A-Za-z]{27}", given["Id"])
    assert given["Arn"] == f"arn:aws:cloudfront::123456789012:anycast-ip-list/{given['Id']}"
    assert (given["Name"], given["IpCount"], given["IpAddressType"]) == ("edge", 21, "ipv4")
    assert len({ipaddress.IPv4Address(address) for address in given["AnycastIps"]}) == 21
    assert given["Status"] == "Deploying"
    admin.step(60)
    found = aws.cloudfront.get_anycast_ip_list(Id=given["Id"])
    assert (found["AnycastIpList"], found["ETag"]) == ({**given, "Status": "Deployed"}, made["ETag"])
    tags = aws.cloudfront.list_tags_for_resource(Resource=given["Arn"])["Tags"]["Items"]
    assert tags == [{"Key": "team", "Value": "edge"}]


def test_the_list_of_lists_has_no_addresses(aws, made):
    aws.cloudfront.create_anycast_ip_list(Name="second", IpCount=3)
    first = aws.cloudfront.list_anycast_ip_lists(MaxItems=1)["AnycastIpLists"]
    assert (first["Quantity"], first["IsTruncated"]) == (1, True)
    hidden = {**made["AnycastIpList"], "ETag": made["ETag"]}
    del hidden["AnycastIps"]
    assert first["Items"] == [hidden]
    rest = aws.cloudfront.list_anycast_ip_lists(Marker=first["NextMarker"])["AnycastIpLists"]
    assert ([row["Name"] for row in rest["Items"]], rest["IsTruncated"]) == (["second"], False)


def test_an_update_keeps_the_addresses_of_a_type(aws, made):
    given = made["AnycastIpList"]
    update = aws.cloudfront.update_anycast_ip_list
    dual = update(Id=given["Id"], IfMatch=made["ETag"], IpAddressType="dualstack")
    addresses = dual["AnycastIpList"]["AnycastIps"]
    assert (addresses[:21], len(addresses), dual["ETag"]) == (given["AnycastIps"], 42, "ETVPDKIKX0DER")
    only = update(Id=given["Id"], IfMatch=dual["ETag"], IpAddressType="ipv6")["AnycastIpList"]
    assert only["AnycastIps"] == addresses[21:]


def test_a_group_shows_its_list_and_is_found_by_it(aws, made):
    list_id = made["AnycastIpList"]["Id"]
    group = aws.group("static", AnycastIpListId=list_id, Ipv6Enabled=False)
    aws.group("other")
    assert group["ConnectionGroup"]["AnycastIpListId"] == list_id
    rows = aws.cloudfront.list_connection_groups(AssociationFilter={"AnycastIpListId": list_id})
    assert [(row["Name"], row["AnycastIpListId"]) for row in rows["ConnectionGroups"]] == [
        ("static", list_id)
    ]
    version = {"Id": group["ConnectionGroup"]["Id"], "IfMatch": group["ETag"]}
    kept = aws.cloudfront.update_connection_group(**version, Ipv6Enabled=True)
    assert kept["ConnectionGroup"]["AnycastIpListId"] == list_id
    version["IfMatch"] = kept["ETag"]
    left = aws.cloudfront.update_connection_group(**version, AnycastIpListId="")
    assert "AnycastIpListId" not in left["ConnectionGroup"]


def test_at_most_five_groups(aws, made):
    list_id = made["AnycastIpList"]["Id"]
    for number in range(5):
        last = aws.group(f"g{number}", AnycastIpListId=list_id)
    assert aws.refused("create_connection_group", Name="g5", AnycastIpListId=list_id) == LIMIT
    sixth = aws.group("g5")
    wanted = {"Id": sixth["ConnectionGroup"]["Id"], "IfMatch": sixth["ETag"], "AnycastIpListId": list_id}
    assert aws.refused("update_connection_group", **wanted) == LIMIT
    again = {"Id": last["ConnectionGroup"]["Id"], "IfMatch": last["ETag"], "AnycastIpListId": list_id}
    aws.cloudfront.update_connection_group(**again)


def test_deleted_when_nothing_uses_it(aws, admin, made):
    version = {"Id": made["AnycastIpList"]["Id"], "IfMatch": made["ETag"]}
    assert aws.refused("delete_anycast_ip_list", **version) == ("IllegalDelete", 400)
    admin.step(60)
    standard = aws.distribution(
        "s", ConnectionMode="direct", TenantConfig=None, AnycastIpListId=version["Id"]
    )
    assert aws.refused("delete_anycast_ip_list", **version) == ("CannotDeleteEntityWhileInUse", 409)
    found = aws.cloudfront.list_distributions_by_anycast_ip_list_id(AnycastIpListId=version["Id"])
    assert [row["Id"] for row in found["DistributionList"]["Items"]] == [standard]
    config = aws.cloudfront.get_distribution_config(Id=standard)["DistributionConfig"]
    del config["AnycastIpListId"]
    aws.cloudfront.update_distribution(Id=standard, IfMatch="E23ZP02F085DFQ", DistributionConfig=config)
    aws.cloudfront.delete_anycast_ip_list(**version)
    assert aws.refused("get_anycast_ip_list", Id=version["Id"]) == NOT_FOUND


@pytest.mark.parametrize("name", ["", "a b", "n" * 65])
def test_names(aws, name):
    refused = (
        aws.refused("create_anycast_ip_list", Name=name, IpCount=3) if name else ("InvalidArgument", 400)
    )
    assert refused == ("InvalidArgument", 400)


def test_other_accounts_have_their_own(aws, other, made):
    list_id = made["AnycastIpList"]["Id"]
    assert other.refused("get_anycast_ip_list", Id=list_id) == NOT_FOUND
    assert other.refused("create_connection_group", Name="g", AnycastIpListId=list_id) == NOT_FOUND


def test_a_page_size_that_is_no_number(bare):
    assert bare("GET", "anycast-ip-list?MaxItems=many") == (400, "InvalidArgument")
