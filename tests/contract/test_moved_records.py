"""Records of domains that moved to another tenant: a live domain keeps them, and none leads to CloudFront
without a resource that knows of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION
from tests.contract.led import DNS, Led, Zone, dns_config, led
from tests.contract.test_records import MARK

MOVES, STAYS, OWN = "moves.example.com", "stays.example.com", "own.example.com"
CONFIRM = "edgetenants.io/confirm"
LEFT = {MOVES, f"{MARK}{MOVES}"}


@pytest.fixture
def zone(aws):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    return Zone(aws, "example.com")


class Pair:
    """A giver with two domains, and a taker with one."""

    def __init__(self, aws, zone, namespace="shop", dns=None, *, config=None) -> None:
        """`dns` and `config` are the taker's. They are of two processes."""
        self.aws, self.zone = aws, zone
        own = dns_config(aws, zone)
        self.giver = led(aws, own, MOVES, STAYS, name="gives")
        how = {"name": "takes", "namespace": namespace, "dns": dns}
        self.taker = led(aws, config or own, OWN, **how)
        for each in self.both:
            each.everyone = lambda: [one.mr for one in self.both if one.mr]  # type: ignore[method-assign]
        self.run(60)
        self.giver.edit({GIVE_ANNOTATION: f"{namespace}/{namespace}.takes"})

    @property
    def both(self) -> tuple[Led, Led]:
        return self.giver, self.taker

    def run(self, seconds: float, *only: Led, every: float = 10.0) -> None:
        """Both, or only one, while time passes."""
        for _ in range(int(seconds / every)):
            for each in only or self.both:
                if each.mr is not None:
                    each.reconcile()
            self.giver.pass_time(every)

    def move(self) -> None:
        """The domain moves; the giver does not list it any more."""
        id_ = self.giver.stored["status"]["atProvider"]["id"]
        self.taker.edit({TAKE_ANNOTATION: id_}, domains=[OWN, MOVES])
        self.run(60, self.taker)
        assert self.has(self.taker)

    def drop(self) -> None:
        self.giver.edit(domains=[STAYS])

    def has(self, one: Led) -> bool:
        return MOVES in {each["domain"] for each in one.stored["status"]["atProvider"]["domains"]}

    @property
    def names(self) -> set[str]:
        """All names in the zone."""
        return {name for name, _ in self.zone.records}

    @property
    def is_led(self) -> bool:
        return MOVES in self.names


@pytest.fixture
def pair(aws, zone) -> Pair:
    """The receiver, in the same namespace, has no `dns`."""
    pair = Pair(aws, zone)
    pair.move()
    pair.drop()
    return pair


@pytest.fixture
def strangers(aws, zone) -> Pair:
    """The receiver, in another namespace, has no `dns`."""
    pair = Pair(aws, zone, "other")
    pair.move()
    pair.drop()
    return pair


