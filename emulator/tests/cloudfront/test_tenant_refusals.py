"""Every declared error that tenants can reach here, with its HTTP status; a refused call leaves no trace."""

import pytest

NOT_FOUND, EXISTS, TAKEN = ("EntityNotFound", 404), ("EntityAlreadyExists", 409), ("CNAMEAlreadyExists", 409)
INVALID, TAGGING, LIMIT = ("InvalidArgument", 400), ("InvalidTagging", 400), ("EntityLimitExceeded", 400)
ASSOCIATION, DENIED = ("InvalidAssociation", 409), ("AccessDenied", 403)
STALE, NO_VERSION = ("PreconditionFailed", 412), ("InvalidIfMatchVersion", 400)


def domains(*names):
    return [{"Domain": name} for name in names]


def geo(kind, *locations):
    return {"Customizations": {"GeoRestrictions": {"RestrictionType": kind, "Locations": list(locations)}}}


def web_acl(**acl):
    return {"Customizations": {"WebAcl": acl}}


def tags(*pairs):
    return {"Tags": {"Items": [{"Key": key, "Value": value} for key, value in pairs]}}


def parameters(*pairs):
    return {"Parameters": [{"Name": name, "Value": value} for name, value in pairs]}


# Wrong in a create and in an update alike.
EITHER = {
    "no domain": ({"Domains": []}, INVALID),
    "a domain in upper case": ({"Domains": domains("Shop.example.com")}, INVALID),
    "no domain name": ({"Domains": domains("shop_example")}, INVALID),
    "a domain twice": ({"Domains": domains("s.example.com", "s.example.com")}, INVALID),
    "too many domains": ({"Domains": domains(*(f"d{n}.example.com" for n in range(101)))}, LIMIT),
    "a domain of another tenant": ({"Domains": domains("first.example.com")}, TAKEN),
    "a domain that no certificate covers": ({"Domains": domains("a.b.example.com")}, INVALID),
    "an unknown distribution": ({"DistributionId": "E0UNKNOWN"}, NOT_FOUND),
    "a standard distribution": ({"DistributionId": "standard"}, ASSOCIATION),
    "an unknown group": ({"ConnectionGroupId": "cg_unknown"}, NOT_FOUND),
    "an unknown parameter": (parameters(("colour", "red")), INVALID),
    "a parameter twice": (parameters(("tier", "a"), ("tier", "b")), INVALID),
    "a parameter with a bad name": (parameters(("no blanks", "a")), INVALID),
    "a parameter with too long a value": (parameters(("tier", "x" * 257)), INVALID),
    "an override without web ACL": (web_acl(Action="override"), INVALID),
    "a regional web ACL": (
        web_acl(Action="override", Arn="arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/1"),
        INVALID,
    ),
    "a web ACL for CloudFront in another region": (
        web_acl(Action="override", Arn="arn:aws:wafv2:eu-west-1:123456789012:global/webacl/a/1"),
        INVALID,
    ),
    "a web ACL of WAF Classic": (
        web_acl(
            Action="override", Arn="arn:aws:waf::123456789012:webacl/a1b2c3d4-5678-90ab-cdef-0123456789ab"
        ),
        INVALID,
    ),
    "a rule group for a web ACL": (
        web_acl(Action="override", Arn="arn:aws:wafv2:us-east-1:123456789012:global/rulegroup/a/1"),
        INVALID,
    ),
    "a disabled web ACL with an ARN": (
        web_acl(Action="disable", Arn="arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/1"),
        INVALID,
    ),
    "an action that is none": (web_acl(Action="allow"), INVALID),
    "no locations": (geo("whitelist"), INVALID),
    "locations with none": (geo("none", "DE"), INVALID),
    "a location that is none": (geo("blacklist", "Germany"), INVALID),
    "a location that no country has": (geo("blacklist", "XX"), INVALID),
    "a location in lower case": (geo("blacklist", "de"), INVALID),
    "a location twice": (geo("whitelist", "DE", "FR", "DE"), INVALID),
    "a restriction that is none": (geo("greylist", "DE"), INVALID),
    "too many parameters": (parameters(*((f"p{n}", "v") for n in range(6))), LIMIT),
    "too long a parameter's name": (parameters(("n" * 129, "a")), INVALID),
    "a certificate that is not there": (
        {"Customizations": {"Certificate": {"Arn": "arn:aws:acm:us-east-1:123456789012:certificate/0"}}},
        INVALID,
    ),
    "a managed certificate before the DNS points here": (
        {
            "Domains": domains("shop.test.org"),
            "ManagedCertificateRequest": {"ValidationTokenHost": "cloudfront"},
        },
        INVALID,
    ),
    "a managed certificate for a wildcard": (
        {
            "Domains": domains("*.test.org"),
            "ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"},
        },
        INVALID,
    ),
    "a primary domain of somebody else": (
        {
            "ManagedCertificateRequest": {
                "ValidationTokenHost": "self-hosted",
                "PrimaryDomainName": "a.test.org",
            }
        },
        INVALID,
    ),
    "a token host that is none": ({"ManagedCertificateRequest": {"ValidationTokenHost": "me"}}, INVALID),
}
CREATE = {
    "a name in use": ({"Name": "first"}, EXISTS),
    "too short a name": ({"Name": "ab"}, INVALID),
    "a name with an underscore": ({"Name": "not_so"}, INVALID),
    "a tag twice": (tags(("a", "1"), ("a", "2")), TAGGING),
    "a reserved tag": (tags(("aws:mine", "1")), TAGGING),
    "a tag without key": (tags(("k" * 129, "1")), TAGGING),
    "a tag with a bad character": (tags(("a#b", "1")), TAGGING),
    "a tag with too long a value": (tags(("a", "v" * 257)), TAGGING),
    "too many tags": (tags(*((f"k{n}", "") for n in range(51))), TAGGING),
}


