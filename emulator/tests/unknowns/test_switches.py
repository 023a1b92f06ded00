"""Each switch does what it says: the codes that can be chosen, the lags, and what is read another way."""

from typing import Any

import pytest

from edgetenants_emulator.errors import STATUS, ErrorCode
from edgetenants_emulator.settings import ACCEPTED, Settings

FIRST_VERSION = "E23ZP02F085DFQ"
DOMAIN = "shop.customer.test"
SELF_HOSTED = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}
BY_CLOUDFRONT = {"ManagedCertificateRequest": {"ValidationTokenHost": "cloudfront"}}
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/w/0"
OTHERS_TENANT = "arn:aws:cloudfront::210987654321:distribution-tenant/dt_0"


def domains(*names):
    return [{"Domain": name} for name in names]


def new(aws, **members):
    wanted = {"DistributionId": aws.parent, "Name": "acme", "Domains": domains("acme.example.com")}
    return "create_distribution_tenant", {**wanted, **members}


def known(made):
    (body,) = (value for name, value in made.items() if name not in ("ETag", "ResponseMetadata"))
    return {"Id": body["Id"], "IfMatch": made["ETag"]}


def second_request(aws, _admin, _other):
    return "update_distribution_tenant", {**known(aws.tenant(**SELF_HOSTED)), **SELF_HOSTED}


def required_parameter(aws, _admin, _other):
    aws.tenant()
    found = aws.cloudfront.get_distribution_config(Id=aws.parent)
    schema = {"StringSchema": {"Required": True}}
    found["DistributionConfig"]["TenantConfig"] = {
        "ParameterDefinitions": [{"Name": "tenantName", "Definition": schema}]
    }
    config = {"DistributionConfig": found["DistributionConfig"]}
    return "update_distribution", {"Id": aws.parent, "IfMatch": found["ETag"], **config}


def in_progress(aws, admin, _other):
    admin.settings(update_needs_deployed=True)
    return "update_distribution_tenant", {**known(aws.tenant()), "Enabled": False}


def disabled(aws, _admin, _other):
    return "delete_distribution_tenant", known(aws.tenant(Enabled=False))


def default_group(aws, _admin, _other):
    (row,) = aws.cloudfront.list_connection_groups()["ConnectionGroups"]
    return "delete_connection_group", {"Id": row["Id"], "IfMatch": row["ETag"]}


def anothers_domain(_aws, _admin, other):
    other.tenant()
    return "get_distribution_tenant_by_domain", {"Domain": "acme.example.com"}


def both_filters(aws, _admin, _other):
    wanted = {"DistributionId": aws.parent, "ConnectionGroupId": known(aws.group())["Id"]}
    return "list_distribution_tenants", {"AssociationFilter": wanted}


# Setting to what meets it: an operation and its parameters.
MET: dict[str, Any] = {
    "association_filter_both": both_filters,
    "default_group_delete_error": default_group,
    "delete_in_progress_error": disabled,
    "disassociate_nothing": lambda aws, *_: (
        "disassociate_distribution_tenant_web_acl",
        known(aws.tenant()),
    ),
    "foreign_arn_error": lambda *_: ("get_distribution_tenant", {"Identifier": OTHERS_TENANT}),
    "foreign_domain_error": anothers_domain,
    "parameter_error": lambda aws, *_: new(aws, Parameters=[{"Name": "colour", "Value": "red"}]),
    "required_parameter_added": required_parameter,
    "second_certificate_request_error": second_request,
    "standard_parent_error": lambda aws, *_: new(
        aws, DistributionId=aws.distribution("standard", ConnectionMode="direct", TenantConfig=None)
    ),
    "uncovered_domain_error": lambda aws, *_: new(aws, Domains=domains("a.uncovered.test")),
    "update_in_progress_error": in_progress,
}
NO_CODES = {"deployment_times", "role_session_clock", "tenant_update_needs"}


