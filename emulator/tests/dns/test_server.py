"""The DNS server over UDP and TCP, and where its records come from."""

import itertools
import socket
import struct

import pytest

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.dns.server import DnsServer, respond
from edgetenants_emulator.zones.authority import Answer, Code, RecordSet

NUMBERS = itertools.count(1)
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "MX": 15, "TXT": 16, "AAAA": 28, "CAA": 257}
EDNS = struct.pack("!BHHIH", 0, 41, 4096, 0, 0)


def question(name, kind, edns=b"", flags=0x0100):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label)
    counts = (1, 0, 0, 1 if edns else 0)
    return struct.pack("!6H", 7, flags, *counts) + labels + b"\0" + struct.pack("!HH", TYPES[kind], 1) + edns


def read_name(message, at):
    labels = []
    while length := message[at]:
        if length >= 0xC0:
            rest, _ = read_name(message, struct.unpack_from("!H", message, at)[0] & 0x3FFF)
            return ".".join([*labels, rest]), at + 2
        labels.append(message[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels), at + 1


def read(message):
    """Code, flags and the records (name, type, bytes) of an answer and its authority section."""
    _, flags, questions, answers, authorities, _ = struct.unpack_from("!6H", message)
    at = 12
    for _ in range(questions):
        at = read_name(message, at)[1] + 4
    records = []
    for _ in range(answers + authorities):
        name, at = read_name(message, at)
        kind, _, ttl, length = struct.unpack_from("!HHIH", message, at)
        data, at = message[at + 10 : at + 10 + length], at + 10 + length
        if kind in (2, 5):
            data = read_name(message, at - length)[0]
        records.append((name, kind, ttl, data))
    return Code(flags & 15), flags, records[:answers], records[answers:]


class Client:
    def __init__(self, address):
        self.address = address

    def udp(self, message):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.sendto(message, self.address)
            return client.recv(65535)

    def tcp(self, *messages):
        with socket.create_connection(self.address, timeout=5) as client:
            for message in messages:
                client.sendall(struct.pack("!H", len(message)) + message)
            stream = client.makefile("rb")
            return [stream.read(*struct.unpack("!H", stream.read(2))) for _ in messages]

    def ask(self, name, kind, **more):
        return read(self.udp(question(name, kind, **more)))

    def addresses(self, name, kind="A"):
        family = {"A": socket.AF_INET, "AAAA": socket.AF_INET6}[kind]
        records = self.ask(name, kind)[2]
        return [socket.inet_ntop(family, data) for _, number, _, data in records if number == TYPES[kind]]


@pytest.fixture
def emulator():
    with EmulatorServer(rate=0, dns_port=0) as server:
        yield server


@pytest.fixture
def dns(emulator):
    return Client(emulator.dns.address)


@pytest.fixture
def hosted(aws, admin):
    """A hosted zone of its own; each change is in sync at once."""
    route53 = aws.client("route53")
    name = f"zone{next(NUMBERS)}.example"
    zone = route53.create_hosted_zone(Name=name, CallerReference=name)["HostedZone"]["Id"]
    changes = []

    def change(kind, owner, values=(), action="UPSERT", **more):
        records = {"ResourceRecords": [{"Value": value} for value in values], "TTL": 60} if values else {}
        record = {"Name": f"{owner}{name}", "Type": kind, **records, **more}
        changes.append({"Action": "DELETE", "ResourceRecordSet": record})
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
        route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)
        admin.step(30)

    change.zone = name
    return change


