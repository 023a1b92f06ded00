"""A state that is saved and loaded into another emulator."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest
from moto.acm.models import acm_backends
from moto.route53.models import route53_backends

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.certificates import acm as certificates

DOMAIN = "shop.customer.test"


@pytest.fixture
def second():
    with EmulatorServer(rate=0) as server:
        yield server


@pytest.fixture
def peer(aws, admin, second):
    """The account and the admin API at the second emulator."""
    account = type(aws)(second.url, aws.account, aws.parent)
    return account, type(admin)(second.url)


def carry(admin, peer_admin):
    saved = admin("GET", "snapshot")
    peer_admin("PUT", "snapshot", json.loads(json.dumps(saved)))
    return saved


def test_everything_is_there_again(aws, admin, peer):
    there, there_admin = peer
    aws.tenant(
        Tags={"Items": [{"Key": "a", "Value": "b"}]},
        Parameters=[{"Name": "tier", "Value": "gold"}],
        Customizations={"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}},
    )
    addresses = aws.cloudfront.create_anycast_ip_list(Name="list", IpCount=3)["AnycastIpList"]["Id"]
    aws.group(AnycastIpListId=addresses)
    admin.settings(page_size_max=7)
    admin("POST", "records", {"name": "a.test", "type": "CNAME", "values": ["b.test"]})
    there_admin.step(500)
    carry(admin, there_admin)
    for path in ("state", "settings", "records"):
        assert there_admin("GET", path) == admin("GET", path)
    assert there.refused("create_distribution_tenant", **taken(there)) == ("CNAMEAlreadyExists", 409)
    there.tenant("next")
    found = there.cloudfront.list_connection_groups(AssociationFilter={"AnycastIpListId": addresses})
    assert [group["Name"] for group in found["ConnectionGroups"]] == ["edge"]
    assert len(there.cloudfront.get_anycast_ip_list(Id=addresses)["AnycastIpList"]["AnycastIps"]) == 3


def taken(aws):
    return {"DistributionId": aws.parent, "Name": "other", "Domains": [{"Domain": "acme.example.com"}]}


def test_time_goes_on_from_where_it_was(aws, admin, peer):
    there, there_admin = peer
    there_admin.step(1000)
    aws.tenant()
    admin.step(30)
    carry(admin, there_admin)

    def status():
        return there.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Status"]

    assert status() == "InProgress"
    there_admin.step(15)
    assert status() == "Deployed"
    later = there.tenant("later")["DistributionTenant"]["CreatedTime"]
    made = there.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["CreatedTime"]
    assert (later - made).total_seconds() == pytest.approx(45, abs=0.1)


def test_invalidations_go_on(aws, admin, peer):
    there, there_admin = peer
    there_admin.step(1000)
    tenant_id = aws.tenant()["DistributionTenant"]["Id"]
    batch = {"Paths": {"Quantity": 1, "Items": ["/*"]}, "CallerReference": "r"}
    of_tenant = {"Id": tenant_id, "InvalidationBatch": batch}
    aws.cloudfront.create_invalidation_for_distribution_tenant(**of_tenant)
    aws.cloudfront.create_invalidation(DistributionId=aws.parent, InvalidationBatch=batch)
    admin.step(30)
    carry(admin, there_admin)

    def statuses(cloudfront):
        lists = [
            cloudfront.list_invalidations(DistributionId=aws.parent),
            cloudfront.list_invalidations_for_distribution_tenant(Id=tenant_id),
        ]
        return [row["Status"] for each in lists for row in each["InvalidationList"]["Items"]]

    assert statuses(there.cloudfront) == ["InProgress"] * 2
    there_admin.step(30)
    assert statuses(there.cloudfront) == ["Completed"] * 2


def test_a_pending_certificate_goes_on(aws, admin, peer):
    there, there_admin = peer
    request = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}
    aws.tenant(Domains=[{"Domain": DOMAIN}], **request)
    admin("PATCH", "managed-certificates/acme", {"served": True})
    admin.step(30)
    arn = aws.cloudfront.get_managed_certificate_details(Identifier="acme")["ManagedCertificateDetails"][
        "CertificateArn"
    ]
    saved = admin("GET", "snapshot")
    aws.client("acm").delete_certificate(CertificateArn=arn)  # one process, one moto: as if it were another
    there_admin("PUT", "snapshot", saved)
    there_admin.step(30)
    found = there.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
    assert (found["Status"], found["ManagedBy"]) == ("ISSUED", "CLOUDFRONT")


def test_zones_and_their_records(aws, admin, peer):
    there, there_admin = peer
    route53 = there.client("route53")
    zone_id = route53.create_hosted_zone(Name="customer.test", CallerReference="s")["HostedZone"]["Id"]
    record = {"Name": DOMAIN, "Type": "CNAME", "TTL": 60, "ResourceRecords": [{"Value": "d1.test"}]}
    change = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
    route53.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch=change)
    listed = route53.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]
    saved = admin("GET", "snapshot")
    del route53_backends[aws.account]["aws"].zones[zone_id.rpartition("/")[2]]
    there_admin("PUT", "snapshot", saved)
    assert route53.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"] == listed
    change["Changes"][0]["Action"] = "DELETE"
    route53.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch=change)
    route53.delete_hosted_zone(Id=zone_id)


def test_an_inherited_certificate(aws, admin, peer, inherited):
    there, there_admin = peer
    saved = admin("GET", "snapshot")
    acm_backends[aws.account]["us-east-1"].delete_certificate(inherited[aws.account])
    there_admin("PUT", "snapshot", saved)
    assert there.tenant()["DistributionTenant"]["Domains"][0]["Status"] == "active"


@pytest.mark.parametrize("another", [False, True], ids=["tagged", "another in its place"])
def test_a_certificate_that_is_there_is_again_as_it_was(aws, admin, peer, inherited, another):
    _, there_admin = peer
    acm, arn = aws.client("acm"), inherited[aws.account]
    bundles = acm_backends[aws.account]["us-east-1"]._certificates
    first, saved = bundles[arn].cert, admin("GET", "snapshot")
    if another:
        bundles[arn] = bundles[certificates.issue(aws.account, ["another.test"])]
    else:
        acm.add_tags_to_certificate(CertificateArn=arn, Tags=[{"Key": "a", "Value": "b"}])
    there_admin("PUT", "snapshot", saved)
    assert bundles[arn].cert == first
    assert acm.list_tags_for_certificate(CertificateArn=arn)["Tags"] == []


@pytest.mark.parametrize("saved", [{}, {"format": 2}, {"format": 1}])
def test_what_is_no_saved_state(aws, admin, saved):
    aws.tenant()
    before = admin("GET", "state")
    assert admin.refused("PUT", "snapshot", saved)[0] in (400, 404)
    assert admin("GET", "state") == before


def test_the_command_keeps_a_file(tmp_path):
    file = tmp_path / "state.json"
    command = [sys.executable, "-m", "edgetenants_emulator.main", "--port", "0", "--state", str(file)]
    seed = json.dumps({"distributions": [{"id": "E1KEPT"}]}).encode()
    for body in (seed, None):
        process = subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True)
        url = process.stdout.readline().partition(" on ")[2].split()[0]
        if body:
            urllib.request.urlopen(f"{url}/_edgetenants/seed", data=body, timeout=10).read()
        with urllib.request.urlopen(f"{url}/_edgetenants/state", timeout=10) as answer:
            found = json.load(answer)
        assert [each["Id"] for each in found["distributions"]] == ["E1KEPT"]
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        process.stdout.close()