@pytest.mark.parametrize(
    ("setting", "word"),
    [(name, word) for name, words in Settings.choices().items() if name not in NO_CODES for word in words],
)
def test_the_code_that_is_chosen(aws, admin, other, setting, word):
    operation, params = MET[setting](aws, admin, other)
    admin.settings(**{setting: word})
    if word in list(ErrorCode):
        assert aws.refused(operation, **params) == (word, STATUS[ErrorCode(word)])
    else:
        assert getattr(aws.cloudfront, operation)(**params)["ResponseMetadata"]["HTTPStatusCode"] < 300


def test_every_choice_of_codes_is_met():
    assert set(MET) | NO_CODES == set(Settings.choices())


def test_an_uncovered_domain_that_is_accepted_is_inactive(aws, admin):
    admin.settings(uncovered_domain_error=ACCEPTED)
    made = aws.tenant(Domains=domains("a.uncovered.test", "a.example.com"))
    assert [each["Status"] for each in made["DistributionTenant"]["Domains"]] == ["inactive", "active"]


PARENT = {"DistributionId", "Domains"}


@pytest.mark.parametrize(
    ("needs", "missing"),
    [
        ("nothing", set()),
        ("parent", PARENT),
        ("everything", PARENT | {"ConnectionGroupId", "Parameters"}),
    ],
)
def test_what_an_update_of_a_tenant_has_to_say(aws, admin, needs, missing):
    parameters = [{"Name": "tenantName", "Value": "a"}]
    made = aws.tenant(Parameters=parameters)
    whole = {name: made["DistributionTenant"][name] for name in (*PARENT, "ConnectionGroupId")}
    said = {**known(made), **whole, "Parameters": parameters, "Enabled": False}
    said["Domains"] = domains("acme.example.com")
    admin.settings(tenant_update_needs=needs)
    for name in missing:
        without = {key: value for key, value in said.items() if key != name}
        assert aws.refused("update_distribution_tenant", **without) == ("InvalidArgument", 400)
    sent = {key: value for key, value in said.items() if key in {"Id", "IfMatch", "Enabled", *missing}}
    assert aws.cloudfront.update_distribution_tenant(**sent)["DistributionTenant"]["Enabled"] is False


def test_what_an_update_of_a_group_has_to_say(aws, admin):
    made = known(aws.group())
    admin.settings(group_update_needs_everything=True)
    refused = aws.refused("update_connection_group", **made, Enabled=False)
    assert refused == ("InvalidArgument", 400)
    aws.cloudfront.update_connection_group(**made, Enabled=False, Ipv6Enabled=True)


@pytest.mark.parametrize(("both", "expected"), [("and", {"t-x"}), ("or", {"t-x", "t-y", "t-z"})])
def test_a_filter_with_both(aws, admin, both, expected):
    group = known(aws.group())["Id"]
    parent = aws.distribution("second", aws.certificate("*.second.test"))
    aws.tenant("t-x", ConnectionGroupId=group)
    aws.tenant("t-y")
    aws.tenant("t-z", DistributionId=parent, ConnectionGroupId=group, Domains=domains("z.second.test"))
    aws.tenant("t-w", DistributionId=parent, Domains=domains("w.second.test"))
    admin.settings(association_filter_both=both)
    wanted = {"DistributionId": aws.parent, "ConnectionGroupId": group}
    rows = aws.cloudfront.list_distribution_tenants(AssociationFilter=wanted)["DistributionTenantList"]
    assert {row["Name"] for row in rows} == expected


def test_a_filter_with_an_unknown_id(aws, admin):
    wanted = {"AssociationFilter": {"DistributionId": "E0UNKNOWN"}}
    assert aws.refused("list_distribution_tenants", **wanted) == ("EntityNotFound", 404)
    admin.settings(association_filter_unknown_refused=False)
    aws.tenant()
    assert aws.cloudfront.list_distribution_tenants(**wanted)["DistributionTenantList"] == []


def test_if_match_star(aws, admin):
    wanted = {**known(aws.tenant()), "IfMatch": "*", "Enabled": False}
    assert aws.refused("update_distribution_tenant", **wanted) == ("InvalidIfMatchVersion", 400)
    admin.settings(if_match_star_accepted=True)
    assert aws.cloudfront.update_distribution_tenant(**wanted)["ETag"] != FIRST_VERSION


