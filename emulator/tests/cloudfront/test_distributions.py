"""Distributions through boto3: multi-tenant ones, and standard ones beside them."""

import pytest

NO_SUCH, INVALID = ("NoSuchDistribution", 404), ("InvalidArgument", 400)
VERSIONS = {"": ("InvalidIfMatchVersion", 400), "ETVPDKIKX0DER": ("PreconditionFailed", 412)}


def config_of(aws, distribution_id):
    answer = aws.cloudfront.get_distribution_config(Id=distribution_id)
    return answer["DistributionConfig"], answer["ETag"]


def changed(aws, distribution_id, **changes):
    config, etag = config_of(aws, distribution_id)
    return {"Id": distribution_id, "IfMatch": etag, "DistributionConfig": {**config, **changes}}


def test_a_multi_tenant_one_is_read_back_whole(aws, inherited):
    found = aws.cloudfront.get_distribution(Id=aws.parent)
    distribution, config = found["Distribution"], found["Distribution"]["DistributionConfig"]
    assert found["ETag"].startswith("E23ZP02F085")
    assert distribution["ARN"] == f"arn:aws:cloudfront::123456789012:distribution/{aws.parent}"
    assert distribution["Status"] == "InProgress"
    assert config["ConnectionMode"] == "tenant-only"
    assert config["ViewerCertificate"]["ACMCertificateArn"] == inherited[aws.account]
    definitions = config["TenantConfig"]["ParameterDefinitions"]
    assert [(d["Name"], d["Definition"]["StringSchema"]["Required"]) for d in definitions] == [
        ("tenantName", False),
        ("tier", False),
    ]


def test_deploying_takes_virtual_minutes(aws, admin):
    admin.step(301)
    assert aws.cloudfront.get_distribution(Id=aws.parent)["Distribution"]["Status"] == "Deployed"
    aws.cloudfront.update_distribution(**changed(aws, aws.parent, Comment="new"))
    assert aws.cloudfront.get_distribution(Id=aws.parent)["Distribution"]["Status"] == "InProgress"


def test_an_update_is_a_full_replace(aws):
    config, _ = config_of(aws, aws.parent)
    request = changed(aws, aws.parent, Comment="new")
    request["DistributionConfig"]["Origins"]["Items"][0]["OriginPath"] = ""
    del request["DistributionConfig"]["TenantConfig"]
    answer = aws.cloudfront.update_distribution(**request)
    assert "TenantConfig" in config
    assert "TenantConfig" not in answer["Distribution"]["DistributionConfig"]
    assert answer["ETag"].startswith("ETVPDKIKX0")


def test_what_was_read_can_be_written_again(aws):
    config, _ = config_of(aws, aws.parent)
    aws.cloudfront.update_distribution(**changed(aws, aws.parent))
    assert config_of(aws, aws.parent)[0] == config


def test_created_with_tags(aws, inherited):
    config, _ = config_of(aws, aws.parent)
    made = aws.cloudfront.create_distribution_with_tags(
        DistributionConfigWithTags={
            "DistributionConfig": {**config, "CallerReference": "tagged"},
            "Tags": {"Items": [{"Key": "team", "Value": "edge"}]},
        }
    )
    assert made["Location"].endswith(made["Distribution"]["Id"])
    tags = aws.cloudfront.list_tags_for_resource(Resource=made["Distribution"]["ARN"])["Tags"]["Items"]
    assert tags == [{"Key": "team", "Value": "edge"}]


def test_deleted_without_tenants_and_disabled(aws, admin):
    made = aws.tenant(Enabled=False)
    etag = aws.cloudfront.update_distribution(**changed(aws, aws.parent, Enabled=False))["ETag"]
    params = {"Id": aws.parent, "IfMatch": etag}
    assert aws.refused("delete_distribution", **params) == ("ResourceInUse", 409)
    admin.step(60)
    aws.cloudfront.delete_distribution_tenant(Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"])
    assert aws.refused("delete_distribution", **params) == ("DistributionNotDisabled", 409)
    admin.step(300)
    aws.cloudfront.delete_distribution(**params)
    assert aws.refused("get_distribution", Id=aws.parent) == NO_SUCH


def test_not_deleted_while_enabled(aws, admin):
    admin.step(301)
    params = {"Id": aws.parent, "IfMatch": config_of(aws, aws.parent)[1]}
    assert aws.refused("delete_distribution", **params) == ("DistributionNotDisabled", 409)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_needs_the_current_version(aws, version):
    update = {**changed(aws, aws.parent), "IfMatch": version}
    assert aws.refused("update_distribution", **update) == VERSIONS[version]
    assert aws.refused("delete_distribution", Id=aws.parent, IfMatch=version) == VERSIONS[version]


@pytest.mark.parametrize(
    "changes", [{"CallerReference": "two"}, {"ConnectionMode": "direct", "TenantConfig": {}}]
)
def test_some_fields_never_change(aws, changes):
    assert aws.refused("update_distribution", **changed(aws, aws.parent, **changes)) == ("IllegalUpdate", 400)


@pytest.mark.parametrize("operation", ["get_distribution", "get_distribution_config"])
def test_an_unknown_one(aws, operation):
    assert aws.refused(operation, Id="E0") == NO_SUCH


def test_the_quota_counts_multi_tenant_ones(aws, admin):
    admin.settings(tenant_only_distributions_per_account=1)
    config, _ = config_of(aws, aws.parent)
    wanted = {**config, "CallerReference": "two"}
    assert aws.refused("create_distribution", DistributionConfig=wanted) == ("TooManyDistributions", 400)


class TestStandard:
    def test_listed_by_connection_mode(self, aws):
        standard = aws.distribution("standard", ConnectionMode=None, TenantConfig=None)

        def ids(mode):
            found = aws.cloudfront.list_distributions_by_connection_mode(ConnectionMode=mode)
            return [item["Id"] for item in found["DistributionList"]["Items"]]

        assert (ids("direct"), ids("tenant-only")) == ([standard], [aws.parent])
        everything = aws.cloudfront.list_distributions()["DistributionList"]
        assert [item["Id"] for item in everything["Items"]] == [aws.parent, standard]
        assert everything["Quantity"] == 2

    def test_its_alias_is_refused_where_a_tenant_has_the_domain(self, aws):
        aws.tenant()
        config, _ = config_of(aws, aws.parent)
        wanted = {
            **{key: value for key, value in config.items() if key not in ("TenantConfig", "ConnectionMode")},
            "CallerReference": "two",
            "Aliases": {"Quantity": 1, "Items": ["acme.example.com"]},
        }
        assert aws.refused("create_distribution", DistributionConfig=wanted) == ("CNAMEAlreadyExists", 409)

    def test_its_aliases_are_free_after_an_update(self, aws):
        aliases = {"Quantity": 1, "Items": ["acme.example.com"]}
        standard = aws.distribution("s", ConnectionMode=None, TenantConfig=None, Aliases=aliases)
        aws.cloudfront.update_distribution(**changed(aws, standard, Aliases={"Quantity": 0}))
        aws.tenant()

    def test_a_bad_page_size(self, aws):
        assert aws.refused("list_distributions", MaxItems="many") == INVALID
        params = {"ConnectionMode": "direct", "MaxItems": 0}
        assert aws.refused("list_distributions_by_connection_mode", **params) == INVALID
        assert aws.refused("list_distributions_by_connection_mode", ConnectionMode="both") == INVALID