NO_DOMAINS = {
    "of one label": "shop",
    "with a trailing dot": "shop.example.com.",
    "that is an IPv4 address": "192.0.2.1",
    "that is an IPv6 address": "2001:db8::1",
    "with a wildcard inside": "shop.*.example.com",
    "with a wildcard in a label": "shop*.example.com",
    "with two wildcards": "*.*.example.com",
    "of a wildcard alone": "*",
    "of a wildcard and a top-level domain": "*.com",
    "with an empty label": "shop..example.com",
    "with a dash first": "-shop.example.com",
    "with a dash last": "shop-.example.com",
    "with a blank": "my shop.example.com",
    "with a scheme": "https://shop.example.com",
    "with a path": "shop.example.com/",
    "with a port": "shop.example.com:443",
    "not in ASCII": "größe.example.com",
    "with a label of 64": f"{'a' * 64}.example.com",
    "of 254 characters": ".".join(["a" * 60, "b" * 60, "c" * 60, "d" * 59, "example.com"]),
}


@pytest.fixture
def standard(aws) -> str:
    """The id of a distribution that takes no tenants."""
    return aws.distribution("standard", ConnectionMode="direct", TenantConfig=None)


@pytest.fixture
def fill(standard):
    """The request's members, with the standard distribution's id put in."""

    def filled(members):
        return {key: standard if value == "standard" else value for key, value in members.items()}

    return filled


def world(admin):
    state = admin("GET", "state")
    return state["tenants"], state["connectionGroups"]


@pytest.mark.parametrize("case", [*EITHER, *CREATE])
def test_create_refuses(aws, admin, fill, case):
    members, expected = {**EITHER, **CREATE}[case]
    aws.tenant("first")
    before = world(admin)
    wanted = {"DistributionId": aws.parent, "Name": "second", "Domains": domains("second.example.com")}
    assert aws.refused("create_distribution_tenant", **{**wanted, **fill(members)}) == expected
    assert world(admin) == before


@pytest.mark.parametrize("case", EITHER)
def test_update_refuses(aws, admin, fill, case):
    members, expected = EITHER[case]
    aws.tenant("first")
    made = aws.tenant("second")
    before = world(admin)
    params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"], **fill(members)}
    assert aws.refused("update_distribution_tenant", **params) == expected
    assert world(admin) == before


NAMESPACE = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
# What botocore would not send.
RAW = {
    "no name": {"Name": None},
    "no distribution": {"DistributionId": None},
    "no domains at all": {"Domains": None},
    "a domain without its name": {"Domains": "<member/>"},
    "an empty domain": {"Domains": "<member><Domain/></member>"},
    "an empty parameter": {"Parameters": "<member><Name>tier</Name><Value/></member>"},
    "a parameter without name": {"Parameters": "<member><Value>gold</Value></member>"},
    "an empty parameter's name": {"Parameters": "<member><Name/><Value>gold</Value></member>"},
    "a web ACL without action": {"Customizations": "<WebAcl/>"},
    "a certificate without ARN": {"Customizations": "<Certificate/>"},
    "locations without restriction": {"Customizations": "<GeoRestrictions/>"},
}
RAW_TAGS = {
    "an empty key": "<Key/><Value>v</Value>",
    "no key": "<Value>v</Value>",
}


