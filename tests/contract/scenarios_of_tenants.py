"""Tenants and their tags, domains, parents and certificates."""

from __future__ import annotations

from tests.contract.account import Account, Answer, domains, parameters, tags
from tests.contract.facts import STALE, Facts, names, pages_of_two, scenario

WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"


@scenario
def tenant_life(aws: Account) -> Facts:
    made = aws.tenant(Parameters=parameters(tier="gold"))
    yield "create", made.outcome
    yield "created", made.decided
    yield "members of create", sorted(made.body)
    yield "status at first", made.body["Status"]
    yield "id", made.id[:3]
    yield "arn", made.body["Arn"].replace(made.id, "ID").replace(aws.number, "ACCOUNT")
    aws.deploy()
    found = aws.ask("get_distribution_tenant", Identifier=made.id)
    yield "status once deployed", found.body["Status"]
    yield "deploying moves the ETag", found.etag != made.etag
    changed = aws.ask("update_distribution_tenant", **made.version, Parameters=parameters(tier="silver"))
    yield "update", changed.outcome
    yield "updated", changed.decided
    yield "updating moves the ETag", changed.etag != made.etag
    disabled = aws.ask("update_distribution_tenant", **changed.version, Enabled=False)
    yield "disabled", disabled.decided
    aws.deploy()
    yield "delete", aws.ask("delete_distribution_tenant", **disabled.version).outcome
    yield "get afterwards", aws.ask("get_distribution_tenant", Identifier=made.id).outcome
    yield "delete again", aws.ask("delete_distribution_tenant", **disabled.version).outcome
    again = aws.tenant()
    yield "name and domain are free again", again.outcome
    yield "under another id", again.id != made.id


@scenario
def tenant_deletion_rules(aws: Account) -> Facts:
    made = aws.tenant()
    yield "while enabled", aws.ask("delete_distribution_tenant", **made.version).outcome
    aws.deploy()
    yield "while enabled and deployed", aws.ask("delete_distribution_tenant", **made.version).outcome
    disabled = aws.ask("update_distribution_tenant", **made.version, Enabled=False)
    yield "with the version before", aws.ask("delete_distribution_tenant", **made.version).outcome
    yield "right after disabling", aws.ask("delete_distribution_tenant", **disabled.version).outcome


@scenario
def tenant_names(aws: Account) -> Facts:
    aws.tenant("acme")
    yield "in use", aws.tenant("acme", Domains=domains("other.example.com")).outcome
    yield "in use with another spelling", aws.tenant("ACME", Domains=domains("caps.example.com")).outcome
    yield "too short", aws.tenant("a").outcome
    yield "underscore", aws.tenant("not_so").outcome
    yield "dots and hyphens", aws.tenant("a.b-c", Domains=domains("abc.example.com")).outcome
    yield "129 characters", aws.tenant("a" * 129, Domains=domains("long.example.com")).outcome


@scenario
def tenant_domains(aws: Account) -> Facts:
    first = aws.tenant("first")
    taken = domains("first.example.com")
    yield "none", aws.tenant("none", Domains=[]).outcome
    yield "taken", aws.tenant("second", Domains=taken).outcome
    yield "taken, in upper case", aws.tenant("second", Domains=domains("FIRST.example.com")).outcome
    yield "twice", aws.tenant("second", Domains=domains("s.example.com", "s.example.com")).outcome
    second = aws.tenant("second")
    yield "taken, by update", aws.ask("update_distribution_tenant", **second.version, Domains=taken).outcome
    own = aws.ask("update_distribution_tenant", **first.version, Domains=taken)
    yield "its own again", own.outcome
    moved = aws.ask("update_distribution_tenant", **own.version, Domains=domains("moved.example.com"))
    yield "replaced", moved.decided
    late = aws.ask("update_distribution_tenant", **second.version, Domains=taken)
    yield "freed by the replacement", late.outcome
    yield "emptied", aws.ask("update_distribution_tenant", **late.version, Domains=[]).outcome
    disabled = aws.ask("update_distribution_tenant", **late.version, Enabled=False)
    yield "disabled", disabled.outcome
    yield "a disabled one keeps them", aws.tenant("third", Domains=taken).outcome


