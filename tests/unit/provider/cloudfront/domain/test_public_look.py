"""What public DNS says about the records of a tenant, and what the status shows of it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest

from apis.dns import DnsInstruction, RecordPurpose, RecordState, RecordType
from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain import dns_instructions, public_look
from provider.cloudfront.domain.dns_instructions import key_of
from provider.cloudfront.domain.public_look import Judged, PublicDns, both, found_in
from provider.dns.public import Answer, Outcome
from tests.unit.provider.world import World, managed

ENDPOINT = "d111111abcdef8.cloudfront.net"
MISSING, WRONG, PRESENT, UNKNOWN = (
    RecordState.MISSING,
    RecordState.WRONG,
    RecordState.PRESENT,
    RecordState.UNKNOWN,
)


@dataclass
class Dns:
    """Public DNS. Names that it does not know do not exist."""

    clock: FakeClock = field(default_factory=FakeClock)
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    seconds: float = 0.0
    """How long a lookup takes."""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, name: str, kind: str) -> Answer:
        self.asked.append((name, kind))
        self.clock.advance(self.seconds)
        if name in self.failing:
            return Answer(Outcome.FAILED, name, kind, why="it does not answer in time")
        return self.answers.get((name, kind)) or Answer(Outcome.NO_NAME, name, kind)

    def leads(self, name: str, target: str) -> None:
        """The name has a CNAME."""
        for kind in ("A", "AAAA"):
            self.answers[name, kind] = Answer(Outcome.FOUND, name, kind, (target,), ("192.0.2.1",))

    def has(self, name: str, kind: str, *values: str) -> None:
        self.answers[name, kind] = Answer(Outcome.FOUND, name, kind, (), values)


@pytest.fixture
def dns() -> Dns:
    return Dns()


def cname(name: str, state: RecordState = UNKNOWN) -> DnsInstruction:
    return DnsInstruction(
        type=RecordType.CNAME, name=name, value=ENDPOINT, purpose=RecordPurpose.ROUTING, state=state
    )


def states(found) -> dict[str, str]:
    return {name: judged.state.value for (_, name, _), judged in found.items()}


def test_each_record_is_judged(dns):
    dns.leads("a.example.com", ENDPOINT)
    dns.leads("b.example.com", "old.example.net")
    for name in ("d.example.com", "e.example.com"):
        dns.has(name, "A", "192.0.2.7")
    dns.has(ENDPOINT, "A", "198.51.100.1")
    public = PublicDns(dns, real=dns.clock)
    found = public.look("shop", [cname(f"{each}.example.com") for each in "abcde"])
    assert found == {
        key_of(cname("a.example.com")): Judged(PRESENT),
        key_of(cname("b.example.com")): Judged(WRONG, "CNAME old.example.net"),
        key_of(cname("c.example.com")): Judged(MISSING),
        key_of(cname("d.example.com")): Judged(WRONG, "A 192.0.2.7"),
        key_of(cname("e.example.com")): Judged(WRONG, "A 192.0.2.7"),
    }
    assert len(dns.asked) == len(set(dns.asked)), "each question once"


def test_rejected_signatures_and_caa_are_told(dns):
    dns.answers["a.example.com", "A"] = Answer(Outcome.BOGUS, "a.example.com", "A", why="signatures")
    dns.has("example.com", "CAA", '0 issue "letsencrypt.org"')
    public = PublicDns(dns, real=dns.clock)
    [judged] = public.look("shop", [cname("a.example.com")], caa=True).values()
    assert judged.state is UNKNOWN
    assert judged.found is None
    assert judged.also == (
        "DNSSEC: resolvers reject the signatures of the zone; CAA: the CAA records of example.com "
        '(0 issue "letsencrypt.org") forbid Amazon\'s certificate authority; add 0 issue "amazon.com"'
    )
    [judged] = public.look("shop", [cname("b.example.com")]).values()
    assert judged.also is None, "no certificate waits"
    dns.failing = {"example.com"}
    dns.leads("c.example.com", ENDPOINT)
    now = public.look("shop", [cname("c.example.com")], caa=True)
    before = lambda _: "A 192.0.2.1; CAA: the records forbid it"  # noqa: E731
    assert found_in(now, before, lambda _: PRESENT)(cname("c.example.com")) == "CAA: the records forbid it"


def test_a_long_answer_fits_in_the_status(dns):
    dns.has("a.example.com", "A", *(f"192.0.2.{number}" for number in range(200)))
    dns.has(ENDPOINT, "A", "198.51.100.1")
    [judged] = PublicDns(dns, real=dns.clock).look("shop", [cname("a.example.com")]).values()
    assert len(judged.found) <= 1024


def test_those_that_are_not_present_come_first_and_another_one_each_time(dns):
    dns.seconds = 2.5
    records = [cname(f"{n}.example.com", PRESENT if n < 5 else MISSING) for n in range(10)]
    looked = set()
    public = PublicDns(dns, real=dns.clock)
    for _ in range(30):
        now = states(public.look("shop", records))
        assert len(now) == 2
        looked |= now.keys()
        dns.clock.advance(1.0)
    assert looked == {f"{n}.example.com" for n in range(5, 10)}
    later = [cname(record.name, PRESENT) for record in records]
    for _ in range(60):
        looked |= states(public.look("shop", later)).keys()
        dns.clock.advance(1.0)
    assert len(looked) == 10


def test_the_second_one_without_an_answer_ends_the_look(dns):
    names = [f"{n}.example.com" for n in range(5)]
    dns.failing = set(names)
    assert PublicDns(dns, real=dns.clock).look("shop", [cname(name) for name in names]) == {}
    assert len({name for name, _ in dns.asked}) == 2


def test_silent_servers_of_one_namespace_stop_its_looks_only(dns):
    dns.failing, dns.seconds = {"a.example.com"}, 1.5
    public = PublicDns(dns, real=dns.clock)
    for _ in range(10):
        public.look("evil", [cname("a.example.com")])
    asked = len(dns.asked)
    assert public.look("evil", [cname("a.example.com")]) == {}
    assert len(dns.asked) == asked
    assert states(public.look("shop", [cname("b.example.com")])) == {"b.example.com": "Missing"}


def test_answers_that_fail_at_once_are_not_silence(dns):
    dns.failing = {"a.example.com"}
    public = PublicDns(dns, real=dns.clock)
    for _ in range(10):
        public.look("shop", [cname("a.example.com")])
    assert states(public.look("shop", [cname("b.example.com")])) == {"b.example.com": "Missing"}


def test_absent_tenants_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(public_look, "_MOST_WAITING", 3)
    public = PublicDns(Dns(), FakeClock())
    assert all(public.is_due(uid) for uid in "abcd")
    assert len(public._looked) == 3
    assert [public.is_due(uid) for uid in "dcb"] == [False, False, False]


def test_a_long_name_takes_no_more_than_the_time_of_a_look(dns):
    """Each of its labels is asked for CAA records, and each answer is slow."""
    dns.seconds = 2.0
    name = ".".join(["a"] * 30) + ".example.com"
    began = dns.clock.now()
    PublicDns(dns, real=dns.clock).look("shop", [cname(name)], caa=True)
    assert dns.clock.now() - began <= 6.0 + 3.0 + 2.0


def test_what_a_stranger_writes_into_dns_has_no_control_characters(dns):
    challenge = DnsInstruction(
        type=RecordType.TXT,
        name="_cf-challenge.acme.com",
        value=ENDPOINT,
        purpose=RecordPurpose.OWNERSHIP,
    )
    dns.has("_cf-challenge.acme.com", "TXT", "\x1b[2J\nnew line")
    [judged] = PublicDns(dns, real=dns.clock).look("shop", [challenge]).values()
    assert judged.state is WRONG
    assert judged.found.isprintable()


def test_addresses_that_change_with_each_look_write_nothing():
    record = cname("a.example.com")
    now = {key_of(record): Judged(WRONG, "A 192.0.2.2; AAAA 2001:db8::2")}
    found = found_in(now, lambda _: "A 192.0.2.1", lambda _: WRONG)
    assert found(record) == "A 192.0.2.1"
    found = found_in(now, lambda _: "CNAME old.example.net", lambda _: WRONG)
    assert found(record) == "A 192.0.2.2; AAAA 2001:db8::2"
    found = found_in({key_of(record): Judged(MISSING)}, lambda _: "A 192.0.2.1", lambda _: MISSING)
    assert found(record) is None


BOTH = {
    (PRESENT, MISSING): PRESENT,
    (PRESENT, UNKNOWN): PRESENT,
    (UNKNOWN, MISSING): MISSING,
    (UNKNOWN, WRONG): WRONG,
    (UNKNOWN, UNKNOWN): UNKNOWN,
    (UNKNOWN, PRESENT): PRESENT,
    (MISSING, PRESENT): PRESENT,
    (MISSING, WRONG): MISSING,
    (MISSING, UNKNOWN): MISSING,
    (WRONG, PRESENT): PRESENT,
    (WRONG, MISSING): WRONG,
    (WRONG, UNKNOWN): WRONG,
    (None, WRONG): WRONG,
    (None, PRESENT): PRESENT,
}
"""What public DNS says, and what CloudFront has just told."""
STORED = BOTH | {(MISSING, PRESENT): MISSING, (WRONG, PRESENT): WRONG}
"""The same, if it did not tell it now."""


@pytest.mark.parametrize(("own", "told"), BOTH)
def test_what_one_of_them_has_seen_is_present_and_else_public_dns_counts(own, told):
    record = cname("a.example.com")
    findings = {} if own is None else {key_of(record): Judged(own)}
    assert both(findings, lambda _: told)(record) is BOTH[own, told]
    assert both(findings, lambda _: told, fresh=False)(record) is STORED[own, told]


def test_what_was_not_seen_now_is_told_as_before_unless_it_is_present():
    record = cname("a.example.com")
    before = lambda _: "CNAME old.example.net"  # noqa: E731
    assert found_in({}, before, lambda _: WRONG)(record) == "CNAME old.example.net"
    assert found_in({}, before, lambda _: PRESENT)(record) is None
    assert found_in({key_of(record): Judged(MISSING)}, before, lambda _: MISSING)(record) is None


# With the client.


def shown(world: World) -> dict[str, tuple[str, str | None]]:
    every = world.status.get("dnsInstructions") or ()
    return {each["name"]: (each["state"], each.get("found")) for each in every}


def test_the_status_of_a_tenant_shows_what_public_dns_has_instead(dns):
    world = World(public=PublicDns(dns))
    world.cloudfront.verdicts = {}
    dns.leads("acme.example.com", "old.example.net")
    world.cloudfront.refuse["VerifyDnsConfiguration"] = AwsError(
        "VerifyDnsConfiguration", "InternalError", "no", status=500
    )
    world.settle()
    assert shown(world)["acme.example.com"] == ("Wrong", "CNAME old.example.net")
    assert shown(world)["shop.acme.com"] == ("Missing", None)
    asked = len(dns.asked)
    for _ in range(5):
        world.reconcile()
    assert len(dns.asked) == asked, "not at each reconcile"
    assert shown(world)["acme.example.com"] == ("Wrong", "CNAME old.example.net")
    world.context.pop("public")
    world.reconcile()
    assert shown(world)["acme.example.com"] == ("Wrong", None), "an administrator turned it off"


def test_a_tenant_that_does_not_exist_shows_it_too(dns):
    clock = FakeClock()
    world = World(public=PublicDns(dns, clock))
    dns.leads("acme.example.com", "old.example.net")
    world.cloudfront.refuse["CreateDistributionTenant"] = AwsError(
        "CreateDistributionTenant", "InvalidArgument", "could not verify domain name ownership", status=400
    )
    dns.has("acme.com", "CAA", '0 issue "letsencrypt.org"')
    world.reconcile()
    assert shown(world)["acme.example.com"] == ("Wrong", "CNAME old.example.net")
    assert "forbid Amazon's" in shown(world)["shop.acme.com"][1]
    asked = len(dns.asked)
    clock.advance(290)
    world.reconcile()
    assert len(dns.asked) == asked
    assert shown(world)["acme.example.com"] == ("Wrong", "CNAME old.example.net")
    clock.advance(11)
    world.reconcile()
    assert len(dns.asked) == 2 * asked
    world.obj["metadata"]["annotations"]["crossplane.io/reconcile-requested-at"] = "now"
    world.reconcile()
    assert len(dns.asked) == 3 * asked


def test_without_a_lookup_nothing_is_asked(dns):
    assert PublicDns().is_off
    world = World()
    world.cloudfront.refuse["CreateDistributionTenant"] = AwsError(
        "CreateDistributionTenant", "InvalidArgument", "could not verify domain name ownership", status=400
    )
    world.reconcile()
    assert {state for state, _ in shown(world).values()} == {"Unknown"}


def test_a_check_that_cloudfront_does_not_permit_is_not_missed_where_public_dns_answers(dns):
    world = World(managed(), public=PublicDns(dns))
    for name in ("acme.example.com", "shop.acme.com"):
        dns.leads(name, world.cloudfront.groups["cg_default"].routing_endpoint)
    refused = AwsError("VerifyDnsConfiguration", "AccessDenied", "not authorized", status=403)
    world.cloudfront.refuse["VerifyDnsConfiguration"] = refused
    world.settle()
    assert world.condition("DNSReady") == ("True", "DNSNotConfigured", "")
    dns.answers.clear()
    world.clock.advance(3600)
    world.reconcile()
    assert {state for state, _ in shown(world).values()} == {"Missing"}, "it is not there any more"
    for name in ("acme.example.com", "shop.acme.com"):
        dns.leads(name, world.cloudfront.groups["cg_default"].routing_endpoint)
    world.clock.advance(3600)
    world.reconcile()
    dns.failing = {"acme.example.com", "shop.acme.com"}
    world.clock.advance(3600)
    world.reconcile()
    world.reconcile()
    assert {state for state, _ in shown(world).values()} == {"Present"}, "the last answer counts"


def test_the_same_answer_writes_nothing(dns):
    world = World(public=PublicDns(dns))
    world.settle()
    before = world.status_writes
    for _ in range(20):
        world.clock.advance(600)
        world.reconcile()
    assert world.status_writes == before
    assert dns_instructions.stored_found({})(cname("a.example.com")) is None


def test_all_states_are_in_the_table():
    assert set(itertools.product((MISSING, WRONG, PRESENT, UNKNOWN), repeat=2)) - set(BOTH) == {
        (PRESENT, WRONG),
        (PRESENT, PRESENT),
        (MISSING, MISSING),
        (WRONG, WRONG),
    }