@pytest.fixture
def create_raw(aws, bare):
    def create(**changes):
        wanted = {
            "DistributionId": aws.parent,
            "Name": "second",
            "Domains": "<member><Domain>second.example.com</Domain></member>",
            **changes,
        }
        inside = "".join(f"<{name}>{value}</{name}>" for name, value in wanted.items() if value is not None)
        root = "CreateDistributionTenantRequest"
        return bare("POST", "distribution-tenant", f'<{root} xmlns="{NAMESPACE}">{inside}</{root}>')

    return create


@pytest.mark.parametrize("case", RAW)
def test_create_refuses_what_no_sdk_sends(create_raw, case):
    assert create_raw(**RAW[case]) == (400, "InvalidArgument")


@pytest.mark.parametrize("case", RAW_TAGS)
def test_create_refuses_tags_that_no_sdk_sends(create_raw, case):
    tags = f"<Items><Tag>{RAW_TAGS[case]}</Tag></Items>"
    assert create_raw(Tags=tags) == (400, "InvalidTagging")


def test_the_raw_create_is_right_without_a_case(create_raw):
    assert create_raw() == (201, "")


LONGEST = ".".join(["a" * 60, "b" * 60, "c" * 60, "d" * 58, "example.com"])
PASS = {
    "a wildcard": ({"Domains": domains("*.example.com")}, ["*.example.com"]),
    "underscores": ({"Domains": domains("_shop.example.com")}, ["_shop.example.com"]),
    "digits": ({"Domains": domains("4711.example.com")}, ["4711.example.com"]),
    "punycode": ({"Domains": domains("xn--gre-6ka8i.example.com")}, ["xn--gre-6ka8i.example.com"]),
}


@pytest.mark.parametrize("case", PASS)
def test_create_passes(aws, case):
    members, expected = PASS[case]
    made = aws.tenant("second", **members)["DistributionTenant"]
    assert [item["Domain"] for item in made["Domains"]] == expected


def test_the_longest_domain(aws):
    own = aws.certificate("example.com", f"*.{LONGEST.partition('.')[2]}")
    made = aws.tenant("long", Domains=domains(LONGEST), Customizations={"Certificate": {"Arn": own}})
    assert len(made["DistributionTenant"]["Domains"][0]["Domain"]) == 253


@pytest.mark.parametrize("kind", NO_DOMAINS)
def test_no_domain_is_one(aws, kind):
    """Told from a domain that no certificate covers by the message."""
    made, wanted = aws.tenant("first"), domains(NO_DOMAINS[kind])
    with pytest.raises(aws.cloudfront.exceptions.InvalidArgument, match="must be lower-case DNS names"):
        aws.tenant("second", Domains=wanted)
    version = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"]}
    with pytest.raises(aws.cloudfront.exceptions.InvalidArgument, match="must be lower-case DNS names"):
        aws.cloudfront.update_distribution_tenant(**version, Domains=wanted)


VERSIONS = {"": NO_VERSION, "*": NO_VERSION, "nonsense": NO_VERSION, "ETVPDKIKX0DER": STALE}