@scenario
def other_accounts(aws: Account) -> Facts:
    made, group, other = aws.tenant(), aws.group(), aws.other()
    yield "name", other.tenant("acme", Domains=domains("mine.example.com")).outcome
    yield "domain", other.tenant("mine", Domains=domains("acme.example.com")).outcome
    yield "group's name", other.group().outcome
    yield "get by id", other.ask("get_distribution_tenant", Identifier=made.id).outcome
    yield "get by domain", other.ask("get_distribution_tenant_by_domain", Domain="acme.example.com").outcome
    yield "get by ARN", other.ask("get_distribution_tenant", Identifier=made.body["Arn"]).outcome
    yield "group by ARN", other.ask("get_connection_group", Identifier=group.body["Arn"]).outcome
    yield "tags", other.ask("list_tags_for_resource", Resource=made.body["Arn"]).outcome
    yield "parent", other.tenant("third", DistributionId=aws.parent).outcome
    yield "list", names(other.ask("list_distribution_tenants"))


@scenario
def domains_of_distributions(aws: Account) -> Facts:
    alias = {"Quantity": 1, "Items": ["alias.example.com"]}
    aws.distribution("standard", ConnectionMode="direct", TenantConfig=None, Aliases=alias)
    yield "an alias", aws.tenant("second", Domains=domains("alias.example.com")).outcome
    yield "in upper case", aws.tenant("second", Domains=domains("Alias.example.com")).outcome


@scenario
def certificates(aws: Account) -> Facts:
    yield "nothing covers the domain", aws.tenant("acme", Domains=domains("bare.test.org")).outcome
    own = {"Certificate": {"Arn": aws.issue(aws.number, ["shop.test.org"])}}
    covered = aws.tenant("shop", Domains=domains("shop.test.org"), Customizations=own)
    yield "its own covers it", covered.outcome
    if covered.outcome == "201":
        yield "status of the domain", covered.body["Domains"][0]["Status"]
    missing = {"Certificate": {"Arn": aws.certificate[:-4] + "0000"}}
    yield "one that is not there", aws.tenant("third", Customizations=missing).outcome


@scenario
def tenant_versions(aws: Account) -> Facts:
    made = aws.tenant()
    changed = aws.ask("update_distribution_tenant", **made.version, Enabled=False)
    for operation in ("update_distribution_tenant", "delete_distribution_tenant"):
        yield f"{operation}: stale", aws.ask(operation, **made.version).outcome
        yield f"{operation}: empty", aws.ask(operation, Id=made.id, IfMatch="").outcome
        yield f"{operation}: no version at all", aws.ask(operation, Id=made.id, IfMatch="nonsense").outcome
        yield f"{operation}: star", aws.ask(operation, Id=made.id, IfMatch="*").outcome
    yield "unchanged by all that", aws.ask("get_distribution_tenant", Identifier=made.id).etag == changed.etag
    yield "first of two tenants", aws.tenant("second").etag == made.etag


@scenario
def updates_keep_what_they_leave_out(aws: Account) -> Facts:
    geo = {"RestrictionType": "whitelist", "Locations": ["DE", "FR"]}
    custom = {"WebAcl": {"Action": "override", "Arn": WEB_ACL}, "GeoRestrictions": geo}
    made = aws.tenant(Parameters=parameters(tenantName="a", tier="gold"), Customizations=custom)
    yield "created", made.decided
    seen = made
    for fact, members in {
        "nothing sent": {},
        "only Enabled": {"Enabled": False},
        "only Domains": {"Domains": domains("acme.example.com", "two.example.com")},
        "only Parameters": {"Parameters": parameters(tier="silver")},
        "only a part of Customizations": {"Customizations": {"GeoRestrictions": {"RestrictionType": "none"}}},
        "a disabled web ACL": {"Customizations": {"WebAcl": {"Action": "disable"}}},
        "empty Customizations": {"Customizations": {}},
        "empty Parameters": {"Parameters": []},
    }.items():
        seen = aws.ask("update_distribution_tenant", **seen.version, **members)
        yield fact, seen.decided
    kept = ("Id", "Arn", "CreatedTime", "ConnectionGroupId", "DistributionId")
    yield "identity", {name: seen.body[name] == made.body[name] for name in kept}


@scenario
def customizations(aws: Account) -> Facts:
    for fact, value in {
        "an override without web ACL": {"WebAcl": {"Action": "override"}},
        "an action that is none": {"WebAcl": {"Action": "allow"}},
        "a restriction that is none": {"GeoRestrictions": {"RestrictionType": "greylist"}},
        "a list without locations": {"GeoRestrictions": {"RestrictionType": "whitelist"}},
    }.items():
        name = fact.replace(" ", "-")
        yield fact, aws.tenant(name, Customizations=value).outcome
        looked_for = aws.ask("get_distribution_tenant", Identifier=name)
        yield f"{fact}: afterwards", looked_for.outcome


