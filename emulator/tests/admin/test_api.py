"""The admin API: seeding, looking, editing behind the owner's back, settings."""

import urllib.error
import urllib.request

import pytest

SEED = {
    "account": "123456789012",
    "distributions": [
        {
            "id": "E1EDGETENANTS",
            "certificateDomains": ["*.seed.test", "seed.test"],
            "parameters": [
                {"name": "tenantName", "required": False, "default": "default"},
                {"name": "tier", "required": True},
            ],
        }
    ],
}


def test_health(admin):
    assert admin("GET", "health") == {"ok": True}


class TestSeed:
    def test_makes_a_deployed_parent_with_its_certificate(self, admin, aws):
        (made,) = admin("POST", "seed", SEED)["distributions"]
        assert made["created"]
        assert set(made["certificateDomains"]) == {"*.seed.test", "seed.test"}
        found = aws.cloudfront.get_distribution(Id="E1EDGETENANTS")["Distribution"]
        assert found["Status"] == "Deployed"
        schemas = {
            d["Name"]: d["Definition"]["StringSchema"]
            for d in found["DistributionConfig"]["TenantConfig"]["ParameterDefinitions"]
        }
        assert schemas == {
            "tenantName": {"DefaultValue": "default", "Required": False},
            "tier": {"Required": True},
        }
        certificate = aws.client("acm").describe_certificate(CertificateArn=made["certificateArn"])[
            "Certificate"
        ]
        assert certificate["Status"] == "ISSUED"

    def test_covers_a_tenants_domain(self, admin, aws):
        admin("POST", "seed", SEED)
        made = aws.cloudfront.create_distribution_tenant(
            DistributionId="E1EDGETENANTS",
            Name="acme",
            Domains=[{"Domain": "a.seed.test"}],
            Parameters=[{"Name": "tier", "Value": "gold"}],
        )
        assert made["DistributionTenant"]["Domains"] == [{"Domain": "a.seed.test", "Status": "active"}]

    def test_twice_makes_nothing_new(self, admin):
        (first,) = admin("POST", "seed", SEED)["distributions"]
        (second,) = admin("POST", "seed", SEED)["distributions"]
        assert second == {**first, "created": False}

    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            ({"distribution": []}, "distribution: unknown member; did you mean distributions?"),
            ({"colour": 1}, "colour: unknown member; known: account, distributions"),
            ({"account": 123456789012}, "account: expected twelve digits in a string"),
            ({"account": "\uff11" * 12}, "account: expected twelve digits in a string"),
            ({"distributions": {}}, "distributions: expected a list"),
            ({"distributions": ["E1"]}, "distributions[0]: expected an object with id"),
            ({"distributions": [{"id": "E0"}, {}]}, "distributions[1].id: required"),
            ({"distributions": [{"id": "E0"}, {"id": 7}]}, "distributions[1].id: expected 1 to 64"),
            ({"distributions": [{"id": "E0"}, {"id": "E0"}]}, "distributions: duplicate id E0"),
            (
                {"distributions": [{"id": "E0", "certificateDomain": ["a.test"]}]},
                "distributions[0].certificateDomain: unknown member; did you mean certificateDomains?",
            ),
            (
                {"distributions": [{"id": "E0", "certificateDomains": "a.test"}]},
                "distributions[0].certificateDomains: expected a list",
            ),
            (
                {"distributions": [{"id": "E0", "certificateDomains": ["a.test", "*"]}]},
                "distributions[0].certificateDomains[1]: expected a domain",
            ),
            (
                {
                    "distributions": [
                        {"id": "E0", "parameters": [{"name": "a"}, {"name": "b", "requried": 1}]}
                    ]
                },
                "distributions[0].parameters[1].requried: unknown member; did you mean required?",
            ),
            (
                {"distributions": [{"id": "E0", "parameters": [{"name": "a", "required": "yes"}]}]},
                "distributions[0].parameters[0].required: expected true or false",
            ),
            (
                {"distributions": [{"id": "E0", "parameters": [{"name": "a b"}]}]},
                "parameterDefinitions.1.member.name' failed to satisfy constraint",
            ),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_made(self, admin, wanted, said):
        status, message = admin.refused("POST", "seed", wanted)
        assert (status, said in message) == (400, True), message
        assert not any(admin("GET", "state").values())

    def test_without_id_is_refused(self, admin):
        assert admin.refused("POST", "seed", {"distributions": [{}]})[0] == 400