def test_enabled_left_out(aws, admin):
    admin.settings(enabled_by_default=False)
    assert aws.tenant()["DistributionTenant"]["Enabled"] is False
    assert aws.group()["ConnectionGroup"]["Enabled"] is False


@pytest.mark.parametrize("moves", [True, False])
def test_an_update_that_changes_nothing(aws, admin, moves):
    admin.settings(unchanged_update_moves_etag=moves)
    made = known(aws.tenant())
    admin.step(60)
    found = aws.cloudfront.update_distribution_tenant(**made, Enabled=True)
    status = found["DistributionTenant"]["Status"]
    assert (found["ETag"] != made["IfMatch"], status) == (moves, "InProgress" if moves else "Deployed")


def test_what_the_end_of_a_deployment_moves(aws, admin):
    admin.settings(deployed_moves_modified=True)
    created = aws.tenant()["DistributionTenant"]["LastModifiedTime"]
    admin.step(60)
    found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
    moved = found["DistributionTenant"]["LastModifiedTime"] - created
    assert (moved.total_seconds(), found["ETag"]) == (pytest.approx(45, abs=0.01), FIRST_VERSION)


class TestLists:
    def rows(self, aws, **params):
        rows = aws.cloudfront.list_distribution_tenants(**params)["DistributionTenantList"]
        return {row["Name"]: row for row in rows}

    def test_updates_lag(self, aws, admin):
        admin.settings(list_lag_of_updates_seconds=30)
        made = aws.tenant()
        admin.step(100)
        changed = aws.cloudfront.update_distribution_tenant(**known(made), Enabled=False)
        admin.step(29)
        row = self.rows(aws)["acme"]
        assert (row["ETag"], row["Enabled"]) == (made["ETag"], True)
        assert aws.cloudfront.get_distribution_tenant(Identifier="acme")["ETag"] == changed["ETag"]
        admin.step(1)
        row = self.rows(aws)["acme"]
        assert (row["ETag"], row["Enabled"]) == (changed["ETag"], False)

    def test_each_version_lags_by_itself(self, aws, admin):
        admin.settings(list_lag_of_updates_seconds=30)
        etags = [aws.tenant()["ETag"]]
        for _ in range(2):
            params = {"Id": self.rows(aws)["acme"]["Id"], "IfMatch": etags[-1]}
            etags.append(aws.cloudfront.update_distribution_tenant(**params, Enabled=True)["ETag"])
            admin.step(20)
        assert self.rows(aws)["acme"]["ETag"] == etags[1]

    def test_deletes_lag(self, aws, admin):
        admin.settings(list_lag_of_deletes_seconds=30, delete_needs_deployed=False)
        gone = aws.tenant(Enabled=False)
        aws.tenant("later")
        aws.cloudfront.delete_distribution_tenant(**known(gone))
        assert list(self.rows(aws)) == ["acme", "later"]
        assert aws.refused("get_distribution_tenant", Identifier="acme")[0] == "EntityNotFound"
        admin.step(30)
        assert list(self.rows(aws)) == ["later"]

    def test_others_do_not_see_what_was_deleted(self, aws, other, admin):
        admin.settings(list_lag_of_deletes_seconds=30)
        aws.tenant()
        admin("DELETE", "distribution-tenants/acme")
        assert (list(self.rows(aws)), list(self.rows(other))) == (["acme"], [])

    def test_a_marker_whose_item_is_gone(self, aws, admin):
        for name in ("a", "b", "c"):
            aws.tenant(f"t-{name}")
        marker = aws.cloudfront.list_distribution_tenants(MaxItems=2)["NextMarker"]
        admin("DELETE", "distribution-tenants/t-b")
        assert list(self.rows(aws, Marker=marker)) == ["t-c"]
        admin.settings(list_marker_needs_its_item=True)
        assert aws.refused("list_distribution_tenants", Marker=marker) == ("InvalidArgument", 400)

    def test_max_items_above_the_largest_page(self, aws, admin):
        admin.settings(page_size_max=2, max_items_above_max_refused=True)
        assert aws.refused("list_distribution_tenants", MaxItems=3) == ("InvalidArgument", 400)
        assert self.rows(aws, MaxItems=2) == {}


