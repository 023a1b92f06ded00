"""Where a domain points, who has it, and how it moves."""

import pytest

INVALID, NOT_FOUND, DENIED = ("InvalidArgument", 400), ("EntityNotFound", 404), ("AccessDenied", 403)
ILLEGAL, STALE, NO_VERSION = (
    ("IllegalUpdate", 400),
    ("PreconditionFailed", 412),
    ("InvalidIfMatchVersion", 400),
)


def domains(*names):
    return [{"Domain": name} for name in names]


def put(admin, *records):
    for name, kind, *values in records:
        admin("POST", "records", {"name": name, "type": kind, "values": values})


def endpoint(aws):
    return aws.cloudfront.list_connection_groups()["ConnectionGroups"][0]["RoutingEndpoint"]


def tenant_id(aws, name, **members):
    return aws.tenant(name, **members)["DistributionTenant"]["Id"]


def standard(aws, inherited, *aliases, enabled=True):
    return aws.distribution(
        "standard",
        certificate=inherited[aws.account],
        ConnectionMode="direct",
        TenantConfig=None,
        Enabled=enabled,
        Aliases={"Quantity": len(aliases), "Items": list(aliases)},
    )


class TestVerify:
    def verify(self, aws, **params):
        found = aws.cloudfront.verify_dns_configuration(Identifier="acme", **params)
        return {row["Domain"]: (row["Status"], "Reason" in row) for row in found["DnsConfigurationList"]}

    def test_every_domain(self, aws, admin):
        names = ("a.example.com", "b.example.com", "c.example.com")
        aws.tenant(Domains=domains(*names))
        put(admin, ("a.example.com", "CNAME", endpoint(aws)), ("c.example.com", "FAIL"))
        assert self.verify(aws) == {
            "a.example.com": ("valid-configuration", False),
            "b.example.com": ("invalid-configuration", True),
            "c.example.com": ("unknown-configuration", True),
        }
        assert list(self.verify(aws, Domain="c.example.com")) == ["c.example.com"]

    def test_an_alias_without_its_challenge_is_invalid(self, aws, admin):
        aws.tenant()
        put(admin, ("acme.example.com", "ALIAS", endpoint(aws)))
        assert self.verify(aws) == {"acme.example.com": ("invalid-configuration", True)}
        put(admin, ("_cf-challenge.acme.example.com", "TXT", endpoint(aws)))
        assert self.verify(aws) == {"acme.example.com": ("valid-configuration", False)}

    def test_refusals(self, aws, other):
        arn = aws.tenant()["DistributionTenant"]["Arn"]
        assert aws.refused("verify_dns_configuration", Identifier="no") == NOT_FOUND
        assert other.refused("verify_dns_configuration", Identifier=arn) == DENIED
        assert aws.refused("verify_dns_configuration", Identifier="acme", Domain="b.test") == INVALID


class TestConflicts:
    def conflicts(self, aws, domain, resource, **paging):
        return aws.cloudfront.list_domain_conflicts(
            Domain=domain, DomainControlValidationResource={"DistributionTenantId": resource}, **paging
        )

    def test_the_same_domain_and_what_overlaps(self, aws, inherited):
        control = tenant_id(aws, "control")
        exact = tenant_id(aws, "exact", Domains=domains("a.example.com"))
        wide = standard(aws, inherited, "*.example.com")
        found = self.conflicts(aws, "a.example.com", control)["DomainConflicts"]
        assert found == [
            {
                "Domain": "*.example.com",
                "ResourceType": "distribution",
                "ResourceId": wide,
                "AccountId": aws.account,
            },
            {
                "Domain": "a.example.com",
                "ResourceType": "distribution-tenant",
                "ResourceId": exact,
                "AccountId": aws.account,
            },
        ]
        names = [row["Domain"] for row in self.conflicts(aws, "*.example.com", control)["DomainConflicts"]]
        assert names == ["*.example.com", "a.example.com"]

    def test_another_accounts_are_masked(self, aws, other):
        theirs = tenant_id(other, "theirs", Domains=domains("a.example.com"))
        (found,) = self.conflicts(aws, "a.example.com", tenant_id(aws, "mine"))["DomainConflicts"]
        assert found["AccountId"] == "******654321"
        assert found["ResourceId"].startswith("*" * 10)
        assert theirs.endswith(found["ResourceId"].lstrip("*"))
        assert found["ResourceId"] != theirs

    def test_pages(self, aws):
        control = tenant_id(aws, "control")
        for name in ("one", "two", "three"):
            aws.tenant(name)
        pages = aws.cloudfront.get_paginator("list_domain_conflicts").paginate(
            Domain="*.example.com",
            DomainControlValidationResource={"DistributionTenantId": control},
            PaginationConfig={"PageSize": 2},
        )
        assert [len(page["DomainConflicts"]) for page in pages] == [2, 1]

    @pytest.mark.parametrize(
        ("resource", "more", "expected"),
        [
            ({}, {}, INVALID),
            ({"DistributionId": "E0", "DistributionTenantId": "dt_0"}, {}, INVALID),
            ({"DistributionTenantId": "dt_0"}, {}, NOT_FOUND),
            ({"DistributionId": "E0"}, {}, NOT_FOUND),
            ({"DistributionId": "parent"}, {}, INVALID),
            ({"DistributionTenantId": "own"}, {"Domain": "a.b.test"}, INVALID),
            ({"DistributionTenantId": "own"}, {"Marker": "nonsense"}, INVALID),
            ({"DistributionTenantId": "own"}, {"MaxItems": 0}, INVALID),
        ],
    )
    def test_refusals(self, aws, resource, more, expected):
        known = {"own": tenant_id(aws, "acme"), "parent": aws.parent}
        resource = {name: known.get(value, value) for name, value in resource.items()}
        params = {"Domain": "a.example.com", "DomainControlValidationResource": resource, **more}
        assert aws.refused("list_domain_conflicts", **params) == expected


