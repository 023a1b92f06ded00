"""Which domains need a proof, what proves them, and how often DNS is asked."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from apis.dns import RecordPurpose, RecordState
from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet, RetryMode
from edgetenants_runtime.managed import Managed
from provider.cloudfront.domain import dns_instructions, lookup_turns, proof
from provider.cloudfront.domain.lookup_turns import LookupTurns, NoTurn
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.domain.tenant_proofs import DomainProofs, TenantProofs
from provider.cloudfront.domain.text_lookup import LookupFailed, Texts, server
from provider.cloudfront.memory.proof_answers import UNKNOWN, ProofAnswers, Standing, Verdict
from tests.unit.provider.world import managed

REQUIRED = {"mode": "Required"}
LONG = f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 50}.test"


@pytest.mark.parametrize(
    ("installation", "namespace", "domain", "value"),
    [
        ("cluster-1", "shop", "shop.acme.com", "edgetenants-proof=ccb565ac88c87e98df85b3f4088a7bda"),
        ("cluster-1", "shop", "SHOP.acme.com", "edgetenants-proof=ccb565ac88c87e98df85b3f4088a7bda"),
        ("cluster-1", "shop", "*.acme.com", "edgetenants-proof=71b3bb8e75a16d94a4ca5caf93124a86"),
        ("cluster-1", "shop", "acme.com", "edgetenants-proof=4abe4caad5391183b6319db6fde36f09"),
        ("cluster-1", "team-b", "acme.com", "edgetenants-proof=005ecf2801b0974b3181d5315b95d095"),
        ("cluster-2", "shop", "acme.com", "edgetenants-proof=abd7ac589368ba7bcf558e1e1bdccac8"),
        ("cluster-1", "shop", "xn--bcher-kva.example", "edgetenants-proof=723b7fb26cef321ae2aae5fa75c2f671"),
    ],
)
def test_the_value_never_changes(installation, namespace, domain, value):
    assert proof.value(installation, namespace, domain) == value, "customers have published these"


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("acme.com", "_edgetenants-proof.acme.com"),
        ("*.acme.com", "_edgetenants-proof.acme.com"),
        ("www.acme.com", "_edgetenants-proof.www.acme.com"),
    ],
)
def test_the_name(domain, name):
    assert proof.name(domain) == name


DOMAINS = ("a.acme.com", "a.shop.apps.test", "a.other.apps.test", "*.acme.com")


@pytest.mark.parametrize(
    ("asked", "rules", "needed"),
    [
        (None, Rules(), ()),
        ({"mode": "NotRequired"}, Rules(), ()),
        (REQUIRED, Rules(), DOMAINS),
        ({"mode": "of-a-later-version"}, Rules(), DOMAINS),
        (
            {**REQUIRED, "exempt": ["*.{namespace}.apps.test"]},
            Rules(),
            ("a.acme.com", DOMAINS[2], "*.acme.com"),
        ),
        ({**REQUIRED, "exempt": ["*.acme.com"]}, Rules(), (*DOMAINS[1:3], "*.acme.com")),
        ({**REQUIRED, "exempt": ["**.acme.com"]}, Rules(), DOMAINS[1:3]),
        ({**REQUIRED, "exempt": [7]}, Rules(), DOMAINS),
        # An exception of the flag alone asks for nothing.
        (None, Rules(exempt=("a.acme.com",)), ()),
        # What a team writes does not count where the flag is set.
        ({"mode": "NotRequired"}, Rules(required=True), DOMAINS),
        ({**REQUIRED, "exempt": ["**.acme.com"]}, Rules(required=True), DOMAINS),
        (None, Rules(required=True, exempt=("**.apps.test",)), ("a.acme.com", "*.acme.com")),
    ],
)
def test_which_domains_need_a_proof(asked, rules, needed):
    mr = Managed(managed(domainProof=asked) if asked else managed())
    assert proof.to_prove(mr, DOMAINS, rules) == set(needed)


MINE, OTHER = proof.value("i", "shop", "acme.com"), proof.value("i", "b", "acme.com")


@pytest.mark.parametrize(
    ("found", "standing", "said"),
    [
        (Texts(), Standing.MISSING, ""),
        (Texts(("v=spf1 -all",)), Standing.MISSING, ""),
        (Texts((MINE,)), Standing.PROVEN, ""),
        (Texts((f" {MINE} ",)), Standing.PROVEN, ""),
        (Texts((OTHER, "x", MINE)), Standing.PROVEN, ""),
        (Texts((OTHER,)), Standing.WRONG, OTHER),
        (Texts((MINE[:-1],)), Standing.WRONG, MINE[:-1]),
        (Texts((f"{MINE}0",)), Standing.WRONG, f"{MINE}0"),
        (Texts((MINE,), alias_of="b.net"), Standing.WRONG, "an alias of b.net"),
        (Texts((), alias_of="b.net"), Standing.WRONG, "an alias of b.net"),
        # What a stranger's zone has is remembered for each domain, so only the beginning is.
        (
            Texts(tuple(f"edgetenants-proof={number}{'x' * 400}" for number in range(5))),
            Standing.WRONG,
            ", ".join(f"edgetenants-proof={number}{'x' * 81}" for number in range(3)),
        ),
        (Texts(("edgetenants-proof=\ufffd\n",)), Standing.WRONG, "edgetenants-proof=?"),
        (Texts((), alias_of="b" * 1000), Standing.WRONG, f"an alias of {'b' * 253}"),
    ],
)
def test_what_proves_a_domain(found, standing, said):
    assert proof.judged(found, MINE) == Verdict(standing, said)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("192.0.2.1", ("192.0.2.1", 53)),
        ("192.0.2.1:5353", ("192.0.2.1", 5353)),
        ("2001:db8::1", ("2001:db8::1", 53)),
        ("[2001:db8::1]", ("2001:db8::1", 53)),
        ("[2001:db8::1]:5353", ("2001:db8::1", 5353)),
        ("192.0.2.1#5353", ("192.0.2.1", 5353)),
        ("2001:db8::1#5353", ("2001:db8::1", 5353)),
        ("[2001:db8::1]#5353", ("2001:db8::1", 5353)),
    ],
)
def test_the_address_of_a_resolver(written, read):
    assert server(written) == read


@pytest.mark.parametrize(
    "written",
    [
        "dns.example",
        "192.0.2.1:0",
        "192.0.2.1:x",
        "192.0.2.1:",
        "192.0.2.1#",
        "192.0.2.1:+5",
        "192.0.2.1:70000",
        "192.0.2.1:53:53",
        "[2001:db8::1]5353",
        "[2001:db8::1]:",
        "[2001:db8::1",
        "2001:db8::1#5#3",
        "",
    ],
)
def test_what_is_no_address(written):
    with pytest.raises(ValueError, match=r"."):
        server(written)


class Asked:
    """A resolver; what it knows is in `texts`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.texts: dict[str, Texts | LookupFailed] = {}
        self.names: list[str] = []
        self.seconds = 0.0
        self.shared = DomainProofs(self.clock, self.look_up, Rules(required=True))

    def look_up(self, name: str, seconds: float) -> Texts:
        self.names.append(name)
        self.clock.advance(self.seconds)
        found = self.texts.get(name, Texts())
        if isinstance(found, LookupFailed):
            raise found
        return found

    def prove(self, domain: str, namespace: str = "shop") -> None:
        self.texts[proof.name(domain)] = Texts((proof.value("i", namespace, domain),))

    def silence(self, domain: str) -> None:
        self.texts[proof.name(domain)] = LookupFailed("no reply", silent=True)

    def tenant(
        self, held: tuple[str, ...] = (), namespace: str = "shop", requested: str = "", **status: object
    ) -> TenantProofs:
        obj = {**managed(annotations={RECONCILE_REQUESTED_AT: requested}), "status": status}
        obj["metadata"] |= {"namespace": namespace}
        return TenantProofs(
            Managed(obj), self.shared, "i", lambda _, domains: frozenset(domains) & frozenset(held)
        )

    def attempt(self, domains: set[str], namespace: str = "shop") -> float | None:
        """One reconcile that wants to write; seconds until the next one, None if all are proven."""
        try:
            self.tenant(namespace=namespace).check(domains)
        except NotYet as going_on:
            return going_on.after
        except ExternalError as refusal:
            return refusal.retry.seconds
        return None

    def stored(self, domains: list[str], state: str) -> dict[str, object]:
        """The status of a tenant with their proofs in this state."""
        keys = [self.tenant()._key(each) for each in domains]
        told = [{"name": name, "value": value, "purpose": "Proof", "state": state} for name, value in keys]
        return {"dnsInstructions": told}

    @property
    def count(self) -> int:
        return len(self.names)