class TestNoDns:
    def test_they_stay_while_the_receiver_has_the_domain_and_go_after_it(self, pair):
        pair.run(1500, every=20)
        assert pair.is_led
        status, reason, message = pair.giver.told("DNSReady")
        assert (status, reason) == ("True", "DNSReady")
        assert f"The DNS records of {MOVES} in zone example.com belong to this resource" in message
        assert "DistributionTenant takes has the domain" in message
        pair.taker.delete()
        pair.run(900, every=20)
        assert pair.taker.mr is None
        assert not LEFT & pair.names
        assert pair.giver.told("DNSReady") == ("True", "DNSReady", "")
        assert MOVES not in str(pair.giver.instructions)

    def test_the_receiver_says_so_too(self, aws, zone):
        pair = Pair(aws, zone)
        pair.taker.join(pair.giver)
        pair.move()
        pair.drop()
        pair.run(180)
        status, reason, message = pair.taker.told("DNSReady")
        assert (status, reason) == ("True", "DNSNotConfigured")
        assert f"{MOVES} in zone example.com belong to DistributionTenant gives" in message
        pair.zone.empty(f"{MARK}{MOVES}")
        pair.run(1300, every=20)
        assert pair.taker.told("DNSReady") == ("True", "DNSNotConfigured", "")

    def test_at_rest_nothing_is_written_and_aws_is_asked_every_ten_minutes(self, pair):
        pair.run(300, every=20)
        pair.aws.admin("DELETE", "calls")
        before = len(pair.giver.writes)
        pair.run(3600, every=30)
        assert len(pair.giver.writes) == before
        assert 4 <= pair.aws.journal.count("GetDistributionTenantByDomain") <= 7

    def test_no_message_names_what_another_namespace_has(self, strangers):
        strangers.run(120)
        message = strangers.giver.told("DNSReady")[2]
        assert MOVES in message
        assert "another tenant has the domain" in message
        assert "takes" not in message
        assert strangers.taker.told("DNSReady") == ("True", "DNSNotConfigured", "")

    def test_those_that_a_stranger_leaves_go_too(self, strangers):
        strangers.run(120)
        strangers.taker.delete()
        strangers.run(900, every=20)
        assert strangers.taker.mr is None
        assert not LEFT & strangers.names

    def test_a_receiver_that_gets_dns_takes_them_over(self, pair):
        pair.run(60)
        pair.taker.edit(dns=DNS)
        pair.run(800, every=20)
        assert pair.taker.told("DNSReady") == ("True", "DNSReady", "")
        assert pair.giver.told("DNSReady") == ("True", "DNSReady", "")
        assert MOVES not in str(pair.giver.instructions)
        pair.giver.delete()
        pair.run(240)
        assert pair.giver.mr is None
        assert pair.is_led

    def test_the_records_of_a_receiver_in_another_zone_are_its_own(self, aws, zone):
        key = ProviderConfigKey("ClusterProviderConfig", "dns2", "")
        second = Zone(aws, "example.com")
        config = replace(dns_config(aws, second), key=key, uid="u-2")
        pair = Pair(aws, zone, dns={"configRef": {**DNS["configRef"], "name": "dns2"}}, config=config)
        pair.move()
        pair.drop()
        pair.run(300, every=20)
        assert pair.is_led
        assert (MOVES, "CNAME") in second.records
        assert "DistributionTenant takes has the domain" in pair.giver.told("DNSReady")[2]
        pair.taker.delete()
        pair.run(900, every=20)
        assert (MOVES, "CNAME") not in second.records
        assert not LEFT & pair.names

    def test_a_domain_that_moves_on_has_its_records_all_the_time(self, pair):
        third = led(pair.aws, dns_config(pair.aws, pair.zone), "third.example.com", name="third", dns=None)
        third.run(60)
        pair.run(60)
        pair.taker.edit(domains=[OWN])
        pair.run(20, pair.taker)
        for _ in range(4):
            pair.giver.reconcile()
            pair.giver.pass_time(10)
        third.edit(domains=["third.example.com", MOVES])
        third.run(60)
        assert pair.has(third)
        pair.run(1200, every=20)
        assert pair.is_led

    def test_a_stranger_who_only_lists_the_domain_keeps_no_record(self, pair):
        lister = led(
            pair.aws, dns_config(pair.aws, pair.zone), MOVES, name="lists", namespace="evil", dns=None
        )
        everyone = lambda: [one.mr for one in (*pair.both, lister) if one.mr]  # noqa: E731
        pair.giver.everyone = pair.taker.everyone = everyone  # type: ignore[method-assign]
        pair.run(60)
        pair.taker.delete()
        pair.run(900, every=20)
        assert not LEFT & pair.names

    def test_records_that_a_person_leads_elsewhere_are_let_go(self, pair):
        pair.run(60)
        pair.zone.put(MOVES, "CNAME", "new.example.net")
        pair.run(1500, every=30)
        assert pair.zone.records[MOVES, "CNAME"] == "new.example.net"
        assert f"{MARK}{MOVES}" not in pair.names
        assert pair.giver.told("DNSReady") == ("True", "DNSReady", "")


class TestGiverGoes:
    def test_its_deletion_waits_says_why_and_ends_when_the_domain_is_free(self, pair):
        pair.giver.delete()
        pair.run(300)
        assert pair.giver.mr is not None
        assert pair.names == LEFT, "its own records are gone, and the live domain has its own"
        assert [each["Name"] for each in pair.aws.tenants] == ["shop.takes"]
        assert pair.giver.told("Ready")[:2] == ("False", "DeletionHeld")
        status, reason, message = pair.giver.told("DNSReady")
        assert (status, reason) == ("False", "DNSError")
        assert f"{MOVES} in zone example.com" in message
        assert "DistributionTenant takes has the domain" in message
        pair.taker.delete()
        pair.run(400)
        assert (pair.giver.mr, pair.taker.mr, pair.zone.records) == (None, None, {})

    def test_one_that_still_lists_the_domain_does_not_darken_it(self, aws, zone):
        pair = Pair(aws, zone)
        pair.move()
        pair.run(60)
        assert pair.giver.told("Ready")[:2] == ("False", "DomainConflict")
        pair.giver.delete()
        pair.run(300)
        assert pair.names == LEFT
        assert pair.giver.told("Ready")[:2] == ("False", "DeletionHeld")

    def test_a_user_may_let_the_records_stay(self, pair):
        pair.giver.delete()
        pair.run(240)
        token = pair.giver.told("Ready")[2].rpartition(f"{CONFIRM} to ")[2].rstrip(".")
        assert token.startswith("leave-records-")
        pair.giver.edit({CONFIRM: "leave-records-other"})
        pair.run(120)
        assert pair.giver.mr is not None
        pair.giver.edit({CONFIRM: token})
        pair.giver.restart()
        pair.run(120)
        assert pair.giver.mr is None
        assert pair.names == LEFT

    def test_without_dns_in_its_spec_they_stay(self, pair):
        pair.giver.delete()
        pair.run(240)
        pair.giver.edit(dns=None)
        pair.run(120)
        assert pair.giver.mr is None
        assert pair.names == LEFT

    @pytest.mark.parametrize("namespace", ["shop", "other"])
    def test_before_the_receiver_has_changed_the_mark(self, aws, zone, namespace):
        pair = Pair(aws, zone, namespace, dns=DNS)
        denied = aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", status=500)
        pair.move()
        pair.drop()
        pair.giver.delete()
        pair.run(60)
        aws.admin("DELETE", f"faults/{denied}")
        pair.run(400)
        assert pair.giver.mr is None
        assert pair.is_led
        assert pair.taker.told("DNSReady")[0] == "True"
        pair.taker.delete()
        pair.run(240)
        assert (pair.taker.mr, pair.zone.records) == (None, {})

    def test_the_owner_of_the_zone_may_end_it(self, pair):
        pair.giver.delete()
        pair.run(200)
        pair.zone.empty(f"{MARK}{MOVES}")
        pair.run(900, every=20)
        assert pair.giver.mr is None
        assert pair.names == {MOVES}, "it is another one's now"