class TestMove:
    def move(self, aws, domain, **target):
        if_match = {"IfMatch": target.pop("IfMatch")} if "IfMatch" in target else {}
        return aws.cloudfront.update_domain_association(Domain=domain, TargetResource=target, **if_match)

    def names(self, aws, name):
        found = aws.cloudfront.get_distribution_tenant(Identifier=name)["DistributionTenant"]
        return [(row["Domain"], row["Status"]) for row in found.get("Domains", [])]

    def test_between_tenants(self, aws):
        aws.tenant("source", Domains=domains("a.example.com", "b.example.com"), Enabled=False)
        made = aws.tenant("target")
        target = made["DistributionTenant"]["Id"]
        moved = self.move(aws, "a.example.com", DistributionTenantId=target, IfMatch=made["ETag"])
        assert (moved["Domain"], moved["ResourceId"]) == ("a.example.com", target)
        found = aws.cloudfront.get_distribution_tenant(Identifier="target")
        assert found["ETag"] == moved["ETag"] != made["ETag"]
        assert self.names(aws, "target") == [("target.example.com", "active"), ("a.example.com", "active")]
        assert self.names(aws, "source") == [("b.example.com", "active")]
        by_domain = aws.cloudfront.get_distribution_tenant_by_domain(Domain="a.example.com")
        assert by_domain["DistributionTenant"]["Name"] == "target"

    def test_from_a_distribution_and_back(self, aws, inherited):
        distribution = standard(aws, inherited, "a.example.com", enabled=False)
        target = tenant_id(aws, "target", Enabled=False)
        self.move(aws, "a.example.com", DistributionTenantId=target)

        def aliases():
            return aws.cloudfront.get_distribution_config(Id=distribution)["DistributionConfig"]["Aliases"]

        assert aliases() == {"Quantity": 0}
        self.move(aws, "a.example.com", DistributionId=distribution)
        assert aliases()["Items"] == ["a.example.com"]

    def test_needs_a_disabled_source_unless_set_otherwise(self, aws, admin):
        aws.tenant("source")
        target = {"DistributionTenantId": tenant_id(aws, "target")}
        params = {"Domain": "source.example.com", "TargetResource": target}
        assert aws.refused("update_domain_association", **params) == ILLEGAL
        admin.settings(domain_move_needs_disabled_source=False)
        aws.cloudfront.update_domain_association(**params)
        assert self.names(aws, "source") == []

    def test_out_of_another_account_with_its_proof(self, aws, other, admin):
        made = other.tenant("theirs", Domains=domains("a.example.com"))
        target = {"DistributionTenantId": tenant_id(aws, "mine")}
        params = {"Domain": "a.example.com", "TargetResource": target}
        admin.settings(domain_move_needs_disabled_source=False)
        assert aws.refused("update_domain_association", **params) == ILLEGAL
        other.cloudfront.update_distribution_tenant(
            Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"], Enabled=False
        )
        assert aws.refused("update_domain_association", **params) == INVALID
        put(admin, ("_a.example.com", "TXT", endpoint(aws)))
        aws.cloudfront.update_domain_association(**params)
        assert ("a.example.com", "active") in self.names(aws, "mine")

    def test_refusals(self, aws):
        made = aws.tenant("target")
        aws.tenant("source", Domains=domains("a.example.com"), Enabled=False)
        own = aws.certificate("far.test.org")
        far = {"Domains": domains("far.test.org"), "Customizations": {"Certificate": {"Arn": own}}}
        aws.tenant("far", Enabled=False, **far)
        target = {"DistributionTenantId": made["DistributionTenant"]["Id"]}

        def refused(domain="a.example.com", target=target, **more):
            params = {"Domain": domain, "TargetResource": target, **more}
            return aws.refused("update_domain_association", **params)

        assert refused(target={}) == INVALID
        assert refused(target={"DistributionTenantId": "dt_0"}) == NOT_FOUND
        assert refused(domain="nobody.example.com") == NOT_FOUND
        assert refused(domain="target.example.com") == ILLEGAL
        assert refused(domain="far.test.org") == INVALID
        assert refused(IfMatch="nonsense") == NO_VERSION
        assert refused(IfMatch="ETVPDKIKX0DER") == STALE
        assert self.names(aws, "source") == [("a.example.com", "active")]