class TestLags:
    def test_delete_after_deployed(self, aws, admin):
        made = known(aws.tenant(Enabled=False))
        admin.settings(delete_lag_seconds=20)
        admin.step(45)
        assert aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Status"] == (
            "Deployed"
        )
        assert aws.refused("delete_distribution_tenant", **made) == ("ResourceNotDisabled", 409)
        admin.step(20)
        aws.cloudfront.delete_distribution_tenant(**made)

    def test_a_look_up_by_domain(self, aws, admin):
        admin.settings(domain_lookup_lag_seconds=30)
        made = known(aws.tenant())
        look_up = {"Domain": "acme.example.com"}
        assert aws.refused("get_distribution_tenant_by_domain", **look_up) == ("EntityNotFound", 404)
        admin.step(30)
        # Another domain beside it starts again, the first one does not.
        both = domains("acme.example.com", "b.example.com")
        aws.cloudfront.update_distribution_tenant(**made, Domains=both)
        assert aws.cloudfront.get_distribution_tenant_by_domain(**look_up)
        assert aws.refused("get_distribution_tenant_by_domain", Domain="b.example.com")[1] == 404

    def test_tags(self, aws, admin):
        admin.settings(tags_lag_seconds=30)
        arn = aws.tenant(Tags={"Items": [{"Key": "a", "Value": "1"}]})["DistributionTenant"]["Arn"]
        aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "a", "Value": "2"}]})

        def value():
            return aws.cloudfront.list_tags_for_resource(Resource=arn)["Tags"]["Items"][0]["Value"]

        assert value() == "1"
        admin.step(30)
        assert value() == "2"

    def test_dns(self, aws, admin):
        admin.settings(dns_propagation_seconds=30)
        endpoint = aws.cloudfront.list_connection_groups()["ConnectionGroups"][0]["RoutingEndpoint"]
        admin("POST", "records", {"name": DOMAIN, "type": "CNAME", "values": [endpoint]})
        operation, params = new(aws, Domains=domains(DOMAIN), **BY_CLOUDFRONT)
        assert aws.refused(operation, **params) == ("InvalidArgument", 400)
        admin.step(29)
        assert aws.refused(operation, **params) == ("InvalidArgument", 400)
        admin.step(1)
        assert getattr(aws.cloudfront, operation)(**params)["ETag"] == FIRST_VERSION

    def test_dns_of_a_pending_certificate(self, aws, admin):
        admin.settings(dns_propagation_seconds=30)
        aws.tenant(Domains=domains(DOMAIN), **SELF_HOSTED)
        endpoint = aws.cloudfront.list_connection_groups()["ConnectionGroups"][0]["RoutingEndpoint"]
        admin("POST", "records", {"name": DOMAIN, "type": "CNAME", "values": [endpoint]})
        status(aws)
        admin.step(30)
        assert status(aws) == "pending-validation"
        admin.step(60)
        assert status(aws) == "issued"


def status(aws):
    found = aws.cloudfront.get_managed_certificate_details(Identifier="acme")["ManagedCertificateDetails"]
    return found["CertificateStatus"]


def issued(aws, admin, *names):
    """The tenant's ARN of an issued certificate."""
    aws.tenant(Domains=domains(*(names or (DOMAIN,))), **SELF_HOSTED)
    admin("PATCH", "managed-certificates/acme", {"served": True})
    admin.step(60)
    found = aws.cloudfront.get_managed_certificate_details(Identifier="acme")["ManagedCertificateDetails"]
    assert found["CertificateStatus"] == "issued"
    return found["CertificateArn"]


def update(aws, **members):
    found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
    return aws.cloudfront.update_distribution_tenant(**known(found), **members)["DistributionTenant"]


