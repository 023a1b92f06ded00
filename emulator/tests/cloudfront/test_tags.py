"""Tags of tenants, connection groups, distributions and Anycast lists."""

import pytest

UNKNOWN = ("NoSuchResource", 404)


@pytest.fixture(params=["tenant", "group", "distribution", "anycast list"])
def arn(request, aws):
    return {
        "anycast list": lambda: aws.cloudfront.create_anycast_ip_list(Name="list", IpCount=3)[
            "AnycastIpList"
        ]["Arn"],
        "tenant": lambda: aws.tenant()["DistributionTenant"]["Arn"],
        "group": lambda: aws.group()["ConnectionGroup"]["Arn"],
        "distribution": lambda: f"arn:aws:cloudfront::123456789012:distribution/{aws.parent}",
    }[request.param]()


def listed(aws, arn):
    return {
        tag["Key"]: tag["Value"]
        for tag in aws.cloudfront.list_tags_for_resource(Resource=arn)["Tags"]["Items"]
    }


def test_added_overwritten_and_removed(aws, arn):
    tag = aws.cloudfront.tag_resource
    assert (
        tag(Resource=arn, Tags={"Items": [{"Key": "a", "Value": "1"}]})["ResponseMetadata"]["HTTPStatusCode"]
        == 204
    )
    tag(Resource=arn, Tags={"Items": [{"Key": "a", "Value": "2"}, {"Key": "b/ü:=@", "Value": ""}]})
    assert listed(aws, arn) == {"a": "2", "b/ü:=@": ""}
    aws.cloudfront.untag_resource(Resource=arn, TagKeys={"Items": ["a", "never there"]})
    assert listed(aws, arn) == {"b/ü:=@": ""}


def test_tags_of_the_create_are_listed(aws):
    tenant = aws.tenant(Tags={"Items": [{"Key": "owner", "Value": "me"}]})["DistributionTenant"]
    assert listed(aws, tenant["Arn"]) == {"owner": "me"}


def test_tagging_moves_no_version(aws):
    made = aws.tenant()
    tags = {"Items": [{"Key": "a", "Value": "1"}]}
    aws.cloudfront.tag_resource(Resource=made["DistributionTenant"]["Arn"], Tags=tags)
    assert aws.cloudfront.get_distribution_tenant(Identifier="acme")["ETag"] == made["ETag"]


def test_at_most_fifty_over_several_calls(aws, arn):
    first = {"Items": [{"Key": f"k{n}", "Value": ""} for n in range(50)]}
    aws.cloudfront.tag_resource(Resource=arn, Tags=first)
    one_more = {"Items": [{"Key": "k50", "Value": ""}]}
    assert aws.refused("tag_resource", Resource=arn, Tags=one_more) == ("InvalidTagging", 400)
    assert len(listed(aws, arn)) == 50


KEYS = {
    "reserved": "aws:a",
    "reserved, in upper case": "AWS:a",
    "too long": "k" * 129,
    "with a character that none may have": "a#b",
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_that_no_tag_has(aws, arn, case):
    tags = {"Items": [{"Key": KEYS[case], "Value": ""}]}
    assert aws.refused("tag_resource", Resource=arn, Tags=tags) == ("InvalidTagging", 400)
    keys = {"Items": ["good", KEYS[case]]}
    aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "good", "Value": ""}]})
    assert aws.refused("untag_resource", Resource=arn, TagKeys=keys) == ("InvalidTagging", 400)
    assert listed(aws, arn) == {"good": ""}


BODIES = {
    "Tag": "<Tags{}><Items><Tag><Key/></Tag></Items></Tags>",
    "Untag": "<TagKeys{}><Items><Key/></Items></TagKeys>",
}


@pytest.mark.parametrize("operation", BODIES)
def test_an_empty_key(aws, bare, operation):
    """botocore would not send it."""
    arn = f"arn:aws:cloudfront::123456789012:distribution/{aws.parent}"
    body = BODIES[operation].format(' xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"')
    assert bare("POST", f"tagging?Operation={operation}&Resource={arn}", body) == (400, "InvalidTagging")


def test_a_key_twice_in_one_call(aws, arn):
    tags = {"Items": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}
    assert aws.refused("tag_resource", Resource=arn, Tags=tags) == ("InvalidTagging", 400)


RESOURCES = {
    "no ARN": ("acme", ("InvalidArgument", 400)),
    "no tenant": ("arn:aws:cloudfront::123456789012:distribution-tenant/dt_0", UNKNOWN),
    "no group": ("arn:aws:cloudfront::123456789012:connection-group/cg_0", UNKNOWN),
    "no Anycast list": ("arn:aws:cloudfront::123456789012:anycast-ip-list/aip_0", UNKNOWN),
    "no distribution": ("arn:aws:cloudfront::123456789012:distribution/E0", UNKNOWN),
    "another account": ("arn:aws:cloudfront::210987654321:distribution/E0", ("AccessDenied", 403)),
}


@pytest.mark.parametrize("case", RESOURCES)
def test_refuses(aws, case):
    resource, expected = RESOURCES[case]
    assert aws.refused("list_tags_for_resource", Resource=resource) == expected
    assert aws.refused("tag_resource", Resource=resource, Tags={"Items": []}) == expected
    assert aws.refused("untag_resource", Resource=resource, TagKeys={"Items": []}) == expected
