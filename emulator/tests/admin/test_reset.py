"""The reset: an emulator as it was when it started."""

import threading
import time

import pytest

from edgetenants_emulator import EmulatorServer, Settings


@pytest.fixture
def used():
    """An emulator of its own settings and rate, with something of everything in it."""
    with EmulatorServer(rate=3, settings=Settings(page_size_max=7)) as server:
        admin = server.admin
        admin.set_rate(0)
        admin.seed({"distributions": [{"id": "E1", "certificateDomains": ["*.example.com"]}]})
        cloudfront = admin.client("cloudfront")
        asked = {"ValidationTokenHost": "self-hosted"}
        cloudfront.create_distribution_tenant(
            DistributionId="E1",
            Name="acme",
            Domains=[{"Domain": "shop.example.org"}],
            ManagedCertificateRequest=asked,
        )
        cloudfront.create_anycast_ip_list(Name="list", IpCount=3)
        sts = admin.client("sts")
        role = "arn:aws:iam::123456789012:role/any"
        sts.assume_role(RoleArn=role, RoleSessionName="one")
        admin.client("route53").create_hosted_zone(Name="zone.test", CallerReference="a")
        admin.client("iam").create_role(RoleName="one", AssumeRolePolicyDocument="{}")
        admin.change_settings({"page_size_max": 5, "domain_lookup_lag_seconds": 5})
        admin.make_record("a.example.org", "A", "192.0.2.1")
        admin.add_limits({"published": "route53"})
        admin.arm("throttle", "ListDistributions", every=True)
        yield server


def test_nothing_is_left(used):
    admin = used.admin
    virtual = admin.clock()["virtual"]
    admin.reset()
    assert not any(admin.state().values())
    assert admin.settings()["page_size_max"] == 7
    assert admin.calls() == {"total": 0, "by_operation": {}, "calls": []}
    assert admin.records() == {"records": []}
    assert admin.limits() == {"limits": []}
    assert admin.faults() == {"faults": []}
    assert admin.client("route53").list_hosted_zones()["HostedZones"] == []
    assert admin.client("iam").list_roles()["Roles"] == []
    assert admin.client("acm").list_certificates()["CertificateSummaryList"] == []
    clock = admin.clock()
    assert (clock["rate"], clock["virtual"] >= virtual) == (3, True)
    world = used.world
    assert not any((world.domains, world.pending_certificates, world.certificate_dues, world.sessions))


def test_it_is_used_again_as_before(used):
    used.admin.reset()
    cloudfront = used.admin.client("cloudfront")
    wanted = {"id": "E1", "certificateDomains": ["*.example.com"]}
    assert used.admin.seed({"distributions": [wanted]})["distributions"][0]["created"]
    tenant = cloudfront.create_distribution_tenant(
        DistributionId="E1", Name="acme", Domains=[{"Domain": "acme.example.com"}]
    )
    assert tenant["ETag"] == "E23ZP02F085DFQ"
    moment = tenant["DistributionTenant"]["CreatedTime"].timestamp()
    assert abs(moment - time.time()) < 60


def test_who_follows_the_clock_hears_of_it(used):
    admin = used.admin
    version = admin.clock()["version"]
    admin.reset()
    assert admin.clock()["version"] != version


def test_a_held_call_ends_and_never_happens(used):
    admin = used.admin
    fault = admin.hold("CreateConnectionGroup")
    outcome = []

    def create():
        try:
            admin.client("cloudfront").create_connection_group(Name="late")
        except Exception as error:  # noqa: BLE001 - of botocore, for a connection that ended
            outcome.append(type(error).__name__)

    thread = threading.Thread(target=create)
    thread.start()
    assert admin.wait_held(fault, 10)
    admin.reset()
    thread.join(10)
    assert outcome == ["ConnectionClosedError"]
    assert admin.state()["connectionGroups"] == []


def test_what_the_dns_said_is_forgotten(used):
    assert used.admin.dns("a.example.org")["records"]
    used.admin.reset()
    assert used.admin.dns("a.example.org")["records"] == []