class TestBehindTheBack:
    def test_an_edit_moves_version_and_status_and_is_no_call(self, aws, admin):
        made = aws.tenant()
        admin.step(60)
        before = admin("GET", "calls")["total"]
        edited = admin("PATCH", "distribution-tenants/acme", {"Enabled": False})
        assert (edited["Enabled"], edited["Status"]) == (False, "InProgress")
        assert admin("GET", "calls")["total"] == before
        found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
        assert found["ETag"] == edited["ETag"] != made["ETag"]

    def test_by_id(self, aws, admin):
        tenant_id = aws.tenant()["DistributionTenant"]["Id"]
        parameters = [{"Name": "tier", "Value": "gold"}]
        edited = admin("PATCH", f"distribution-tenants/{tenant_id}", {"Parameters": parameters})
        assert edited["Parameters"] == parameters

    @pytest.mark.parametrize(
        "changes", [{"Domains": ["a.example.com"]}, {"Enabled": "no"}, {"Name": "other"}, {"Domains": []}]
    )
    def test_a_bad_edit_is_refused(self, aws, admin, changes):
        aws.tenant()
        before = admin("GET", "state")
        status, message = admin.refused("PATCH", "distribution-tenants/acme", changes)
        assert status == 400
        assert next(iter(changes)).lower().rstrip("s") in message.lower()
        assert admin("GET", "state") == before

    def test_a_removal_is_at_once_and_frees_the_domain(self, aws, admin):
        aws.tenant()
        admin("DELETE", "distribution-tenants/acme")
        assert aws.refused("get_distribution_tenant", Identifier="acme") == ("EntityNotFound", 404)
        aws.tenant()

    @pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
    def test_of_nobody(self, admin, method):
        assert (
            admin.refused(method, "distribution-tenants/nobody", {} if method == "PATCH" else None)[0] == 404
        )


def test_state_shows_every_account(aws, other, admin):
    aws.tenant("one", Tags={"Items": [{"Key": "a", "Value": "b"}]})
    other.tenant("two")
    state = admin("GET", "state")
    assert [(t["Account"], t["Name"], t["Tags"]) for t in state["tenants"]] == [
        (aws.account, "one", {"a": "b"}),
        (other.account, "two", {}),
    ]
    assert [(d["Account"], d["Id"]) for d in state["distributions"]] == [
        (aws.account, aws.parent),
        (other.account, other.parent),
    ]
    assert [g["IsDefault"] for g in state["connectionGroups"]] == [True, True]


class TestSettings:
    def test_are_shown_and_changed(self, admin):
        assert admin("GET", "settings")["deploy_tenant_seconds"] == 45
        assert admin("PATCH", "settings", {"deploy_tenant_seconds": 5})["deploy_tenant_seconds"] == 5
        assert admin("GET", "settings")["deploy_tenant_seconds"] == 5

    @pytest.mark.parametrize(
        "changes",
        [
            {"unknown": 1},
            {"page_size_max": -1},
            {"page_size_max": 1.5},
            {"delete_needs_deployed": 1},
            {"deploy_tenant_seconds": True},
            {"deploy_tenant_seconds": "5"},
        ],
    )
    def test_refuse_what_makes_no_sense(self, admin, changes):
        status, message = admin.refused("PATCH", "settings", changes)
        assert (status, next(iter(changes)) in message) == (400, True)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "nothing"), ("PUT", "clock"), ("GET", "distribution-tenants")]
)
def test_an_unknown_path(admin, method, path):
    assert admin.refused(method, path)[0] == 404


def test_a_body_that_is_no_json(admin):
    request = urllib.request.Request(f"{admin.url}/clock", data=b"{", method="POST")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)


def test_the_index_lists_what_there_is(admin):
    requests = admin("GET", "")["requests"]
    assert {"GET /_edgetenants/calls", "PATCH /_edgetenants/distributions/…"} <= set(requests)


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "clock", {"step": "x"}, '{"step": seconds}'),
        ("POST", "clock", [1], '{"step": seconds}'),
        ("POST", "seed", {"distribution": []}, "distributions"),
        ("POST", "seed", {"distributions": ["E1"]}, "distributions"),
        ("GET", "clock?since=x", None, "since"),
        ("GET", "faults/f1?wait=x", None, "wait"),
        ("GET", "calls/3", None, "GET /_edgetenants/ lists"),
    ],
)
def test_what_is_not_understood_is_named(admin, method, path, body, said):
    assert said in admin.refused(method, path, body)[1]