@pytest.fixture
def dns() -> Asked:
    return Asked()


class TestCheck:
    def test_a_proof_counts_for_five_minutes(self, dns):
        dns.prove("a.test")
        dns.tenant().check({"a.test"})
        dns.texts.clear()
        dns.clock.advance(299)
        dns.tenant().check({"a.test"})
        dns.clock.advance(1)
        with pytest.raises(ExternalError):
            dns.tenant().check({"a.test"})

    def test_what_is_missing_is_looked_for_less_and_less_often(self, dns):
        pauses = []
        for _ in range(7):
            with pytest.raises(ExternalError) as refusal:
                dns.tenant().check({"a.test"})
            assert refusal.value.retry.mode is RetryMode.AFTER
            pauses.append(refusal.value.retry.seconds)
            before = dns.count
            with pytest.raises(ExternalError):
                dns.tenant().check({"a.test"})
            assert dns.count == before
            dns.clock.advance(pauses[-1])
        assert pauses == [15, 30, 60, 120, 240, 300, 300]

    def test_what_the_namespace_keeps_needs_no_proof_but_to_be_moved(self, dns):
        dns.tenant(held=("a.test",)).check({"a.test"})
        assert dns.count == 0
        with pytest.raises(ExternalError):
            dns.tenant(held=("a.test",)).check({"a.test"}, {"a.test"})

    def test_one_that_is_kept_lets_no_other_in(self, dns):
        with pytest.raises(ExternalError) as refusal:
            dns.tenant(held=("a.test",)).check({"a.test", "b.test"})
        assert "b.test" in refusal.value.message
        assert "a.test" not in refusal.value.message

    def test_the_proof_of_another_namespace_in_memory_counts_for_no_other(self, dns):
        dns.prove("a.test", "team-b")
        dns.tenant(namespace="team-b").check({"a.test"})
        with pytest.raises(ExternalError):
            dns.tenant().check({"a.test"})

    def test_it_does_not_condemn_before_it_has_looked(self, dns):
        domains = {f"d{number}.test" for number in range(60)}
        with pytest.raises(NotYet):
            dns.tenant().check(domains)
        assert dns.count == 40
        with pytest.raises(ExternalError):
            dns.tenant().check(domains)
        assert dns.count == 60

    def test_slow_look_ups_leave_the_worker_to_others(self, dns):
        dns.seconds = 2.5
        domains = {f"d{number}.test" for number in range(10)}
        with pytest.raises(NotYet):
            dns.tenant().check(domains)
        assert dns.count == 3

    def test_the_second_name_without_a_reply_ends_a_look(self, dns):
        names = [f"{letter}.test" for letter in "abc"]
        for each in names[:2]:
            dns.silence(each)
        dns.prove("c.test")
        with pytest.raises(ExternalError, match="no reply"):
            dns.tenant().check(set(names))
        assert dns.names == [proof.name(each) for each in names[:2]]

    def test_names_without_a_reply_come_last(self, dns):
        dead = {f"a{number}.test" for number in range(60)}
        for each in dead:
            dns.silence(each)
        while dns.clock.now() < 1800:
            dns.clock.advance(dns.attempt(dead | {"z.test"}))
        dns.prove("z.test")
        published = dns.clock.now()
        while dns.shared.answers.of("shop", "z.test").standing is not Standing.PROVEN:
            dns.clock.advance(dns.attempt(dead | {"z.test"}))
            assert dns.clock.now() - published < 330

    def test_the_dead_zones_of_one_namespace_stop_no_other(self, dns):
        dead = {f"a{number}.test" for number in range(40)}
        for each in dead:
            dns.silence(each)
        for _ in range(10):
            dns.clock.advance(dns.attempt(dead, "thief"))
        dns.attempt(dead, "thief")
        dns.prove("ok.test", "victim")
        assert dns.attempt({"ok.test"}, "victim") is None

    def test_a_proof_that_is_too_old_waits_for_the_next_look(self, dns):
        domains = {f"d{number}.test" for number in range(60)}
        for each in domains:
            dns.prove(each)
        with pytest.raises(NotYet):
            dns.tenant().check(domains)
        dns.tenant().check(domains)
        dns.clock.advance(300)
        with pytest.raises(NotYet):
            dns.tenant().check(domains)
        dns.tenant().check(domains)
        assert dns.count == 120

    def test_slow_domains_get_in(self, dns):
        dns.seconds = 1.0
        domains = {f"d{number:03}.test" for number in range(400)}
        for each in domains:
            dns.prove(each)
        while (after := dns.attempt(domains)) is not None:
            dns.clock.advance(after)
            assert dns.clock.now() < 600
        assert dns.count == 400

    def test_no_pass_lets_a_proof_count_for_more_than_an_hour(self, dns):
        dns.prove("a.test")
        dns.attempt({"a.test"})
        domains = {"a.test"}
        for number in range(14):
            dns.prove(f"b{number}.test")
            domains.add(f"b{number}.test")
            dns.clock.advance(250)
            dns.attempt(domains)
        assert dns.names.count(proof.name("a.test")) == 1
        dns.clock.advance(100)
        del dns.texts[proof.name("a.test")]
        assert dns.attempt(domains) is not None

    def test_while_no_resolver_replies_one_asks_for_the_namespace(self, dns):
        for number in range(30):
            dns.silence(f"d{number}.test")
            with pytest.raises(NotYet if number >= 5 else ExternalError, match="no reply"):
                dns.tenant().check({f"d{number}.test"})
        assert dns.count == 5
        assert dns.shared.answers.of("shop", "d7.test") == UNKNOWN, "it was not looked up"
        dns.clock.advance(10)
        assert dns.attempt({"d8.test"})
        assert dns.attempt({"d9.test"}) == 10
        assert dns.count == 6
        dns.clock.advance(10)
        dns.prove("ok.test")
        dns.tenant().check({"ok.test"})
        dns.prove("more.test")
        dns.tenant().check({"more.test"})
        assert dns.count == 8

    def test_what_is_being_looked_for_is_told_before_the_creation(self, dns):
        domains = {f"d{number}.test" for number in range(60)}
        with pytest.raises(NotYet) as waits:
            dns.tenant().check(domains)
        assert [each.reason for each in waits.value.conditions] == ["DomainValidationPending"]
        dns.clock.advance(3600)
        with pytest.raises(NotYet) as waits:
            dns.tenant().check({f"e{number}.test" for number in range(60)}, serving=True)
        assert waits.value.conditions == ()

    def test_a_domain_too_long_for_a_proof_is_refused_without_a_look(self, dns):
        with pytest.raises(ExternalError, match="too long to be proven") as refusal:
            dns.tenant().check({LONG})
        assert (dns.count, refusal.value.retry.seconds) == (0, 300)
        dns.tenant().look({LONG})
        assert (dns.count, dns.tenant().lost({LONG})) == (0, ())

    def test_without_a_resolver_nothing_is_proven(self):
        tenant = TenantProofs(Managed(managed(domainProof=REQUIRED)), DomainProofs(FakeClock()), "i")
        with pytest.raises(ExternalError, match="no resolver is configured"):
            tenant.check({"a.test"})

    def test_a_tenant_that_serves_stays_ready(self, dns):
        with pytest.raises(ExternalError) as refusal:
            dns.tenant().check({"a.test"}, serving=True)
        assert refusal.value.conditions == ()


