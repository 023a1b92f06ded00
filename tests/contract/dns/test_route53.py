"""The store for Route 53 against the emulator."""

import os
from contextlib import contextmanager

import pytest
from botocore.config import Config

from provider.cloudfront.aws import record_calls
from provider.cloudfront.aws.record_calls import Route53Calls
from provider.dns.records import RecordSet
from provider.dns.route53.store import Route53Store
from tests.contract.account import SESSION
from tests.contract.dns import proxy
from tests.contract.dns.servers import ZONE
from tests.unit.provider.dns.conformance import Bench, Conformance


def client(url):
    return SESSION.client(
        "route53",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="111122223333",
        aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=5),
    )


class Test(Conformance):
    test_a_name_that_is_none_is_refused = None
    """The emulator does not check names as Route 53 does."""

    @pytest.fixture
    def bench(self, aws):
        raw = client(aws.url)
        made = raw.create_hosted_zone(Name=ZONE, CallerReference=os.urandom(8).hex())
        zone_id = made["HostedZone"]["Id"].rpartition("/")[2]

        def change(*changes):
            changes = [{"Action": action, "ResourceRecordSet": row} for action, row in changes]
            raw.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch={"Changes": changes})

        def rows(name):
            listed = raw.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]
            return [row for row in listed if record_calls._record(row).name == name]

        def put(record):
            there = rows(record.name)
            gone = [row for row in there if "CNAME" in (row["Type"], record.type)]
            gone += [row for row in there if row["Type"] == record.type and row not in gone]
            change(*(("DELETE", row) for row in gone), ("CREATE", record_calls._stored(record)))

        def drop(name, kind):
            change(*(("DELETE", row) for row in rows(name) if row["Type"] == kind))

        def truth(name):
            return [record_calls._record(row) for row in rows(name)]

        @contextmanager
        def losing():
            with proxy.losing(int(aws.url.rpartition(":")[2]), lambda data: b"<ChangeBatch>" in data) as port:
                yield Route53Store(Route53Calls(client(f"http://127.0.0.1:{port}")), aws.clock, [zone_id])

        put(RecordSet(f"*.wild.{ZONE}", "CNAME", ("elsewhere.example.net",), 300))
        put(RecordSet(f"key.many.{ZONE}", "SSHFP", (f"4 2 {'ab' * 32}",), 300))
        store = Route53Store(Route53Calls(raw), aws.clock, [zone_id])
        zone = store.zone_of(f"a.{ZONE}")
        assert zone is not None
        return Bench(store, zone, put, drop, truth, losing, aws.deploy, compares_ttls=True)
