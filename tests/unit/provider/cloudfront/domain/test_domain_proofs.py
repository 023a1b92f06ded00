"""Which domains need a proof, what proves them, and how often DNS is asked."""

from __future__ import annotations

import pytest

from apis.dns import RecordPurpose, RecordState
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet, RetryMode
from edgetenants_runtime.managed import Managed
from provider.cloudfront.domain import dns_instructions, proof
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.domain.tenant_proofs import DomainProofs, TenantProofs
from provider.cloudfront.domain.text_lookup import LookupFailed, Texts, server
from provider.cloudfront.memory.proof_answers import ProofAnswers, Standing, Verdict
from tests.unit.provider.world import managed

REQUIRED = {"mode": "Required"}


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
    ],
)
def test_the_address_of_a_resolver(written, read):
    assert server(written) == read


@pytest.mark.parametrize("written", ["dns.example", "192.0.2.1:0", "192.0.2.1:x", "192.0.2.1:70000", ""])
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

    def tenant(self, held: tuple[str, ...] = (), **status: object) -> TenantProofs:
        obj = {**managed(), "status": status}
        return TenantProofs(
            Managed(obj), self.shared, "i", lambda _, domains: frozenset(domains) & frozenset(held)
        )

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
        other = dns.tenant()
        other.mr.raw["metadata"]["namespace"] = "team-b"
        other.check({"a.test"})
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

    def test_without_a_reply_it_stops_and_then_asks_for_the_others_first(self, dns):
        dns.texts[proof.name("a.test")] = LookupFailed("no reply", silent=True)
        dns.prove("b.test")
        for _ in range(2):
            before = dns.count
            with pytest.raises(ExternalError) as refusal:
                dns.tenant().check({"a.test", "b.test"})
            assert "no reply" in refusal.value.message
            if not before:
                assert dns.count == 1
            dns.clock.advance(refusal.value.retry.seconds)
        assert dns.names == [proof.name(each) for each in ("a.test", "b.test", "a.test")]

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

    def test_while_no_resolver_replies_one_asks_for_all(self, dns):
        for number in range(30):
            dns.texts[proof.name(f"d{number}.test")] = LookupFailed("no reply", silent=True)
            with pytest.raises(ExternalError):
                dns.tenant().check({f"d{number}.test"})
        assert dns.count == 5
        dns.clock.advance(10)
        dns.prove("ok.test")
        dns.tenant().check({"ok.test"})
        dns.prove("more.test")
        dns.tenant().check({"more.test"})
        assert dns.count == 7

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

    def test_a_name_too_long_for_dns_is_not_shown(self, dns):
        assert dns.tenant().instructions({f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 50}.test"}) == ()


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
