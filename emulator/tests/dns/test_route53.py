"""Changes of records in Route 53: batches, their ids, their time, and one at a time for a zone."""

import itertools
import threading

import pytest
from botocore.exceptions import ClientError

NUMBERS = itertools.count(1)
CLOUDFRONT = "Z2FDTNDATAQYW2"


class Zone:
    """A hosted zone of its own."""

    def __init__(self, client):
        self.client = client
        self.name = f"batch{next(NUMBERS)}.example"
        self.made = client.create_hosted_zone(Name=self.name, CallerReference=self.name)
        self.id = self.made["HostedZone"]["Id"]

    def change(self, *changes, zone_id=None):
        batch = {"Changes": list(changes), "Comment": "why"}
        found = self.client.change_resource_record_sets(HostedZoneId=zone_id or self.id, ChangeBatch=batch)
        return found["ChangeInfo"]

    def refused(self, *changes, **more):
        with pytest.raises(ClientError) as raised:
            self.change(*changes, **more)
        response = raised.value.response
        return (
            response["Error"]["Code"],
            response["ResponseMetadata"]["HTTPStatusCode"],
            response["Error"]["Message"],
        )

    def listed(self):
        found = self.client.list_resource_record_sets(HostedZoneId=self.id)["ResourceRecordSets"]
        return [each for each in found if each["Type"] not in ("NS", "SOA")]

    def record(self, owner, kind="A", values=("192.0.2.1",), **more):
        given = {"TTL": 60, "ResourceRecords": [{"Value": value} for value in values]} if values else {}
        return {"Name": f"{owner}{self.name}", "Type": kind, **given, **more}

    def alias(self, owner, target="d1.cloudfront.net", zone_id=CLOUDFRONT):
        target = {"HostedZoneId": zone_id, "DNSName": target, "EvaluateTargetHealth": False}
        return self.record(owner, values=(), AliasTarget=target)


def create(record):
    return {"Action": "CREATE", "ResourceRecordSet": record}


def upsert(record):
    return {"Action": "UPSERT", "ResourceRecordSet": record}


def delete(record):
    return {"Action": "DELETE", "ResourceRecordSet": record}


@pytest.fixture
def zone(aws):
    return Zone(aws.client("route53"))


class TestChanges:
    def test_a_change_is_pending_and_then_in_sync(self, zone, admin):
        info = zone.change(create(zone.record("a.")))
        assert info["Status"] == "PENDING"
        admin.step(29)
        assert zone.client.get_change(Id=info["Id"])["ChangeInfo"] == info
        admin.step(1)
        assert zone.client.get_change(Id=info["Id"])["ChangeInfo"] == {**info, "Status": "INSYNC"}

    def test_each_change_has_an_id_of_its_own(self, zone):
        infos = [zone.made["ChangeInfo"], *(zone.change(upsert(zone.record("a."))) for _ in range(3))]
        assert len({info["Id"] for info in infos}) == 4
        assert all(info["Id"].startswith("/change/C") and info["Status"] == "PENDING" for info in infos)
        assert [info.get("Comment") for info in infos] == [None, "why", "why", "why"]

    def test_the_deletion_of_a_zone_is_a_change(self, zone, admin):
        info = zone.client.delete_hosted_zone(Id=zone.id)["ChangeInfo"]
        admin.step(30)
        assert zone.client.get_change(Id=info["Id"])["ChangeInfo"]["Status"] == "INSYNC"

    @pytest.mark.parametrize("known", [False, True])
    def test_others_and_unknown_changes_are_not_found(self, zone, other, known):
        change_id = zone.change(create(zone.record("a.")))["Id"] if known else "/change/C0"
        with pytest.raises(ClientError) as raised:
            other.client("route53").get_change(Id=change_id)
        assert raised.value.response["Error"]["Code"] == "NoSuchChange"
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404

    def test_the_waiter_ends(self, zone, admin):
        admin("POST", "clock", {"rate": 600})
        info = zone.change(create(zone.record("a.")))
        zone.client.get_waiter("resource_record_sets_changed").wait(
            Id=info["Id"], WaiterConfig={"Delay": 0.1, "MaxAttempts": 50}
        )

    def test_an_unknown_zone(self, zone, other):
        change = create(zone.record("a."))
        assert zone.refused(change, zone_id="Z0")[:2] == ("NoSuchHostedZone", 404)
        foreign = Zone(other.client("route53"))
        assert zone.refused(change, zone_id=foreign.id)[:2] == ("NoSuchHostedZone", 404)