@scenario
def parameter_rules(aws: Account) -> Facts:
    yield (
        "one that the parent does not define",
        aws.tenant("one", Parameters=parameters(colour="red")).outcome,
    )
    twice = [*parameters(tier="a"), *parameters(tier="b")]
    yield "twice", aws.tenant("two", Parameters=twice).outcome
    strict = [{"Name": "tenantName", "Definition": {"StringSchema": {"Required": True}}}]
    parent = aws.distribution("strict", TenantConfig={"ParameterDefinitions": strict})
    yield "a required one missing", aws.tenant("three", DistributionId=parent).outcome


@scenario
def parents(aws: Account) -> Facts:
    standard = aws.distribution("standard", ConnectionMode="direct", TenantConfig=None)
    second = aws.distribution("second")
    made = aws.tenant()
    cases = {
        "unknown": {"DistributionId": "E0UNKNOWN"},
        "standard": {"DistributionId": standard},
        "unknown group": {"ConnectionGroupId": "cg_unknown"},
    }
    for fact, members in cases.items():
        yield f"create, {fact}", aws.tenant("other", **members).outcome
        yield f"update, {fact}", aws.ask("update_distribution_tenant", **made.version, **members).outcome
    yield "unchanged by all that", aws.ask("get_distribution_tenant", Identifier="acme").etag == made.etag
    moved = aws.ask("update_distribution_tenant", **made.version, DistributionId=second)
    yield "moved", (moved.outcome, moved.body["DistributionId"] == second)
    group = aws.group()
    regrouped = aws.ask("update_distribution_tenant", **moved.version, ConnectionGroupId=group.id)
    yield "into another group", regrouped.body["ConnectionGroupId"] == group.id


@scenario
def tenant_lookups(aws: Account) -> Facts:
    made = aws.tenant(Domains=domains("acme.example.com", "shop.example.com"))
    found = {"id": made.id, "ARN": made.body["Arn"], "name": "acme"}
    for by, identifier in found.items():
        yield by, aws.ask("get_distribution_tenant", Identifier=identifier).body["Id"] == made.id
    for name in ("acme.example.com", "shop.example.com", "SHOP.example.com"):
        yield name, aws.ask("get_distribution_tenant_by_domain", Domain=name).outcome
    for by, identifier in {"id": "dt_0", "name": "nobody", "ARN": made.body["Arn"] + "0"}.items():
        yield f"unknown {by}", aws.ask("get_distribution_tenant", Identifier=identifier).outcome
    yield "unknown domain", aws.ask("get_distribution_tenant_by_domain", Domain="no.example.com").outcome
    by_name = {"Id": "acme", "IfMatch": made.etag}
    yield "update by name", aws.ask("update_distribution_tenant", **by_name).outcome
    yield "update of none", aws.ask("update_distribution_tenant", Id="dt_0", IfMatch=STALE).outcome
    yield "delete of none", aws.ask("delete_distribution_tenant", Id="dt_0", IfMatch=STALE).outcome


@scenario
def tagging(aws: Account) -> Facts:
    for kind, made in {
        "tenant": aws.tenant(Tags=tags(team="edge")),
        "group": aws.group(Tags=tags(team="edge")),
    }.items():
        arn = made.body["Arn"]
        yield f"{kind}: shown by the create", made.body.get("Tags")
        yield (
            f"{kind}: tag",
            aws.ask("tag_resource", Resource=arn, Tags=tags(team="core", stage="live")).outcome,
        )
        yield f"{kind}: tagged", aws.tags(arn)
        yield (
            f"{kind}: untag",
            aws.ask("untag_resource", Resource=arn, TagKeys={"Items": ["team", "no"]}).outcome,
        )
        yield f"{kind}: untagged", aws.tags(arn)
        read = "get_distribution_tenant" if kind == "tenant" else "get_connection_group"
        found = aws.ask(read, Identifier=made.id)
        yield f"{kind}: tagging moves the ETag", found.etag != made.etag
        yield f"{kind}: shown by a get", "Tags" in found.body
        yield f"{kind}: unknown", aws.ask("list_tags_for_resource", Resource=arn + "0").outcome
        yield f"{kind}: reserved", aws.ask("tag_resource", Resource=arn, Tags=tags(**{"aws:a": "b"})).outcome