@pytest.mark.parametrize("operation", ["update_distribution_tenant", "delete_distribution_tenant"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_needs_the_current_version(aws, operation, version):
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    assert aws.refused(operation, Id=tenant_id, IfMatch=version) == VERSIONS[version]


@pytest.mark.parametrize("operation", ["update_distribution_tenant", "delete_distribution_tenant"])
@pytest.mark.parametrize("by", ["Name", "Arn", "unknown"])
def test_writes_take_ids_only(aws, operation, by):
    made = aws.tenant()
    identifier = made["DistributionTenant"].get(by, "dt_unknown")
    assert aws.refused(operation, Id=identifier, IfMatch=made["ETag"]) == NOT_FOUND


LOOKED_FOR = {
    "dt_unknown": NOT_FOUND,
    "nobody": NOT_FOUND,
    "arn:aws:cloudfront::123456789012:distribution-tenant/dt_unknown": NOT_FOUND,
    "arn:aws:cloudfront::123456789012:connection-group/dt_unknown": NOT_FOUND,
    "arn:aws:cloudfront::210987654321:distribution-tenant/dt_unknown": DENIED,
}


@pytest.mark.parametrize("identifier", LOOKED_FOR)
def test_get_refuses(aws, identifier):
    assert aws.refused("get_distribution_tenant", Identifier=identifier) == LOOKED_FOR[identifier]


LISTS = {
    "a marker that no page gave": ({"Marker": "nonsense"}, INVALID),
    "no items": ({"MaxItems": 0}, INVALID),
    "less than no items": ({"MaxItems": -1}, INVALID),
    "an unknown distribution": ({"AssociationFilter": {"DistributionId": "E0"}}, NOT_FOUND),
    "an unknown group": ({"AssociationFilter": {"ConnectionGroupId": "cg_0"}}, NOT_FOUND),
}


@pytest.mark.parametrize("case", LISTS)
def test_list_refuses(aws, case):
    params, expected = LISTS[case]
    assert aws.refused("list_distribution_tenants", **params) == expected


@pytest.mark.parametrize("params", [{}, {"WebACLArn": "a", "CertificateArn": "b"}], ids=["neither", "both"])
def test_list_by_customization_takes_exactly_one(aws, params):
    assert aws.refused("list_distribution_tenants_by_customization", **params) == INVALID


def test_the_ownership_error_has_awss_words(aws):
    with pytest.raises(
        aws.cloudfront.exceptions.InvalidArgument, match="Could not verify Domain Name ownership"
    ):
        aws.tenant(Domains=domains("shop.test.org"))


def test_required_parameters_must_be_given(aws, inherited):
    parent = aws.distribution("strict", certificate=inherited[aws.account], parameters=[("tenantName", True)])
    members = {"DistributionId": parent, "Name": "acme", "Domains": domains("acme.example.com")}
    assert aws.refused("create_distribution_tenant", **members) == INVALID
    made = aws.cloudfront.create_distribution_tenant(**members, **parameters(("tenantName", "acme")))
    tenant_id = made["DistributionTenant"]["Id"]
    cleared = {"Id": tenant_id, "IfMatch": made["ETag"], "Parameters": []}
    assert aws.refused("update_distribution_tenant", **cleared) == INVALID
    aws.cloudfront.update_distribution_tenant(Id=tenant_id, IfMatch=made["ETag"], Enabled=False)


def test_a_certificate_that_covers_a_domain_cannot_be_taken_off(aws):
    own = aws.certificate("shop.test.org")
    made = aws.tenant(Domains=domains("shop.test.org"), Customizations={"Certificate": {"Arn": own}})
    params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"], "Customizations": {}}
    assert aws.refused("update_distribution_tenant", **params) == INVALID


def test_a_pending_certificate_covers_nothing(aws):
    arn = aws.client("acm").request_certificate(DomainName="shop.test.org")["CertificateArn"]
    members = {"Domains": domains("shop.test.org"), "Customizations": {"Certificate": {"Arn": arn}}}
    wanted = {"DistributionId": aws.parent, "Name": "acme", **members}
    assert aws.refused("create_distribution_tenant", **wanted) == INVALID


def test_the_quota_counts_the_accounts_tenants(aws, admin, other):
    admin.settings(tenants_per_account=1)
    aws.tenant("first")
    wanted = {"DistributionId": aws.parent, "Name": "second", "Domains": domains("second.example.com")}
    assert aws.refused("create_distribution_tenant", **wanted) == LIMIT
    other.tenant("second")


class TestOtherAccounts:
    def test_domains_are_unique_over_all(self, aws, other):
        aws.tenant("first")
        wanted = {"DistributionId": other.parent, "Name": "mine", "Domains": domains("first.example.com")}
        assert other.refused("create_distribution_tenant", **wanted) == TAKEN

    def test_names_are_unique_in_each(self, aws, other):
        aws.tenant("acme", Domains=domains("one.example.com"))
        other.tenant("acme", Domains=domains("two.example.com"))

    def test_tenants_are_invisible_to_each_other(self, aws, other):
        tenant = aws.tenant()["DistributionTenant"]
        assert other.refused("get_distribution_tenant", Identifier=tenant["Id"]) == NOT_FOUND
        assert other.refused("get_distribution_tenant", Identifier=tenant["Arn"]) == DENIED
        assert other.refused("get_distribution_tenant_by_domain", Domain="acme.example.com") == NOT_FOUND
        assert other.cloudfront.list_distribution_tenants()["DistributionTenantList"] == []


def test_the_alias_of_a_standard_distribution_is_taken(aws, standard):
    aws.distribution(
        "aliased",
        ConnectionMode="direct",
        TenantConfig=None,
        Aliases={"Quantity": 1, "Items": ["Shop.example.com"]},
    )
    wanted = {"DistributionId": aws.parent, "Name": "shop", "Domains": domains("shop.example.com")}
    assert aws.refused("create_distribution_tenant", **wanted) == TAKEN