# Before, the batch, and what each refused change is told.
REFUSED = [
    ("a create of what is there", lambda z: [z.record("a.")], lambda z: [create(z.record("A."))],
     ["Tried to create resource record set [name='a.{zone}.', type='A'] but it already exists"]),
    ("a delete of nothing", lambda z: [], lambda z: [delete(z.record("a."))],
     ["Tried to delete resource record set [name='a.{zone}.', type='A'] but it was not found"]),
    ("a delete with other values", lambda z: [z.record("a.")],
     lambda z: [delete(z.record("a.", values=["192.0.2.2"]))], ["do not match the current values"]),
    ("a delete with another TTL", lambda z: [z.record("a.")],
     lambda z: [delete({**z.record("a."), "TTL": 61})], ["do not match the current values"]),
    ("a delete of an alias elsewhere", lambda z: [z.alias("a.")],
     lambda z: [delete(z.alias("a.", "d2.cloudfront.net"))], ["do not match the current values"]),
    ("an alias over a CNAME", lambda z: [z.record("a.", "CNAME", ["b.example."])],
     lambda z: [upsert(z.alias("a."))],
     ["RRSet of type A with DNS name a.{zone}. is not permitted because a conflicting RRSet of type CNAME"]),
    ("a CNAME over an alias", lambda z: [z.alias("a.")],
     lambda z: [upsert(z.record("a.", "CNAME", ["b.example."]))], ["conflicts with other records"]),
    ("a create before the delete that makes room", lambda z: [z.record("a.", "CNAME", ["b.example."])],
     lambda z: [create(z.alias("a.")), delete(z.record("a.", "CNAME", ["b.example."]))],
     ["a conflicting RRSet of type CNAME"]),
    ("a CNAME at the apex", lambda z: [], lambda z: [create(z.record("", "CNAME", ["b.example."]))],
     ["not permitted at apex"]),
    ("two CNAMEs", lambda z: [], lambda z: [create(z.record("a.", "CNAME", ["b.example.", "c.example."]))],
     ["exactly one"]),
    ("another zone's name", lambda z: [], lambda z: [create({**z.record(""), "Name": "x.other.example"})],
     ["RRSet with DNS name x.other.example. is not permitted in zone {zone}."]),
    ("a name that only ends like the zone", lambda z: [], lambda z: [create(z.record("x"))],
     ["is not permitted in zone"]),
    ("one record set twice", lambda z: [], lambda z: [upsert(z.record("a.")), upsert(z.record("a."))],
     ["invalid set of changes for a resource record set 'A a.{zone}.'"]),
    ("no address", lambda z: [], lambda z: [create(z.record("a.", values=["nowhere"]))],
     ["ARRDATAIllegalIPv4Address"]),
    ("text without quotes", lambda z: [], lambda z: [create(z.record("a.", "TXT", ["bare"]))],
     ["enclosed in quotation marks"]),
    ("one value twice", lambda z: [], lambda z: [create(z.record("a.", values=["192.0.2.1"] * 2))],
     ["Duplicate Resource Record: '192.0.2.1'"]),
    ("weighted beside simple", lambda z: [z.record("a.")],
     lambda z: [create(z.record("a.", SetIdentifier="1", Weight=1))], ["as other RRSets exist"]),
    ("an alias out of CloudFront's zone", lambda z: [],
     lambda z: [create(z.alias("a.", "www.example.org"))], ["does not lie within the target zone"]),
    ("the zone's own NS", lambda z: [],
     lambda z: [delete(next(r for r in z.client.list_resource_record_sets(HostedZoneId=z.id)
                            ["ResourceRecordSets"] if r["Type"] == "NS"))],
     ["at least one NS record"]),
    ("each one that is wrong", lambda z: [],
     lambda z: [delete(z.record("a.")), create(z.record("ok.")), delete(z.record("b."))],
     ["'a.{zone}.', type='A'] but it was not found, Tried", "'b.{zone}.'"]),
]  # fmt: skip