@scenario
def tenant_lists(aws: Account) -> Facts:
    second, group = aws.distribution("second"), aws.group()
    custom = {"WebAcl": {"Action": "override", "Arn": WEB_ACL}}
    yield "none", names(aws.ask("list_distribution_tenants"))
    made = [
        aws.tenant("one", Parameters=parameters(tier="a"), Tags=tags(a="b")),
        aws.tenant("two", DistributionId=second, Customizations=custom),
        aws.tenant("three", ConnectionGroupId=group.id),
    ]
    listed = aws.ask("list_distribution_tenants")
    yield "all", names(listed)
    rows = listed.raw["DistributionTenantList"]
    yield "members", [sorted(row) for row in sorted(rows, key=lambda row: row["Name"])]
    yield "with their ETags", {row["ETag"] for row in rows} == {each.etag for each in made}
    for fact, chosen in {
        "of a distribution": {"DistributionId": second},
        "of a group": {"ConnectionGroupId": group.id},
        "of an unknown distribution": {"DistributionId": "E0UNKNOWN"},
        "of an unknown group": {"ConnectionGroupId": "cg_0"},
    }.items():
        yield fact, names(aws.ask("list_distribution_tenants", AssociationFilter=chosen))
    by_custom = "list_distribution_tenants_by_customization"
    yield "by web ACL", names(aws.ask(by_custom, WebACLArn=WEB_ACL))
    yield "by neither", names(aws.ask(by_custom))
    yield "by both", names(aws.ask(by_custom, WebACLArn=WEB_ACL, CertificateArn=aws.certificate))
    yield "pages of two", pages_of_two(aws, "list_distribution_tenants", "DistributionTenantList")
    yield "a bad marker", names(aws.ask("list_distribution_tenants", Marker="nonsense"))


@scenario
def managed_certificates(aws: Account) -> Facts:
    def asked(name: str, domain: str, **request: str) -> Answer:
        return aws.tenant(name, Domains=domains(domain), ManagedCertificateRequest=request)

    yield "a token host that is none", asked("one", "one.test.org", ValidationTokenHost="me").outcome
    other = {"ValidationTokenHost": "self-hosted", "PrimaryDomainName": "other.test.org"}
    yield "a primary domain of somebody else", asked("two", "two.test.org", **other).outcome
    hosted = asked("three", "three.test.org", ValidationTokenHost="self-hosted")
    yield "self-hosted", hosted.outcome
    yield "status of its domain", hosted.body["Domains"][0]["Status"]


@scenario
def managed_certificate_life(aws: Account) -> Facts:
    """Asked for, and attached where it is issued at once."""
    wanted = {"ValidationTokenHost": "self-hosted"}
    made = aws.tenant("acme", Domains=domains("acme.test.org"), ManagedCertificateRequest=wanted)
    yield "create", made.outcome
    details = aws.ask("get_managed_certificate_details", Identifier=made.id).raw["ManagedCertificateDetails"]
    yield "members of its details", sorted(details)
    yield "status at first", details["CertificateStatus"]
    yield "token host", details["ValidationTokenHost"]
    yield "members of a token", sorted(details["ValidationTokenDetails"][0])
    yield "domain of a token", details["ValidationTokenDetails"][0]["Domain"]
    found = aws.ask("get_distribution_tenant", Identifier=made.id)
    yield "the certificate before", found.body.get("Customizations")
    own = {"Certificate": {"Arn": details["CertificateArn"]}}
    attached = aws.ask("update_distribution_tenant", **found.version, Customizations=own)
    yield "attached before it is served", attached.outcome
    nobody = aws.ask("get_managed_certificate_details", Identifier="dt_0")
    yield "details of none", nobody.outcome
    plain = aws.tenant("plain")
    yield "details without a request", aws.ask("get_managed_certificate_details", Identifier=plain.id).outcome


@scenario
def tenant_of_a_group_life(aws: Account) -> Facts:
    """All of a tenant's life in a group of its own, to the end of both."""
    group = aws.group("edge")
    made = aws.tenant("acme", ConnectionGroupId=group.id, Tags=tags(team="edge"))
    yield "create", (made.outcome, made.body["ConnectionGroupId"] == group.id)
    aws.deploy()
    yield (
        "DNS",
        sorted(aws.ask("verify_dns_configuration", Identifier=made.id).raw["DnsConfigurationList"][0]),
    )
    changed = aws.ask("update_distribution_tenant", **made.version, Parameters=parameters(tier="gold"))
    yield "update", changed.decided
    aws.ask("tag_resource", Resource=made.body["Arn"], Tags=tags(stage="live"))
    aws.ask("untag_resource", Resource=made.body["Arn"], TagKeys={"Items": ["team"]})
    yield "tags", aws.tags(made.body["Arn"])
    off = aws.ask("update_distribution_tenant", **changed.version, Enabled=False)
    yield "disable", off.decided
    aws.deploy()
    yield "the group meanwhile", aws.ask("delete_connection_group", **group.version).outcome
    yield "delete", aws.ask("delete_distribution_tenant", **off.version).outcome
    closed = aws.ask("update_connection_group", **group.version, Enabled=False)
    aws.deploy()
    yield "the group after it", aws.ask("delete_connection_group", **closed.version).outcome
