"""The switches for what AWS does not say: each both ways, listed, settable by API and environment."""

import os
import subprocess
import sys

import pytest
from botocore.exceptions import ClientError

from edgetenants_emulator.settings import ENVIRONMENT_PREFIX, Settings
from edgetenants_emulator.unknowns.catalog import UNKNOWNS

GEO = {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}}
NO_ACL = {"WebAcl": {"Action": "disable"}}
TIER = [{"Name": "tier", "Value": "gold"}]


def update(aws, made, **members):
    return aws.cloudfront.update_distribution_tenant(
        Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"], **members
    )


UPDATES = [
    ("customizations_merge", False, {"Customizations": NO_ACL}, {"Customizations": NO_ACL}),
    ("customizations_merge", True, {"Customizations": NO_ACL}, {"Customizations": {**NO_ACL, **GEO}}),
    ("empty_customizations_clear", True, {"Customizations": {}}, {"Customizations": None}),
    ("empty_customizations_clear", False, {"Customizations": {}}, {"Customizations": GEO}),
    ("empty_parameters_clear", True, {"Parameters": []}, {"Parameters": None}),
    ("empty_parameters_clear", False, {"Parameters": []}, {"Parameters": TIER}),
]


@pytest.mark.parametrize(("switch", "value", "sent", "expected"), UPDATES)
def test_updates(aws, admin, switch, value, sent, expected):
    admin.settings(**{switch: value})
    made = aws.tenant(Customizations=GEO, Parameters=TIER)
    found = update(aws, made, **sent)["DistributionTenant"]
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("moves", [True, False])
def test_tags_and_the_version(aws, admin, moves):
    admin.settings(tags_move_etag=moves)
    made = aws.tenant()
    arn = made["DistributionTenant"]["Arn"]
    aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "a", "Value": "b"}]})
    tagged = aws.cloudfront.get_distribution_tenant(Identifier=arn)["ETag"]
    aws.cloudfront.untag_resource(Resource=arn, TagKeys={"Items": ["a"]})
    untagged = aws.cloudfront.get_distribution_tenant(Identifier=arn)["ETag"]
    assert len({made["ETag"], tagged, untagged}) == (3 if moves else 1)


@pytest.mark.parametrize("shown", [True, False])
def test_tags_in_get(aws, admin, shown):
    admin.settings(get_returns_tags=shown)
    tags = {"Items": [{"Key": "a", "Value": "b"}]}
    aws.tenant(Tags=tags)
    aws.group(Tags=tags)
    expected = tags if shown else None
    tenant = aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]
    group = aws.cloudfront.get_connection_group(Identifier="edge")["ConnectionGroup"]
    assert (tenant.get("Tags"), group.get("Tags")) == (expected, expected)


def test_an_update_while_in_progress(aws, admin):
    made = aws.tenant()
    made["ETag"] = update(aws, made, Enabled=False)["ETag"]
    admin.settings(update_needs_deployed=True)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        update(aws, made, Enabled=True)
    admin.step(60)
    update(aws, made, Enabled=True)


def test_unknown_parameters(aws, admin):
    admin.settings(unknown_parameters_refused=False)
    wanted = [{"Name": "colour", "Value": "red"}]
    assert aws.tenant(Parameters=wanted)["DistributionTenant"]["Parameters"] == wanted


@pytest.mark.parametrize("with_distribution", [True, False])
def test_the_default_groups_birth(emulator, other, admin, with_distribution):

    admin.settings(default_group_with_distribution=with_distribution)
    aws = type(other)(emulator.url, "333344445555")
    aws.parent = aws.distribution()

    def groups():
        return len(aws.cloudfront.list_connection_groups()["ConnectionGroups"])

    assert groups() == with_distribution
    aws.tenant(ManagedCertificateRequest={"ValidationTokenHost": "self-hosted"})
    assert groups() == 1