class TestCertificates:
    def test_a_domain_is_active_some_time_after_the_attachment(self, aws, admin):
        admin.settings(domain_activation_seconds=70)
        arn = issued(aws, admin)

        def shown():
            found = aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]
            return found["Status"], found["Domains"][0]["Status"]

        update(aws, Customizations={"Certificate": {"Arn": arn}})
        admin.step(69)
        assert shown() == ("Deployed", "inactive")
        admin("PUT", "snapshot", admin("GET", "snapshot"))
        assert shown() == ("Deployed", "inactive")
        admin.step(1)
        assert shown() == ("Deployed", "active")

    def test_verify_attaches_where_set(self, aws, admin):
        arn = issued(aws, admin)
        endpoint = aws.cloudfront.list_connection_groups()["ConnectionGroups"][0]["RoutingEndpoint"]
        admin.settings(verify_attaches_certificate=True)
        aws.cloudfront.verify_dns_configuration(Identifier="acme")
        found = aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]
        assert "Customizations" not in found
        admin("POST", "records", {"name": DOMAIN, "type": "CNAME", "values": [endpoint]})
        aws.cloudfront.verify_dns_configuration(Identifier="acme")
        found = aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]
        assert found["Customizations"]["Certificate"]["Arn"] == arn
        assert found["Domains"][0]["Status"] == "active"

    @pytest.mark.parametrize("checked", [True, False])
    def test_the_dns_at_an_update(self, aws, admin, checked):
        admin.settings(update_checks_dns=checked)
        made = known(aws.tenant())
        wanted = {**made, "Domains": domains(DOMAIN), **BY_CLOUDFRONT}
        if checked:
            assert aws.refused("update_distribution_tenant", **wanted) == ("InvalidArgument", 400)
        else:
            aws.cloudfront.update_distribution_tenant(**wanted)
            assert status(aws) == "pending-validation"

    def test_deleted_in_acm_it_stays_pending_where_set(self, aws, admin):
        admin.settings(acm_delete_cancels_request=False)
        aws.tenant(Domains=domains(DOMAIN), **SELF_HOSTED)
        found = aws.cloudfront.get_managed_certificate_details(Identifier="acme")
        arn = found["ManagedCertificateDetails"]["CertificateArn"]
        aws.client("acm").delete_certificate(CertificateArn=arn)
        admin.step(3600)
        assert status(aws) == "pending-validation"

    def test_a_lost_request(self, aws, admin):
        admin.settings(certificate_request_lost=True)
        made = aws.tenant(Domains=domains(DOMAIN), **SELF_HOSTED)["DistributionTenant"]
        assert made["Domains"][0]["Status"] == "inactive"
        assert aws.refused("get_managed_certificate_details", Identifier="acme")[0] == "EntityNotFound"
        admin.settings(certificate_request_lost=False)
        update(aws, **SELF_HOSTED)
        assert status(aws) == "pending-validation"

    @pytest.mark.parametrize("detaches", [True, False])
    def test_a_domain_that_is_removed(self, aws, admin, detaches):
        admin.settings(removed_domain_detaches_certificate=detaches)
        arn = issued(aws, admin, DOMAIN, "www.customer.test")
        update(aws, Customizations={"Certificate": {"Arn": arn}})
        found = update(aws, Domains=domains(DOMAIN))
        assert ("Customizations" in found, found["Domains"][0]["Status"]) == (not detaches, "active")


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"parameter_error": "Oops"}, "InvalidArgument, InvalidAssociation or EntityNotFound"),
            ({"parameter_error": 3}, "parameter_error"),
            ({"paramter_error": "InvalidArgument"}, "did you mean parameter_error"),
            ({"tags_move_etag": 1}, "true or false"),
            ({"list_lag_seconds": -1}, "of at least 0"),
            ({"page_size_max": 1.5}, "a whole number"),
            ([], "object"),
        ],
    )
    def test_refuses(self, admin, changes, said):
        status, message = admin.refused("PATCH", "settings", changes)
        assert (status, said in message) == (400, True), message

    def test_a_choice_from_the_environment(self):
        found = Settings.from_environment({"EDGETENANTS_EMULATOR_SETTING_PARAMETER_ERROR": "EntityNotFound"})
        assert found == Settings().changed({"parameter_error": "EntityNotFound"})