class TestLook:
    def test_a_proof_that_is_there_is_looked_for_once_in_the_check_interval(self, dns):
        dns.prove("a.test")
        for _ in range(20):
            dns.tenant().look({"a.test"})
            dns.clock.advance(4320)
        assert dns.count == 1
        dns.tenant().look({"a.test"})
        assert dns.count == 2

    def test_after_a_restart_a_stored_proof_waits_for_the_deep_check(self, dns):
        told = dict(zip(("name", "value"), dns.tenant()._key("a.test"), strict=True))
        stored = {"dnsInstructions": [{**told, "purpose": "Proof", "state": "Present"}]}
        dns.tenant(**stored).look({"a.test"})
        assert dns.count == 0
        dns.tenant(**stored).look({"a.test"}, deep=True)
        assert dns.count == 1

    def test_a_forged_state_lets_nothing_in(self, dns):
        told = dict(zip(("name", "value"), dns.tenant()._key("a.test"), strict=True))
        stored = {"dnsInstructions": [{**told, "purpose": "Proof", "state": "Present"}]}
        with pytest.raises(ExternalError):
            dns.tenant(**stored).check({"a.test"})

    @pytest.mark.parametrize(
        ("found", "state", "lost"),
        [
            (Texts((proof.value("i", "shop", "a.test"),)), RecordState.PRESENT, ()),
            (Texts(), RecordState.MISSING, ("a.test",)),
            (Texts((OTHER,)), RecordState.WRONG, ("a.test",)),
            (LookupFailed("SERVFAIL"), RecordState.UNKNOWN, ()),
        ],
    )
    def test_what_is_shown(self, dns, found, state, lost):
        dns.texts[proof.name("a.test")] = found
        tenant = dns.tenant()
        tenant.look({"a.test"})
        (shown,) = tenant.instructions({"a.test"})
        assert (shown.state, shown.purpose) == (state, RecordPurpose.PROOF)
        assert tenant.lost({"a.test"}) == lost

    @pytest.mark.parametrize(("stored", "lost"), [("Missing", ("a.test",)), ("Present", ())])
    def test_what_was_lost_stays_lost_while_dns_gives_no_answer(self, dns, stored, lost):
        told = dict(zip(("name", "value"), dns.tenant()._key("a.test"), strict=True))
        status = {"dnsInstructions": [{**told, "purpose": "Proof", "state": stored}]}
        dns.texts[proof.name("a.test")] = LookupFailed("SERVFAIL")
        tenant = dns.tenant(**status)
        tenant.look({"a.test"}, deep=True)
        assert tenant.lost({"a.test"}) == lost
        assert [each.state for each in tenant.instructions({"a.test"})] == [stored]

    def test_after_a_restart_all_are_looked_for_within_the_interval(self, dns):
        domains = [f"d{number:03}.test" for number in range(200)]
        status = dns.stored(domains, "Present")
        for each in domains:
            dns.prove(each)
        most = 0
        for _ in range(24 * 6):
            dns.clock.advance(600)
            before = dns.count
            dns.tenant(**status).look(domains)
            most = max(most, dns.count - before)
        assert (set(dns.names), dns.count) == ({proof.name(each) for each in domains}, 200)
        assert most < 10, "not all at once"

    def test_what_was_forgotten_has_its_time_once_in_an_interval(self, dns):
        dns.shared.answers = ProofAnswers(dns.clock, most=1)
        dns.prove("a.test")
        status = dns.stored(["a.test"], "Present")
        looked = set()
        for hour in range(72):
            before = dns.count
            dns.tenant(**status).look(["a.test"])
            looked |= {hour} if dns.count > before else set()
            dns.shared.answers.note("other", "b.test", Verdict(Standing.PROVEN))
            dns.clock.advance(3600)
        first = min(looked)
        expected = {first + day + hour for day in (0, 24, 48) for hour in range(6)}
        assert looked == {hour for hour in expected if hour < 72}

    def test_after_a_restart_a_share_of_the_interval_proves_nothing(self, dns):
        dns.clock.advance(100)
        assert dns.tenant(**dns.stored(["a.test"], "Present")).unproven({"a.test"}) == {"a.test"}

    def test_after_a_restart_what_was_lost_stays_lost_until_it_is_looked_for(self, dns):
        domains = [f"d{number:03}.test" for number in range(100)]
        tenant = dns.tenant(**dns.stored(domains, "Missing"))
        tenant.look(domains)
        assert (dns.count, len(tenant.lost(domains))) == (40, 100)

    def test_a_request_looks_first_for_what_is_not_proven(self, dns):
        domains = [f"a{number:02}.test" for number in range(60)]
        for each in domains:
            dns.prove(each)
        for _ in range(2):
            dns.tenant().look([*domains, "z.test"])
        dns.clock.advance(5)
        dns.prove("z.test")
        tenant = dns.tenant(requested="now")
        tenant.look([*domains, "z.test"])
        assert tenant.unproven({"z.test"}) == frozenset()

    def test_requests_one_after_the_other_look_once_in_five_seconds(self, dns):
        dns.prove("a.test")
        for number in range(10):
            dns.tenant(requested=f"{number}").look({"a.test"})
            dns.clock.advance(1)
        assert dns.count == 2

    def test_those_looked_up_least_recently_come_first(self, dns):
        domains = [f"d{number:02}.test" for number in range(60)]
        for _ in range(4):
            dns.tenant().look(domains)
            dns.clock.advance(300)
        assert min(dns.names.count(proof.name(each)) for each in domains) == 2

    def test_a_name_too_long_for_dns_is_not_shown(self, dns):
        assert dns.tenant().instructions({LONG}) == ()