class TestRoute53:
    def test_the_apex_has_what_route_53_puts_there(self, dns, hosted):
        code, flags, [soa], _ = dns.ask(hosted.zone, "SOA")
        assert (code, flags & 0x8500) == (Code.NO_ERROR, 0x8500)
        assert soa[2] == 900
        assert struct.unpack("!5I", soa[3][-20:]) == (1, 7200, 900, 1209600, 86400)
        servers = [data for _, _, _, data in dns.ask(hosted.zone, "NS")[2]]
        assert "ns-2048.awsdns-64.com" in servers

    def test_records(self, dns, hosted):
        hosted("A", "a.", ["192.0.2.50", "192.0.2.51"])
        hosted("AAAA", "a.", ["2001:db8::50"])
        hosted("TXT", "", ['"one" "two \\"quoted\\""', '"\\303\\251"'])
        hosted("CAA", "", ['0 issue "amazon.com"'])
        assert dns.addresses(f"a.{hosted.zone}") == ["192.0.2.50", "192.0.2.51"]
        assert dns.addresses(f"A.{hosted.zone.upper()}", "AAAA") == ["2001:db8::50"]
        texts = [data for _, _, _, data in dns.ask(hosted.zone, "TXT")[2]]
        assert texts == [b'\x03one\x0ctwo "quoted"', b"\x02\xc3\xa9"]
        assert dns.ask(hosted.zone, "CAA")[2][0][3] == b"\x00\x05issueamazon.com"

    def test_a_change_is_seen_when_it_is_in_sync(self, dns, hosted):
        hosted("A", "a.", ["192.0.2.50"])
        assert dns.addresses(f"a.{hosted.zone}") == ["192.0.2.50"]
        hosted("A", "a.", ["192.0.2.60"])
        assert dns.addresses(f"a.{hosted.zone}") == ["192.0.2.60"]
        hosted("A", "a.", ["192.0.2.60"], action="DELETE")
        assert dns.ask(f"a.{hosted.zone}", "A")[0] is Code.NAME_ERROR

    @pytest.mark.parametrize("star", ["*.", "\\052."])
    def test_a_wildcard(self, dns, hosted, star):
        hosted("A", star, ["192.0.2.50"])
        assert dns.addresses(f"any.{hosted.zone}") == ["192.0.2.50"]

    def test_multi_value_records_are_joined_and_of_weighted_the_first_stands(self, dns, hosted):
        for i in (1, 2):
            hosted("A", "m.", [f"192.0.2.{i}"], SetIdentifier=str(i), MultiValueAnswer=True)
            hosted("A", "w.", [f"192.0.2.{i}"], SetIdentifier=str(i), Weight=10)
        assert dns.addresses(f"m.{hosted.zone}") == ["192.0.2.1", "192.0.2.2"]
        assert dns.addresses(f"w.{hosted.zone}") == ["192.0.2.1"]

    def test_a_type_that_is_not_here_is_nothing(self, dns, hosted):
        hosted("MX", "m.", ["10 mail.example."])
        code, _, records, authority = dns.ask(f"m.{hosted.zone}", "MX")
        assert (code, records, authority[0][1]) == (Code.NO_ERROR, [], TYPES["SOA"])

    def test_private_zones_are_not_for_the_public(self, dns, aws):
        aws.client("route53").create_hosted_zone(
            Name="private.example",
            CallerReference="private",
            HostedZoneConfig={"PrivateZone": True},
            VPC={"VPCRegion": "us-east-1", "VPCId": "vpc-1"},
        )
        assert dns.ask("private.example", "SOA")[0] is Code.REFUSED


class TestEdge:
    def test_alias_and_cname_reach_a_routing_endpoint(self, dns, hosted, aws):
        group = aws.group()["ConnectionGroup"]["RoutingEndpoint"]
        alias = {"DNSName": group, "HostedZoneId": "Z2FDTNDATAQYW2", "EvaluateTargetHealth": False}
        hosted("A", "", AliasTarget=alias)
        hosted("CNAME", "shop.", [group])
        edge = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]
        assert dns.addresses(hosted.zone) == edge
        assert dns.addresses(f"shop.{hosted.zone}") == edge
        assert dns.ask(f"shop.{hosted.zone}", "A")[2][0][3] == group
        assert dns.addresses(group, "AAAA")[0] == "2001:db8::1"

    def test_without_ipv6_there_are_no_such_addresses(self, dns, aws):
        group = aws.group("four", Ipv6Enabled=False)["ConnectionGroup"]["RoutingEndpoint"]
        assert (len(dns.addresses(group)), dns.addresses(group, "AAAA")) == (4, [])

    def test_an_endpoint_that_nobody_has(self, dns):
        assert dns.ask("d999.cloudfront.net", "A")[0] is Code.NAME_ERROR