class TestGiverIsHeldBack:
    def test_a_paused_one_cleans_up_when_it_goes_on(self, aws, zone):
        pair = Pair(aws, zone, "other")
        pair.move()
        pair.giver.edit({"crossplane.io/paused": "true"})
        pair.drop()
        pair.run(60)
        pair.taker.delete()
        pair.run(600, every=20)
        assert pair.taker.mr is None
        assert pair.is_led
        pair.giver.restart()
        pair.giver.edit({"crossplane.io/paused": "false"})
        pair.run(240)
        assert not LEFT & pair.names

    def test_a_consent_that_is_withdrawn_after_the_move_changes_nothing(self, aws, zone):
        pair = Pair(aws, zone, "other", dns=DNS)
        denied = aws.fault("ChangeResourceRecordSets", every=True, code="InternalError", status=500)
        pair.move()
        pair.giver.edit({GIVE_ANNOTATION: ""})
        pair.drop()
        aws.admin("DELETE", f"faults/{denied}")
        pair.run(300, every=20)
        assert pair.is_led
        assert pair.taker.told("DNSReady")[:2] == ("False", "DNSError")
        assert "another tenant has the domain" in pair.giver.told("DNSReady")[2]
        pair.taker.delete()
        pair.run(900, every=20)
        assert pair.taker.mr is None
        assert not LEFT & pair.names

    def test_nor_does_one_after_the_receiver_has_the_mark(self, aws, zone):
        pair = Pair(aws, zone, "other", dns=DNS)
        pair.move()
        pair.run(60)
        pair.giver.edit({GIVE_ANNOTATION: ""})
        pair.drop()
        pair.run(300, every=20)
        assert pair.taker.told("DNSReady") == ("True", "DNSReady", "")
        assert pair.giver.told("DNSReady") == ("True", "DNSReady", "")

    def test_frozen_writes_remove_nothing(self, pair):
        pair.run(60)
        spec = pair.giver.configs.dns.spec
        pair.giver.configs.dns = replace(pair.giver.configs.dns, spec={**spec, "writes": "Frozen"})
        pair.giver.restart()
        pair.taker.delete()
        pair.run(600, every=20)
        assert pair.is_led


class TestFaults:
    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize(
        "operation",
        ["ChangeResourceRecordSets", "ListResourceRecordSets", "GetChange", "GetDistributionTenantByDomain"],
    )
    def test_a_failed_call_changes_nothing_in_the_end(self, pair, operation, when):
        pair.taker.delete()
        for nth in (1, 2):
            pair.aws.fault(operation, nth=nth, when=when, code="InternalError", message="oops", status=500)
        pair.run(1500, every=20)
        assert not LEFT & pair.names
        assert pair.giver.told("Synced")[0] == "True"

    def test_a_new_process_at_each_reconcile_ends_the_same(self, pair):
        pair.taker.delete()
        for _ in range(40):
            pair.giver.restart()
            pair.run(70, every=70)
            if pair.taker.mr is not None:
                assert pair.is_led
        # Each process looks twice before it removes them, so one has to live for a minute.
        pair.run(200)
        assert not LEFT & pair.names

    def test_a_tenant_that_may_not_be_looked_for_keeps_them(self, pair):
        pair.aws.fault("GetDistributionTenantByDomain", every=True, code="AccessDenied", status=403)
        pair.run(700, every=20)
        assert "the provider may not ask AWS whether another tenant has" in pair.giver.told("DNSReady")[2]
        pair.taker.delete()
        pair.run(700, every=20)
        assert pair.is_led
