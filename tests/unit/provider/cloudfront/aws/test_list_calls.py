"""The pages of the lists."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from provider.cloudfront.aws.calls import CloudFrontCalls
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.desired import Tenant

ROW = {
    "Id": "dt_1",
    "Arn": "arn:aws:cloudfront::123456789012:distribution-tenant/dt_1",
    "Name": "acme",
    "ETag": "E1",
    "Enabled": True,
    "Status": "Deployed",
    "Domains": [{"Domain": "acme.example.com", "Status": "active"}],
}


class Client:
    """Answers both lists with one response."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def list_distribution_tenants(self, **request):
        self.asked.append(request)
        return self.answer

    list_connection_groups = list_distribution_tenants


def calls(answer) -> tuple[CloudFrontCalls, Client]:
    client = Client(answer)
    return CloudFrontCalls(client, None, None), client


def test_a_page_of_tenants():
    aws, client = calls({"DistributionTenantList": [ROW], "NextMarker": "m2"})
    page = aws.page_of_tenants("m1", 50)
    assert client.asked == [{"Marker": "m1", "MaxItems": 50}]
    assert (page.tenants[0].name, page.tenants[0].etag, page.marker) == ("acme", "E1", "m2")


def test_the_first_page_of_any_size():
    aws, client = calls({})
    assert aws.page_of_tenants() == type(aws.page_of_tenants())((), "")
    assert client.asked[0] == {}


@pytest.mark.parametrize("row", [{"Id": "dt_2"}, {**ROW, "Name": ""}, {**ROW, "Domains": [{}]}, "row", None])
def test_a_row_that_cannot_be_read_does_not_hide_the_others(row):
    aws, _ = calls({"DistributionTenantList": [row, ROW]})
    assert [each.id for each in aws.page_of_tenants().tenants] == ["dt_1"]


def test_a_row_without_an_etag_is_left_out():
    """It could not confirm anything."""
    aws, _ = calls(
        {"DistributionTenantList": [{**ROW, "ETag": ""}, {k: v for k, v in ROW.items() if k != "ETag"}]}
    )
    assert [each.etag for each in aws.page_of_tenants().tenants] == []


def test_an_answer_that_is_no_list_is_an_error():
    aws, _ = calls({"DistributionTenantList": 7})
    with pytest.raises(AwsError, match="does not look like one of AWS"):
        aws.page_of_tenants()


def test_a_page_of_groups_shows_what_may_change():
    group = {"Id": "cg_1", "ETag": "E1", "Enabled": True, "Status": "Deployed"}
    aws, client = calls({"ConnectionGroups": [group, {}], "NextMarker": "m2"})
    page = aws.page_of_groups("m1")
    assert client.asked == [{"Marker": "m1"}]
    assert (page.marker, page.groups.keys()) == ("m2", {"cg_1"})
    for changed in ({"ETag": "E2"}, {"Enabled": False}, {"Status": "InProgress"}):
        other, _ = calls({"ConnectionGroups": [{**group, **changed}]})
        assert other.page_of_groups().groups != page.groups


def test_what_changes_a_tenant_is_noted_by_its_id():
    noted = []

    @contextmanager
    def writing(id_):
        noted.append(id_)
        yield

    class Writes:
        def __getattr__(self, name):
            raise RuntimeError(name)

    aws = CloudFrontCalls(Writes(), None, None)
    aws.writing = writing
    for call in (
        lambda: aws.update_tenant("dt_0", "E1", Tenant("acme", "E1")),
        lambda: aws.delete_tenant("dt_1", "E1"),
        lambda: aws.move_domain("a.example.com", "dt_2", "E1"),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert noted == ["dt_0", "dt_1", "dt_2"]


class Acm:
    """Lists certificates, in pages."""

    def __init__(self, pages):
        self.pages, self.asked = pages, []

    def list_certificates(self, **request):
        self.asked.append(request)
        return self.pages[request.get("NextToken", "")]


def test_all_certificates_are_counted_whatever_their_state():
    rows = [{"Status": "ISSUED"}, {"Status": "EXPIRED"}]
    acm = Acm({"": {"CertificateSummaryList": rows, "NextToken": "m"}, "m": {"CertificateSummaryList": rows}})
    assert CloudFrontCalls(None, acm, None).number_of_certificates() == 4
    assert all(set(each) - {"NextToken"} == {"Includes", "MaxItems"} for each in acm.asked)
    assert "EC_secp521r1" in acm.asked[0]["Includes"]["keyTypes"]


def test_pages_of_certificates_that_lead_back_are_an_error():
    acm = Acm({"": {"NextToken": "m"}, "m": {"NextToken": "m"}})
    with pytest.raises(AwsError, match="do not end"):
        CloudFrontCalls(None, acm, None).number_of_certificates()