class TestByHand:
    def test_set_seen_and_removed(self, dns, admin):
        record = {"name": "Shop.Hand.example", "type": "a", "values": ["192.0.2.70"], "ttl": 30}
        made = admin("POST", "records", record)
        assert made == {
            "name": "shop.hand.example",
            "type": "A",
            "values": ["192.0.2.70"],
            "ttl": 30,
            "zone": "hand.example",
        }
        assert admin("GET", "records") == {"records": [made]}
        assert dns.ask("shop.hand.example", "A")[2][0][1:3] == (1, 30)
        assert dns.ask("other.hand.example", "A")[0] is Code.NAME_ERROR
        assert admin("GET", "dns?name=shop.hand.example")["records"][0]["values"] == ["192.0.2.70"]
        assert admin("DELETE", "records?name=shop.hand.example&type=A") == {"removed": 1}
        assert dns.ask("shop.hand.example", "A")[0] is Code.REFUSED

    def test_several_are_forgotten_at_once(self, admin):
        for name in ("a.hand.example", "b.hand.example"):
            admin("POST", "records", {"name": f"{name}.", "type": "cname", "values": ["d1.cloudfront.net."]})
        assert admin("DELETE", "records") == {"removed": 2}
        assert admin("GET", "records") == {"records": []}

    def test_an_alias_shows_addresses_alone(self, dns, admin, aws):
        group = aws.group("edge")["ConnectionGroup"]["RoutingEndpoint"]
        admin("POST", "records", {"name": "hand.example", "type": "alias", "values": [group]})
        (record,) = dns.ask("hand.example", "A")[2][:1]
        assert record[1] == 1
        assert dns.addresses("hand.example") == dns.addresses(group)
        assert dns.ask("hand.example", "CNAME")[2] == []

    def test_a_look_up_that_fails(self, dns, admin):
        admin("POST", "records", {"name": "hand.example", "type": "FAIL"})
        assert dns.ask("hand.example", "A")[0] is Code.SERVER_FAILURE
        assert admin("GET", "dns?name=hand.example")["code"] == "SERVER_FAILURE"
        admin("DELETE", "records?name=hand.example&type=FAIL")
        assert dns.ask("hand.example", "A")[0] is Code.REFUSED

    def test_the_generation_moves_with_every_change(self, emulator, admin, hosted):
        seen = [emulator.world.dns_generation()]
        admin("POST", "records", {"name": "hand.example", "type": "A", "values": ["192.0.2.1"]})
        seen.append(emulator.world.dns_generation())
        admin("DELETE", "records")
        seen.append(emulator.world.dns_generation())
        assert len(set(seen)) == 3

    def test_where_the_server_listens(self, emulator, admin):
        shown = admin("GET", "dns")
        assert (shown["listening"]["host"], shown["listening"]["port"]) == emulator.dns.address
        assert "cloudfront.net" in shown["zones"]

    def test_without_a_server_the_names_are_known_all_the_same(self, admin):
        with EmulatorServer(rate=0) as server:
            alone = type(admin)(server.url)
            alone("POST", "records", {"name": "x.hand.example", "type": "TXT", "values": ["word"]})
            assert alone("GET", "dns")["listening"] is None
            assert alone("GET", "dns?name=x.hand.example&type=txt")["code"] == "NO_ERROR"
            assert server.world.lookup("x.hand.example", "TXT").values("TXT") == ("word",)

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"name": "a.b", "type": "A"}, "values"),
            ({"name": "a.b", "type": "A", "values": ["192.0.2.1"], "color": 1}, "color"),
            ({"name": "a.b", "type": "MX", "values": ["1 m."]}, "unsupported record type MX"),
            ({"name": "a.b", "type": "A", "values": ["300.1.1.1"]}, "300"),
            ({"name": "a.b", "type": "A", "values": []}, "at least one"),
            ({"name": "a.b", "type": "A", "values": "192.0.2.1"}, "list"),
            ({"name": "a.b", "type": "CNAME", "values": ["c.d", "e.f"]}, "exactly one"),
            ({"name": "a.b", "type": "ALIAS", "values": ["c.d", "e.f"]}, "exactly one"),
            ({"name": "a.b", "type": "FAIL", "values": ["c.d"]}, "none for FAIL"),
            ({"name": "a.b", "type": "CAA", "values": ["0 issue"]}, "CAA"),
            ({"name": "a.b", "type": "SOA", "values": ["a. b. 1"]}, "SOA"),
            ({"name": "a.b", "type": "A", "values": ["192.0.2.1"], "zone": "c.d"}, "is not in the zone"),
            ({"name": "a..b", "type": "A", "values": ["192.0.2.1"]}, "not a DNS name"),
        ],
    )
    def test_no_record(self, admin, record, message):
        status, told = admin.refused("POST", "records", record)
        assert status == 400
        assert message in told

    def test_a_cname_stands_alone(self, admin):
        admin("POST", "records", {"name": "x.hand.example", "type": "A", "values": ["192.0.2.1"]})
        cname = {"name": "x.hand.example", "type": "CNAME", "values": ["y.example."]}
        assert "alone" in admin.refused("POST", "records", cname)[1]

    def test_not_in_a_zone_of_route_53(self, hosted, admin):
        wanted = {"name": f"a.{hosted.zone}", "type": "A", "values": ["192.0.2.1"]}
        assert hosted.zone in admin.refused("POST", "records", wanted)[1]