class TestBatches:
    @pytest.mark.parametrize(
        ("before", "batch", "messages"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
    )
    def test_a_bad_change_rejects_the_batch(self, zone, before, batch, messages):
        for record in before(zone):
            zone.change(create(record))
        listed = zone.listed()
        code, status, message = zone.refused(create(zone.record("good.")), *batch(zone))
        assert (code, status) == ("InvalidChangeBatch", 400)
        assert message.startswith("[")
        for part in messages:
            assert part.format(zone=zone.name) in message
        assert zone.listed() == listed

    def test_delete_and_create_in_one_batch_turns_a_cname_into_an_alias(self, zone):
        cname = zone.record("a.", "CNAME", ["b.example."])
        zone.change(create(cname))
        zone.change(delete(cname), create(zone.alias("a.")))
        (record,) = zone.listed()
        assert (record["Type"], record["AliasTarget"]["DNSName"]) == ("A", "d1.cloudfront.net.")

    def test_an_upsert_replaces(self, zone):
        zone.change(upsert(zone.record("a.")))
        zone.change(upsert(zone.record("A.", values=["192.0.2.2", "192.0.2.3"])))
        (record,) = zone.listed()
        assert [each["Value"] for each in record["ResourceRecords"]] == ["192.0.2.2", "192.0.2.3"]
        zone.change(upsert(zone.alias("a.")))
        assert "ResourceRecords" not in zone.listed()[0]

    def test_what_is_listed_can_be_deleted(self, zone):
        zone.change(
            create(zone.record("*.w.")),
            create(zone.alias("b.")),
            create(zone.record("t.", "TXT", ['"x"', '"y"'])),
            create(zone.record("m.", SetIdentifier="1", MultiValueAnswer=True)),
            create(zone.record("m.", SetIdentifier="2", MultiValueAnswer=True)),
        )
        assert [each["Name"].partition(".")[0] for each in zone.listed()] == ["b", "m", "m", "t", "\\052"]
        zone.change(*map(delete, zone.listed()))
        assert zone.listed() == []
        zone.client.delete_hosted_zone(Id=zone.id)

    @pytest.mark.parametrize(
        ("action", "count", "length", "fits"),
        [
            (create, 1000, 8, True),
            (create, 1001, 8, False),
            (upsert, 500, 8, True),
            (upsert, 501, 8, False),
            (create, 320, 100, True),
            (create, 321, 100, False),
            (upsert, 160, 100, True),
            (upsert, 161, 100, False),
        ],
    )
    def test_sizes(self, zone, action, count, length, fits):
        value = f'"{"x" * (length - 2)}"'
        changes = [action(zone.record(f"r{i}.", "TXT", [value])) for i in range(count)]
        if fits:
            zone.change(*changes)
            return
        code, status, message = zone.refused(*changes)
        assert (code, status) == ("InvalidChangeBatch", 400)
        assert message in (
            "[Number of records limit of 1000 exceeded.]",
            "[RDATA character limit of 32000 exceeded.]",
        )
        assert zone.listed() == []

    def test_more_than_a_set_may_have(self, zone):
        values = [f"192.0.2.{i}" for i in range(101)]
        assert "more than 100" in zone.refused(create(zone.record("a.", values=values)))[2]

    @pytest.mark.parametrize("more", [{"TTL": 60}, {"TTL": 60, "ResourceRecords": [{"Value": "192.0.2.1"}]}])
    def test_records_and_alias_together_are_no_record_set(self, zone, more):
        code, status, message = zone.refused(create({**zone.alias("a."), **more}))
        assert (code, status) == ("InvalidInput", 400)
        assert "but found more than one" in message

    def test_a_record_set_of_nothing(self, zone):
        assert "but found none" in zone.refused(create(zone.record("a.", values=())))[2]

    def test_an_unknown_health_check(self, zone):
        record = zone.record("a.", SetIdentifier="1", Weight=1, HealthCheckId="hc-1")
        assert zone.refused(create(record))[:2] == ("NoSuchHealthCheck", 404)


class TestOneAtATime:
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_a_held_request_keeps_others_from_its_zone(self, zone, aws, admin, in_background, when):
        order = {"operation": "ChangeResourceRecordSets", "action": "hold", "when": when}
        fault = admin("POST", "faults", order)["id"]
        outcome = in_background(zone.change, create(zone.record("a.")))
        assert admin("GET", f"faults/{fault}?wait=10")["state"] == "held"
        assert zone.refused(create(zone.record("b.")))[:2] == ("PriorRequestNotComplete", 400)
        with pytest.raises(ClientError, match="PriorRequestNotComplete"):
            zone.client.delete_hosted_zone(Id=zone.id)
        zone.client.get_hosted_zone(Id=zone.id)
        neighbour = Zone(aws.client("route53"))
        neighbour.change(create(neighbour.record("b.")))
        admin("DELETE", f"faults/{fault}")
        in_background.join()
        assert outcome[0]["Status"] == "PENDING"
        zone.change(create(zone.record("b.")))
        refused = admin("GET", "calls?code=PriorRequestNotComplete")["calls"]
        assert refused[0]["parameters"]["ChangeBatch"]["Changes"][0]["Action"] == "CREATE"

    def test_a_crowd_leaves_no_half_batch(self, zone):
        start = threading.Barrier(8)
        outcomes = []

        def one(i):
            start.wait()
            try:
                zone.change(create(zone.record(f"a{i}.")), create(zone.record(f"b{i}.")))
                outcomes.append("done")
            except ClientError as error:
                outcomes.append(error.response["Error"]["Code"])

        threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(outcomes) <= {"done", "PriorRequestNotComplete"}
        assert len(zone.listed()) == 2 * outcomes.count("done") > 0

    def test_a_change_can_take_its_time(self, zone, admin):
        admin.settings(route53_change_seconds=5)
        zone.change(create(zone.record("a.")))
        assert zone.refused(create(zone.record("b.")))[0] == "PriorRequestNotComplete"
        admin.step(4)
        assert zone.refused(create(zone.record("b.")))[0] == "PriorRequestNotComplete"
        admin.step(1)
        zone.change(create(zone.record("b.")))

    def test_a_refused_change_takes_none(self, zone, admin):
        admin.settings(route53_change_seconds=5)
        assert zone.refused(delete(zone.record("a.")))[0] == "InvalidChangeBatch"
        zone.change(create(zone.record("a.")))
