"""Domains that need a proof: a TXT record of their owner, for one namespace. Without it, no tenant gets
them; what a tenant has, it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from provider.cloudfront.clients import connector
from provider.cloudfront.domain import proof, tenant_proofs
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.domain.tenant_proofs import DomainProofs
from provider.cloudfront.domain.text_lookup import Resolvers
from tests.contract.dns.answering import HOST, Answering, answering
from tests.contract.emulated import DISTRIBUTION
from tests.contract.led import Led
from tests.unit.provider.world import INSTALLATION, managed

NO_RULES = Rules()
REQUIRED = {"mode": "Required"}
SHOP = "shop.acme.com"
CREATE, UPDATE = "CreateDistributionTenant", "UpdateDistributionTenant"


@pytest.fixture
def dns():
    with answering() as server:
        yield server


class Proven(Led):
    """A tenant of a provider that asks this DNS server."""

    def __init__(self, aws: Any, dns: Answering, obj: dict[str, Any], rules: Rules) -> None:
        self.dns_server, self.rules = dns, rules
        self.neighbours: list[Proven] = []
        super().__init__(aws, None, obj)

    def _connect(self) -> connector.TenantConnector:
        lookup = Resolvers([(HOST, self.dns_server.port)])
        return connector.TenantConnector(
            self.configs,
            self.accounts,
            installation=self.installation,
            everyone=self.everyone,
            poll_seconds=60.0,
            proofs=DomainProofs(self.aws.clock, lookup, self.rules),
        )

    def everyone(self) -> Any:
        return [each.mr for each in (self, *self.neighbours) if each.mr]

    @property
    def proofs(self) -> dict[str, dict[str, Any]]:
        """The instructions with that purpose, by value."""
        return {each["value"]: each for each in self.instructions if each["purpose"] == "Proof"}


def tenant(
    aws: Any,
    dns: Answering,
    *domains: str,
    namespace: str = "shop",
    name: str = "acme",
    rules: Rules = NO_RULES,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Proven:
    obj = managed(
        {"distributionId": DISTRIBUTION, "domains": list(domains), "parameters": {"tenantName": name}},
        uid=f"uid-{namespace}-{name}",
        annotations={"crossplane.io/external-name": f"{namespace}.{name}", **(annotations or {})},
        **({"domainProof": REQUIRED} | spec),
    )
    obj["metadata"] |= {"name": name, "namespace": namespace}
    return Proven(aws, dns, obj, rules)


def prove(dns: Answering, domain: str, namespace: str = "shop") -> str:
    """The owner of the domain publishes the record; its value."""
    value = proof.value(INSTALLATION, namespace, domain)
    dns.texts.setdefault(proof.name(domain), []).append(value)
    return value


def calls(aws: Any, operation: str) -> int:
    return aws.journal.count(operation)


def domains(aws: Any, name: str) -> set[str]:
    """The domains of a tenant in AWS."""
    return set(aws.calls.get_tenant(name).domains)


class TestCreation:
    def test_without_a_proof_nothing_is_created_and_the_record_is_shown(self, aws, dns):
        acme = tenant(aws, dns, SHOP)
        acme.run(600, every=20)
        assert calls(aws, CREATE) == 0
        status, reason, message = acme.told("Ready")
        assert (status, reason) == ("False", "DomainValidationPending")
        assert SHOP in message
        assert "status.dnsInstructions" in message
        value = proof.value(INSTALLATION, "shop", SHOP)
        shown = acme.proofs[value]
        assert (shown["type"], shown["name"], shown["state"]) == (
            "TXT",
            f"_edgetenants-proof.{SHOP}",
            "Missing",
        )
        assert dns.asked[proof.name(SHOP)] <= 8, "looks come less and less often"

    def test_with_the_proof_it_is_created(self, aws, dns):
        prove(dns, SHOP)
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 1
        assert acme.told("Ready")[0] == "True"
        assert [each["state"] for each in acme.proofs.values()] == ["Present"]

    def test_a_proof_that_comes_later_is_seen_within_five_minutes(self, aws, dns):
        acme = tenant(aws, dns, SHOP)
        acme.run(3600, every=30)
        prove(dns, SHOP)
        acme.run(330, every=10)
        assert acme.told("Ready")[0] == "True"

    def test_not_required_nobody_asks_dns(self, aws, dns):
        acme = tenant(aws, dns, SHOP, domainProof={"mode": "NotRequired"})
        acme.run(60)
        assert (acme.told("Ready")[0], dict(dns.asked), acme.proofs) == ("True", {}, {})

    def test_a_proof_stands_beside_other_values(self, aws, dns):
        dns.texts[proof.name(SHOP)] = ["v=spf1 -all", "other-vendor=1"]
        prove(dns, SHOP, "elsewhere")
        prove(dns, SHOP)
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert acme.told("Ready")[0] == "True"

    def test_of_two_domains_both_are_to_be_proven(self, aws, dns):
        prove(dns, SHOP)
        acme = tenant(aws, dns, SHOP, "www.acme.com")
        acme.run(60)
        assert calls(aws, CREATE) == 0
        message = acme.told("Ready")[2]
        assert "www.acme.com" in message
        assert SHOP not in message
        assert sorted(each["state"] for each in acme.proofs.values()) == ["Missing", "Present"]

    def test_many_domains_are_looked_up_in_several_passes(self, aws, dns):
        domains = [f"d{number}.acme.com" for number in range(90)]
        for each in domains:
            prove(dns, each)
        acme = tenant(aws, dns, *domains)
        acme.run(60)
        assert acme.told("Ready")[0] == "True"
        assert max(dns.asked.values()) == 1


class TestOfOthers:
    def test_the_value_of_another_namespace_proves_nothing_and_names_no_one(self, aws, dns):
        stolen = prove(dns, SHOP, "shop")
        other = tenant(aws, dns, SHOP, namespace="thief", name="other")
        other.run(120)
        assert calls(aws, CREATE) == 0
        assert stolen not in other.proofs, "its own value is another one"
        (shown,) = other.proofs.values()
        assert shown["state"] == "Wrong"
        words = str(other.stored["status"]) + str(other.journal)
        assert "shop" not in words.replace(SHOP, "").replace("shop.acme", "")

    def test_the_value_of_another_domain_proves_nothing(self, aws, dns):
        value = proof.value(INSTALLATION, "shop", "acme.com")
        dns.texts[proof.name(SHOP)] = [value]
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 0

    def test_the_value_of_another_installation_proves_nothing(self, aws, dns):
        dns.texts[proof.name(SHOP)] = [proof.value("cluster-2", "shop", SHOP)]
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 0

    def test_a_proof_of_the_parent_covers_no_other_name(self, aws, dns):
        prove(dns, "acme.com")
        prove(dns, "*.acme.com")
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 0


class TestNames:
    def test_a_wildcard_is_proven_at_its_parent_with_a_value_of_its_own(self, aws, dns):
        acme = tenant(aws, dns, "*.acme.com")
        prove(dns, "acme.com")
        acme.run(60)
        assert calls(aws, CREATE) == 0
        (shown,) = acme.proofs.values()
        assert (shown["name"], shown["state"]) == ("_edgetenants-proof.acme.com", "Wrong")
        dns.texts[shown["name"]].append(shown["value"])
        acme.run(120)
        assert acme.told("Ready")[0] == "True"

    def test_an_international_name(self, aws, dns):
        domain = "xn--bcher-kva.acme.com"
        prove(dns, domain)
        acme = tenant(aws, dns, domain)
        acme.run(60)
        assert acme.told("Ready")[0] == "True"
        assert dns.asked[f"_edgetenants-proof.{domain}"] == 1

    def test_an_alias_proves_nothing(self, aws, dns):
        value = prove(dns, SHOP)
        dns.texts["mine.example.net"] = dns.texts.pop(proof.name(SHOP))
        dns.aliases[proof.name(SHOP)] = "mine.example.net"
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 0
        assert acme.proofs[value]["state"] == "Wrong"
        assert acme.proofs[value]["found"] == "an alias of mine.example.net"

    def test_exempt_domains_need_none(self, aws, dns):
        spec = {"mode": "Required", "exempt": ["{namespace}.example.com"]}
        acme = tenant(aws, dns, "shop.example.com", domainProof=spec)
        acme.run(60)
        assert calls(aws, CREATE) == 1
        assert not dns.asked
        other = tenant(aws, dns, "other.example.com", name="b", domainProof=spec)
        other.run(60)
        assert calls(aws, CREATE) == 1


class TestFlag:
    def test_the_flag_asks_for_a_proof_whatever_the_spec_says(self, aws, dns):
        loose = {"mode": "NotRequired", "exempt": ["**.acme.com"]}
        acme = tenant(aws, dns, SHOP, rules=Rules(required=True), domainProof=loose)
        acme.run(60)
        assert calls(aws, CREATE) == 0
        prove(dns, SHOP)
        acme.run(120)
        assert calls(aws, CREATE) == 1

    def test_only_the_flag_names_exceptions(self, aws, dns):
        rules = Rules(required=True, exempt=("*.acme.com",))
        strict = {"mode": "Required"}
        acme = tenant(aws, dns, SHOP, rules=rules, domainProof=strict)
        acme.run(60)
        assert calls(aws, CREATE) == 1
        assert not dns.asked


class TestFailures:
    @pytest.mark.parametrize("code", ["SERVFAIL", "REFUSED"])
    def test_an_error_is_no_proof_and_no_refusal(self, aws, dns, code):
        prove(dns, SHOP)
        dns.codes[proof.name(SHOP)] = code
        acme = tenant(aws, dns, SHOP)
        acme.run(120)
        assert calls(aws, CREATE) == 0
        assert code in acme.told("Ready")[2]
        assert [each["state"] for each in acme.proofs.values()] == ["Unknown"]
        del dns.codes[proof.name(SHOP)]
        acme.run(330, every=10)
        assert acme.told("Ready")[0] == "True"

    def test_no_reply_is_no_proof_and_the_others_do_not_wait_for_it(self, aws, dns, monkeypatch):
        monkeypatch.setattr(tenant_proofs, "_LOOKUP_SECONDS", 0.2)
        for each in ("a.acme.com", SHOP):
            prove(dns, each)
        dns.silent.add(proof.name("a.acme.com"))
        acme = tenant(aws, dns, "a.acme.com", SHOP)
        acme.run(60)
        assert calls(aws, CREATE) == 0
        assert "no resolver replied in time" in acme.told("Ready")[2]
        assert dns.asked[proof.name(SHOP)] == 1
        dns.silent.clear()
        acme.run(330, every=10)
        assert acme.told("Ready")[0] == "True"

    def test_a_truncated_answer_is_asked_for_again(self, aws, dns):
        prove(dns, SHOP)
        dns.truncated.add(proof.name(SHOP))
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert acme.told("Ready")[0] == "True"


class TestServed:
    @pytest.fixture
    def acme(self, aws, dns) -> Proven:
        prove(dns, SHOP)
        acme = tenant(aws, dns, SHOP)
        acme.run(60)
        assert acme.told("Ready")[0] == "True"
        return acme

    def test_a_lost_proof_is_told_and_nothing_else(self, acme, aws, dns):
        dns.texts.clear()
        before = calls(aws, UPDATE)
        acme.run(25 * 3600, every=600)
        assert acme.told("Ready")[0] == "True"
        assert calls(aws, UPDATE) == before
        assert calls(aws, "DeleteDistributionTenant") == 0
        assert [each["state"] for each in acme.proofs.values()] == ["Missing"]
        assert SHOP in acme.told("DNSReady")[2]
        assert acme.told("DNSReady")[0] == "True"
        assert sum("DNS no longer has the proofs" in each for each in acme.recorder.messages) == 1
        prove(dns, SHOP)
        acme.run(700, every=60)
        assert acme.told("DNSReady")[2] == ""
        assert [each["state"] for each in acme.proofs.values()] == ["Present"]

    def test_after_a_loss_new_domains_wait_and_the_others_stay(self, acme, aws, dns):
        dns.texts.clear()
        acme.edit(domains=[SHOP, "new.acme.com"])
        acme.run(120)
        assert domains(aws, "shop.acme") == {SHOP}
        synced = acme.told("Synced")
        assert synced[0] == "False"
        assert "new.acme.com" in synced[2]
        prove(dns, "new.acme.com")
        acme.run(330, every=10)
        assert domains(aws, "shop.acme") == {SHOP, "new.acme.com"}

    def test_what_is_proven_does_not_wait_for_what_is_not(self, acme, aws, dns):
        prove(dns, "b.acme.com")
        acme.edit(domains=[SHOP, "a.acme.com", "b.acme.com"])
        acme.run(60)
        assert domains(aws, "shop.acme") == {SHOP, "b.acme.com"}

    def test_a_restart_changes_no_value_and_asks_no_more(self, acme, aws, dns):
        before, asked = acme.proofs, sum(dns.asked.values())
        acme.restart()
        acme.run(60)
        assert acme.proofs == before
        assert sum(dns.asked.values()) == asked

    def test_one_that_is_created_again_has_the_same_value(self, acme, aws, dns):
        before = set(acme.proofs)
        acme.delete()
        acme.run(120)
        again = tenant(aws, dns, SHOP)
        again.stored["metadata"]["uid"] = "uid-2"
        again.run(60)
        assert set(again.proofs) == before
        assert again.told("Ready")[0] == "True"

    def test_a_request_to_reconcile_looks_at_once(self, acme, dns):
        dns.texts.clear()
        acme.edit(annotations={"crossplane.io/reconcile-requested-at": "2026-01-01T00:00:00Z"})
        acme.run(10)
        assert [each["state"] for each in acme.proofs.values()] == ["Missing"]


class TestMoves:
    def test_a_move_needs_the_receivers_proof(self, aws, dns):
        prove(dns, SHOP)
        prove(dns, "own.acme.com", "team-b")
        prove(dns, "stays.acme.com")
        giver = tenant(aws, dns, SHOP, "stays.acme.com")
        giver.run(60)
        taker = tenant(aws, dns, "own.acme.com", namespace="team-b", name="b")
        taker.run(60)
        giver.neighbours, taker.neighbours = [taker], [giver]
        id_ = giver.stored["status"]["atProvider"]["id"]
        giver.edit({"edgetenants.io/give-domains-to": "team-b/team-b.b"})
        aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
        taker.edit({"edgetenants.io/take-domains-from": id_}, domains=["own.acme.com", SHOP])
        taker.run(60)
        assert calls(aws, "UpdateDomainAssociation") == 0
        assert "with purpose Proof" in taker.told("Synced")[2]
        prove(dns, SHOP, "team-b")
        taker.run(330, every=10)
        assert calls(aws, "UpdateDomainAssociation") == 1
        assert domains(aws, "team-b.b") == {"own.acme.com", SHOP}
        assert domains(aws, "shop.acme") == {"stays.acme.com"}


class TestAdoption:
    @pytest.fixture
    def taker(self, aws, dns) -> Proven:
        """Adopts a tenant that another team left in AWS, and lists only one of its two domains."""
        left = tenant(
            aws,
            dns,
            SHOP,
            "more.acme.com",
            domainProof={"mode": "NotRequired"},
            managementPolicies=["Observe", "Create", "Update", "LateInitialize"],
        )
        left.run(60)
        id_ = left.stored["status"]["atProvider"]["id"]
        left.delete()
        left.run(60)
        seen = aws.calls.get_tenant(id_)
        aws.calls.untag(seen.arn, set(aws.calls.tags(seen.arn)))
        aws.admin("DELETE", "calls")
        return tenant(
            aws,
            dns,
            SHOP,
            namespace="team-b",
            name="b",
            annotations={"crossplane.io/external-name": id_, "edgetenants.io/adopt": id_},
        )

    def test_who_adopts_a_tenant_proves_all_domains_that_it_has(self, taker, aws, dns):
        taker.run(60)
        assert calls(aws, "TagResource") == 0
        prove(dns, SHOP, "team-b")
        taker.run(330, every=10)
        assert calls(aws, "TagResource") == 0, "the spec alone says nothing of what it has"
        prove(dns, "more.acme.com", "team-b")
        taker.run(330, every=10)
        assert calls(aws, "TagResource") >= 1


class TestRehearsal:
    @pytest.mark.parametrize("proven", [True, False])
    def test_it_shows_what_the_proofs_let_in(self, aws, dns, proven):
        if proven:
            prove(dns, SHOP)
        acme = tenant(aws, dns, SHOP, annotations={"edgetenants.io/dry-run": "true"})
        acme.run(60)
        planned = [each.get("operation", "") for each in acme.stored["status"].get("plannedActions") or ()]
        assert any(each.endswith(CREATE) for each in planned) is proven, acme.stored["status"]
        assert dns.asked[proof.name(SHOP)] >= 1
        assert calls(aws, CREATE) == 0