class TestWire:
    def test_a_long_answer_is_cut_over_udp_and_whole_over_tcp(self, dns, hosted):
        hosted("TXT", "long.", [f'"{i:03d}{"x" * 200}"' for i in range(8)])
        asked = question(f"long.{hosted.zone}", "TXT")
        code, flags, records, _ = read(dns.udp(asked))
        assert (code, bool(flags & 0x0200), records) == (Code.NO_ERROR, True, [])
        whole, again = dns.tcp(asked, asked)
        assert len(read(whole)[2]) == 8
        assert not read(whole)[1] & 0x0200
        assert again == whole

    def test_edns_takes_more(self, dns, hosted):
        hosted("TXT", "mid.", [f'"{i:03d}{"x" * 200}"' for i in range(4)])
        asked = question(f"mid.{hosted.zone}", "TXT", edns=EDNS)
        assert len(read(dns.udp(asked))[2]) == 4
        assert read(dns.udp(question(f"mid.{hosted.zone}", "TXT")))[1] & 0x0200

    @pytest.mark.parametrize(
        ("message", "code"),
        [
            (question("example.org", "A"), Code.REFUSED),
            (question("example.org", "A", flags=0x2800), Code.NOT_IMPLEMENTED),
            (question("example.org", "A")[:-1] + b"\x03", Code.REFUSED),
            (question("example.org", "A")[:-5], Code.FORMAT_ERROR),
            (
                question("example.org", "A")[:4] + b"\0\2" + question("example.org", "A")[6:],
                Code.FORMAT_ERROR,
            ),
            (question("a" * 62 + ".example.org", "A")[:12] + b"\xc0\x0c\0\1\0\1", Code.FORMAT_ERROR),
        ],
    )
    def test_what_is_not_answered(self, dns, message, code):
        answer = dns.udp(message)
        assert answer[:2] == message[:2]
        assert answer[3] & 15 == code

    @pytest.mark.parametrize("message", [b"", b"\0" * 11, question("a.b", "A", flags=0x8000)])
    def test_silence(self, message):
        assert respond(lambda *_: Answer(Code.REFUSED), message, None) is None

    def test_a_record_that_cannot_be_written_is_a_failure(self, capsys):
        broken = Answer(Code.NO_ERROR, (RecordSet("a.b", "A", ("nonsense",)),))
        answer = respond(lambda *_: broken, question("a.b", "A"), None)
        assert answer[3] & 15 == Code.SERVER_FAILURE
        assert "nonsense" in capsys.readouterr().err

    def test_the_bytes_of_an_answer(self):
        found = Answer(Code.NO_ERROR, (RecordSet("a.b", "CNAME", ("c.b.",), 1),))
        expected = b"\0\7\x85\0\0\1\0\1\0\0\0\0\1A\1b\0\0\5\0\1\xc0\x0c\0\5\0\1\0\0\0\1\0\4\1c\xc0\x0e"
        assert respond(lambda *_: found, question("A.b", "CNAME"), None) == expected

    def test_a_port_that_is_taken(self, dns):
        with pytest.raises(OSError, match="in use"):
            DnsServer(lambda *_: Answer(Code.REFUSED), port=dns.address[1])
