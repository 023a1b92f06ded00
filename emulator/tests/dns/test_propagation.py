"""Who sees a change of the DNS when: the DNS server at INSYNC, CloudFront and ACM after the propagation."""

import pytest

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.zones.late_views import Former, History

ZONE = "spread.example"
DOMAIN = f"shop.{ZONE}"
BY_CLOUDFRONT = {"ManagedCertificateRequest": {"ValidationTokenHost": "cloudfront"}}


@pytest.fixture
def route53(aws):
    return aws.client("route53")


@pytest.fixture
def change(route53):
    """Change the CNAME of DOMAIN, in a hosted zone of its own."""
    zone = route53.create_hosted_zone(Name=ZONE, CallerReference=ZONE)["HostedZone"]["Id"]

    def apply(action, target):
        record = {"Name": DOMAIN, "Type": "CNAME", "TTL": 60, "ResourceRecords": [{"Value": target}]}
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
        return route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)["ChangeInfo"]

    return apply


@pytest.fixture
def seen(admin):
    """What is seen of DOMAIN's CNAME: by who asks the DNS server, and by CloudFront."""

    def look():
        answers = [admin("GET", f"dns?name={DOMAIN}&type=CNAME{view}") for view in ("", "&view=cloudfront")]
        return tuple(next((r["values"][0] for r in each["records"]), None) for each in answers)

    return look


@pytest.fixture
def endpoint(aws):
    return aws.cloudfront.list_connection_groups()["ConnectionGroups"][0]["RoutingEndpoint"]


class TestHistory:
    def test_a_key_is_seen_as_it_was(self):
        history = History()
        for now, former in ((10, None), (20, "a"), (30, "b")):
            history.note("k", Former(now, former))
        present = {"k": "c", "other": "x"}
        seen = [history.seen(present, 31, lag).get("k") for lag in (0, 1, 2, 11, 12, 21, 22)]
        assert seen == ["c", "c", "b", "b", "a", "a", None]
        assert [history.unseen(31, lag) for lag in (1, 2, 12, 22)] == [0, 1, 2, 3]
        history.forget(31, 2)
        assert history.seen(present, 31, 22) == {"k": "b", "other": "x"}

    def test_a_change_with_a_lag_of_its_own_hides_older_ones(self):
        history = History()
        history.note("k", Former(10, None))
        history.note("k", Former(20, "a", lag=0))
        assert history.seen({"k": "b"}, 20, 100) == {"k": "b"}


class TestViews:
    def test_at_first_nobody_sees_it_but_cloudfront(self, change, seen, admin):
        change("CREATE", "a.example.")
        assert seen() == (None, "a.example.")
        admin.step(30)
        assert seen() == ("a.example.", "a.example.")

    def test_each_change_comes_late(self, change, seen, admin):
        admin.settings(dns_propagation_seconds=100)
        change("CREATE", "a.example.")
        admin.step(20)
        change("UPSERT", "b.example.")
        views = [seen()]
        for _ in range(12):
            admin.step(10)
            views.append(seen())
        assert views == [
            (None, None),  # 20 seconds after the first change
            *[("a.example.", None)] * 2,
            *[("b.example.", None)] * 5,
            *[("b.example.", "a.example.")] * 2,
            *[("b.example.", "b.example.")] * 3,
        ]

    def test_a_deleted_record_is_seen_for_a_while(self, change, seen, admin):
        admin.settings(dns_propagation_seconds=100)
        change("CREATE", "a.example.")
        admin.step(100)
        change("DELETE", "a.example.")
        assert seen() == ("a.example.", "a.example.")
        admin.step(30)
        assert seen() == (None, "a.example.")
        admin.step(70)
        assert seen() == (None, None)

    def test_a_record_set_by_hand(self, admin, seen):
        admin.settings(dns_propagation_seconds=100)
        admin("POST", "records", {"name": DOMAIN, "type": "CNAME", "values": ["a.example."]})
        assert seen() == ("a.example.", None)
        admin.step(100)
        assert seen() == ("a.example.", "a.example.")
        admin("DELETE", f"records?name={DOMAIN}")
        assert seen() == (None, "a.example.")

    def test_a_record_set_by_hand_with_a_time_of_its_own(self, admin, seen):
        record = {"name": DOMAIN, "type": "CNAME", "values": ["a.example."], "propagationSeconds": 7}
        admin("POST", "records", record)
        admin.step(6)
        assert seen() == ("a.example.", None)
        admin.step(1)
        assert seen() == ("a.example.", "a.example.")

    @pytest.mark.parametrize("seconds", [-1, "soon", True])
    def test_a_time_that_is_none(self, admin, seconds):
        record = {"name": DOMAIN, "type": "CNAME", "values": ["a.example."], "propagationSeconds": seconds}
        status, message = admin.refused("POST", "records", record)
        assert (status, "propagationSeconds" in message) == (400, True)

    def test_an_unknown_view(self, admin):
        assert admin.refused("GET", "dns?name=a.example&view=mine")[0] == 400