class TestTurns:
    def test_a_namespace_has_half_of_the_look_ups_at_a_time(self):
        turns = LookupTurns(FakeClock())
        with ExitStack() as held:
            for namespace in ("a", "a", "b"):
                held.enter_context(turns.turn(namespace))
            with pytest.raises(NoTurn), turns.turn("a"):
                pass
            held.enter_context(turns.turn("b"))
            with pytest.raises(NoTurn), turns.turn("c"):
                pass
        with turns.turn("c"), turns.turn("c"):
            pass

    def test_what_waits_for_a_turn_keeps_its_verdict(self, dns):
        with dns.shared.turns.turn("b"), dns.shared.turns.turn("b"):
            with dns.shared.turns.turn("c"), dns.shared.turns.turn("c"), pytest.raises(NotYet) as waits:
                dns.tenant().check({"a.test"})
            assert (waits.value.after, dns.count) == (1, 0)
        dns.prove("a.test")
        dns.tenant().check({"a.test"})

    def test_one_look_up_tries_for_the_others_meanwhile(self):
        clock = FakeClock()
        turns = LookupTurns(clock)
        for _ in range(5):
            with pytest.raises(LookupFailed), turns.turn("a"):
                raise LookupFailed("no reply", silent=True)
        clock.advance(10)
        with turns.turn("a"):
            with pytest.raises(NoTurn) as why, turns.turn("a"):
                pass
            assert why.value.after == 10

    def test_the_memory_of_silence_is_bounded(self, monkeypatch):
        monkeypatch.setattr(lookup_turns, "_MOST_KNOWN", 3)
        turns = LookupTurns(FakeClock())
        for number in range(9):
            with pytest.raises(LookupFailed), turns.turn(f"n{number}"):
                raise LookupFailed("no reply", silent=True)
        assert len(turns._silences) == 3


