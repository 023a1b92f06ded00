"""Connection groups."""

from __future__ import annotations

from tests.contract.account import Account, tags
from tests.contract.facts import STALE, Facts, pages_of_two, scenario


@scenario
def group_versions(aws: Account) -> Facts:
    made = aws.group()
    changed = aws.ask("update_connection_group", **made.version, Enabled=False)
    for operation in ("update_connection_group", "delete_connection_group"):
        yield f"{operation}: stale", aws.ask(operation, **made.version).outcome
        yield f"{operation}: empty", aws.ask(operation, Id=made.id, IfMatch="").outcome
        yield f"{operation}: no version at all", aws.ask(operation, Id=made.id, IfMatch="nonsense").outcome
    yield "unchanged by all that", aws.ask("get_connection_group", Identifier=made.id).etag == changed.etag


@scenario
def group_life(aws: Account) -> Facts:
    made = aws.group()
    yield "create", made.outcome
    yield "created", made.decided
    yield "members of create", sorted(made.body)
    yield "id", made.id[:3]
    yield "arn", made.body["Arn"].replace(made.id, "ID").replace(aws.number, "ACCOUNT")
    yield "endpoint", made.body["RoutingEndpoint"].partition(".")[2]
    yield "status at first", made.body["Status"]
    aws.deploy()
    kept = aws.ask("update_connection_group", **made.version)
    yield "nothing sent", (kept.decided, kept.etag != made.etag)
    changed = aws.ask("update_connection_group", **kept.version, Ipv6Enabled=False)
    yield "only Ipv6Enabled", changed.decided
    yield "delete while enabled", aws.ask("delete_connection_group", **changed.version).outcome
    disabled = aws.ask("update_connection_group", **changed.version, Enabled=False)
    yield "only Enabled", disabled.decided
    yield "endpoint is kept", disabled.body["RoutingEndpoint"] == made.body["RoutingEndpoint"]
    aws.deploy()
    yield "delete", aws.ask("delete_connection_group", **disabled.version).outcome
    yield "get afterwards", aws.ask("get_connection_group", Identifier=made.id).outcome
    yield "delete again", aws.ask("delete_connection_group", **disabled.version).outcome
    yield "the name is free again", aws.group().outcome


@scenario
def group_rules(aws: Account) -> Facts:
    made = aws.group()
    yield "a name in use", aws.group().outcome
    yield "an empty name", aws.group("").outcome
    yield "an unknown Anycast list", aws.group("other", AnycastIpListId="aip_0").outcome
    tenant = aws.tenant(ConnectionGroupId=made.id)
    aws.deploy()
    yield "delete with a tenant", aws.ask("delete_connection_group", **made.version).outcome
    yield "disable with a tenant", aws.ask("update_connection_group", **made.version, Enabled=False).outcome
    off = aws.ask("update_distribution_tenant", **tenant.version, Enabled=False)
    aws.deploy()
    aws.ask("delete_distribution_tenant", **off.version)
    found = aws.ask("get_connection_group", Identifier=made.id)
    disabled = aws.ask("update_connection_group", **found.version, Enabled=False)
    yield "right after disabling", aws.ask("delete_connection_group", **disabled.version).outcome


@scenario
def group_lookups(aws: Account) -> Facts:
    made = aws.group()
    for by, identifier in {"id": made.id, "ARN": made.body["Arn"], "name": "edge"}.items():
        yield by, aws.ask("get_connection_group", Identifier=identifier).body["Id"] == made.id
    endpoint = made.body["RoutingEndpoint"]
    found = aws.ask("get_connection_group_by_routing_endpoint", RoutingEndpoint=endpoint)
    yield "endpoint", found.body["Id"] == made.id
    none = aws.ask("get_connection_group_by_routing_endpoint", RoutingEndpoint="d0.cloudfront.net")
    yield "unknown endpoint", none.outcome
    yield "unknown id", aws.ask("get_connection_group", Identifier="cg_0").outcome
    yield "update by name", aws.ask("update_connection_group", Id="edge", IfMatch=made.etag).outcome
    yield "update of none", aws.ask("update_connection_group", Id="cg_0", IfMatch=STALE).outcome
    yield "delete of none", aws.ask("delete_connection_group", Id="cg_0", IfMatch=STALE).outcome


@scenario
def default_group(aws: Account) -> Facts:
    yield "before any tenant", len(aws.ask("list_connection_groups").raw["ConnectionGroups"])
    one, two = aws.tenant("one"), aws.tenant("two")
    yield "shared", one.body["ConnectionGroupId"] == two.body["ConnectionGroupId"]
    group = aws.ask("get_connection_group", Identifier=one.body["ConnectionGroupId"])
    yield "name", group.body["Name"].replace(group.id, "ID")
    yield "is the default", group.body["IsDefault"]
    for tenant in (one, two):
        disabled = aws.ask("update_distribution_tenant", **tenant.version, Enabled=False)
        aws.deploy()
        aws.ask("delete_distribution_tenant", **disabled.version)
    disabled = aws.ask("update_connection_group", **group.version, Enabled=False)
    aws.deploy()
    yield "delete", aws.ask("delete_connection_group", **disabled.version).outcome


@scenario
def group_lists(aws: Account) -> Facts:
    made = [aws.group(name, Tags=tags(a="b")) for name in ("one", "two", "three")]
    listed = aws.ask("list_connection_groups").raw["ConnectionGroups"]
    rows = sorted((row for row in listed if not row["IsDefault"]), key=lambda row: row["Name"])
    yield "all", [row["Name"] for row in rows]
    yield "members", [sorted(row) for row in rows]
    yield "with their ETags", {row["ETag"] for row in rows} == {each.etag for each in made}
    yield "pages of two", max(pages_of_two(aws, "list_connection_groups", "ConnectionGroups"))
    unknown = aws.ask("list_connection_groups", AssociationFilter={"AnycastIpListId": "aip_0"})
    yield "of an unknown Anycast list", unknown.outcome