class TestCloudFront:
    def test_a_create_is_refused_until_the_record_is_seen(self, aws, admin, change, endpoint):
        admin.settings(dns_propagation_seconds=100)
        change("CREATE", endpoint)
        wanted = {"Domains": [{"Domain": DOMAIN}], "DistributionId": aws.parent, "Name": "acme"}
        admin.step(99)
        assert aws.refused("create_distribution_tenant", **wanted, **BY_CLOUDFRONT)[0] == "InvalidArgument"
        admin.step(1)
        aws.cloudfront.create_distribution_tenant(**wanted, **BY_CLOUDFRONT)

    def test_verify_sees_what_the_resolvers_do(self, aws, admin, change, endpoint):
        admin.settings(dns_propagation_seconds=100)
        request = {"ValidationTokenHost": "self-hosted"}
        aws.tenant(Domains=[{"Domain": DOMAIN}], ManagedCertificateRequest=request)
        change("CREATE", endpoint)

        def status():
            found = aws.cloudfront.verify_dns_configuration(Identifier="acme")["DnsConfigurationList"]
            return found[0]["Status"]

        assert status() == "invalid-configuration"
        admin.step(100)
        assert status() == "valid-configuration"


class TestSnapshots:
    def test_what_is_under_way_goes_on_in_another_emulator(self, emulator, aws, admin, change, seen, route53):
        admin.settings(dns_propagation_seconds=100)
        admin("POST", "records", {"name": "hand.test", "type": "CNAME", "values": ["a.example."]})
        change("CREATE", "a.example.")
        admin.step(10)
        info = change("UPSERT", "b.example.")
        admin.step(25)
        assert seen() == ("a.example.", None)
        saved = admin("GET", "snapshot")
        with EmulatorServer(rate=0) as second:
            elsewhere = type(admin)(second.url)
            elsewhere.step(1000)
            elsewhere("PUT", "snapshot", saved)
            there = type(aws)(second.url, aws.account).client("route53")
            answer = {"GET": lambda view: elsewhere("GET", f"dns?name={DOMAIN}&type=CNAME{view}")}["GET"]
            assert answer("")["records"][0]["values"] == ["a.example."]
            assert answer("&view=cloudfront")["records"] == []
            assert elsewhere("GET", "dns?name=hand.test&type=CNAME&view=cloudfront")["records"] == []
            assert there.get_change(Id=info["Id"])["ChangeInfo"] == info
            elsewhere.step(5)
            assert answer("")["records"][0]["values"] == ["b.example."]
            assert there.get_change(Id=info["Id"])["ChangeInfo"]["Status"] == "INSYNC"
            elsewhere.step(65)
            assert answer("&view=cloudfront")["records"][0]["values"] == ["a.example."]
            assert elsewhere("GET", "dns?name=hand.test&type=CNAME&view=cloudfront")["records"]