@pytest.mark.parametrize("count", [True, False])
def test_managed_certificates_in_acms_quota(aws, admin, count):
    ours = len(aws.client("acm").list_certificates(MaxItems=1000)["CertificateSummaryList"])
    request = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}
    admin.settings(acm_certificates_per_account=ours + 1, managed_certificates_count=count)
    aws.tenant("first", **request)
    if count:
        params = {"DistributionId": aws.parent, "Name": "second", "Domains": [{"Domain": "s.example.com"}]}
        refused = aws.refused("create_distribution_tenant", **params, **request)
        assert refused == ("EntityLimitExceeded", 400)
    else:
        aws.tenant("second", **request)


class TestLists:
    def names(self, aws):
        pages = aws.cloudfront.get_paginator("list_distribution_tenants").paginate(
            PaginationConfig={"PageSize": 2}
        )
        return [row["Name"] for page in pages for row in page["DistributionTenantList"]]

    @pytest.mark.parametrize(
        ("switch", "expected"),
        [
            ("list_marker_skips", ["one", "two", "four"]),
            ("list_marker_repeats", ["one", "two", "two", "three", "three", "four"]),
        ],
    )
    def test_markers(self, aws, admin, switch, expected):
        for name in ("one", "two", "three", "four"):
            aws.tenant(name)
        assert self.names(aws) == ["one", "two", "three", "four"]
        admin.settings(**{switch: 1})
        assert self.names(aws) == expected

    def test_lag(self, aws, admin):
        admin.settings(list_lag_seconds=30)
        aws.tenant()
        assert self.names(aws) == []
        assert aws.cloudfront.get_distribution_tenant(Identifier="acme")
        admin.step(30)
        assert self.names(aws) == ["acme"]


class TestTheList:
    def test_names_settings_that_are_there(self):
        known = set(Settings().as_json())
        for unknown in UNKNOWNS:
            assert set(unknown.settings) <= known
            assert unknown.sources
            assert unknown.question.endswith("?")

    def test_has_every_switch(self):
        listed = {name for unknown in UNKNOWNS for name in unknown.settings}
        given = Settings().as_json()
        flags = {name for name, value in given.items() if isinstance(value, bool)}
        lags = {name for name in given if "_lag_" in name or "_marker_" in name}
        assert flags | lags | set(Settings.choices()) <= listed

    def test_asks_each_question_once(self):
        questions = [unknown.question for unknown in UNKNOWNS]
        assert len(set(questions)) == len(questions)

    def test_by_the_admin_api(self, admin):
        admin.settings(customizations_merge=True)
        first = admin("GET", "unknowns")["unknowns"][0]
        assert first["settings"] == {"customizations_merge": True}

    def test_by_the_command(self):
        environment = {**os.environ, f"{ENVIRONMENT_PREFIX}CUSTOMIZATIONS_MERGE": "true"}
        command = [sys.executable, "-m", "edgetenants_emulator.main", "unknowns"]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert f"{ENVIRONMENT_PREFIX}CUSTOMIZATIONS_MERGE=true" in said
        assert said.count("source") >= len(UNKNOWNS)
        words = "InvalidArgument  (or InvalidAssociation, EntityNotFound)"
        assert f"{ENVIRONMENT_PREFIX}PARAMETER_ERROR={words}" in said


class TestEnvironment:
    def test_gives_settings(self):
        given = {"DEPLOY_TENANT_SECONDS": "5", "LIST_LAG_SECONDS": "0.5", "TAGS_MOVE_ETAG": "True"}
        found = Settings.from_environment(
            {f"{ENVIRONMENT_PREFIX}{k}": v for k, v in given.items()} | {"A": "b"}
        )
        expected = Settings(deploy_tenant_seconds=5, list_lag_seconds=0.5, tags_move_etag=True)
        assert found == expected

    @pytest.mark.parametrize("name", ["NONE", "TAGS_MOVE_ETAG", "PAGE_SIZE_MAX"])
    def test_of_nonsense_is_refused(self, name):
        with pytest.raises(ValueError, match=name.lower()):
            Settings.from_environment({f"{ENVIRONMENT_PREFIX}{name}": "x"})