def test_no_namespace_makes_the_provider_forget_the_domains_of_others():
    answers = ProofAnswers(FakeClock(), most=10)
    answers.note("victim", "v.test", Verdict(Standing.PROVEN))
    for number in range(50):
        answers.note("thief", f"d{number}.test", Verdict(Standing.MISSING))
    assert answers.of("victim", "v.test").standing is Standing.PROVEN
    assert answers.of("thief", "d49.test").standing is Standing.MISSING


def test_the_memory_is_bounded():
    answers = ProofAnswers(FakeClock(), most=3)
    for number in range(5):
        answers.note("shop", f"d{number}.test", Verdict(Standing.PROVEN))
    known = [answers.of("shop", f"d{number}.test").standing for number in range(5)]
    assert known == [Standing.UNKNOWN] * 2 + [Standing.PROVEN] * 3


def _status(state: str, purpose: str = "Proof") -> dict[str, object]:
    return {"dnsInstructions": [{"name": "n.test", "value": "v", "purpose": purpose, "state": state}]}


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ("Present", "Missing", ("n.test",)),
        ("Present", "Wrong", ("n.test",)),
        ("Present", "Unknown", ()),
        ("Missing", "Missing", ()),
        ("Unknown", "Missing", ()),
    ],
)
def test_which_proofs_are_lost(before, now, lost):
    assert dns_instructions.lost_proofs(_status(before), _status(now)) == lost


def test_a_missing_proof_makes_no_one_ask_cloudfront_more_often():
    proofs, routing = _status("Missing"), _status("Present", "Routing")
    both = {"dnsInstructions": [*proofs["dnsInstructions"], *routing["dnsInstructions"]]}
    assert dns_instructions.all_present(both)
    assert dns_instructions.of_cloudfront(both) == tuple(routing["dnsInstructions"])


@pytest.mark.parametrize(("of", "belongs"), [("*.acme.com", True), ("acme.com", False)])
def test_the_proof_of_a_wildcard_is_not_that_of_the_domain_above_it(dns, of, belongs):
    made = proof.instruction("i", "shop", of, UNKNOWN, RecordState.UNKNOWN)
    has = {"*.acme.com"}
    assert dns_instructions.belongs(made.to_json(), has, dns.tenant().keys(has)) is belongs
