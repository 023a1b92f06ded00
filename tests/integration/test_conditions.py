"""Every condition that a managed resource can show, reached on the real control plane and read with kubectl.

All cases live at once in one world, each with a script of its own (condition_cases.py). What each type may
say is compared with what the scripts see, so that no reason is forgotten.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import boto3
import pytest

from apis.conditions import CertificateReason, DeployedReason, DnsReason, InSyncReason, TenantReadyReason
from sandbox.world import World, WorldError
from tests.integration.claims import Claims
from tests.integration.condition_cases import CASES
from tests.integration.condition_scripts import (
    ACCOUNTS,
    BARE,
    LONG,
    SLOW,
    STRICT,
    TAKEN,
    Case,
    See,
    Stage,
    distribution_of,
)
from tests.integration.conftest import FAST, Departing
from tests.integration.test_certificates import admin
from tests.integration.watching import Object, Watch, condition, is_true

OWN = "123456789012"
NAMESPACE = "conditions"
SECONDS = 80.0
SETTINGS = {"empty_parameters_clear": False, "uncovered_domain_error": "accepted"}
"""Readings of what AWS does not say, by which updates change nothing and domains are not served."""

REASONS = {
    "Ready": {*TenantReadyReason} | {"Available", "Creating", "Deleting"},
    "Deployed": {*DeployedReason},
    "InSync": {*InSyncReason},
    "CertificateReady": {*CertificateReason},
    "DNSReady": {*DnsReason},
}
BY_MAKING_RECORDS = "the provider does not make DNS records yet"
NOT_HERE = {
    ("DNSReady", DnsReason.DNS_READY): BY_MAKING_RECORDS,
    ("DNSReady", DnsReason.DNS_RECORD_CREATING): BY_MAKING_RECORDS,
    ("DNSReady", DnsReason.DNS_PROPAGATING): BY_MAKING_RECORDS,
    ("CertificateReady", CertificateReason.RENEWAL_BLOCKED): "tests/contract/test_certificate_renewal.py "
    "has it: it takes most of a year",
    ("Ready", TenantReadyReason.RECREATION_HELD): "test_guards.py has it: many tenants have to go at once",
}


def seen_by_cases() -> dict[tuple[str, str], list[str]]:
    """(type, reason) → the cases that reach it."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in CASES:
        for step in case.script:
            for told in step.conditions if isinstance(step, See) else ():
                type_, _, rest = told.partition("=")
                found.setdefault((type_, rest.partition("/")[2]), []).append(case.name)
    return found


def test_no_reason_is_forgotten() -> None:
    every = {(type_, str(reason)) for type_, reasons in REASONS.items() for reason in reasons}
    reached = {told for told in seen_by_cases() if told[0] != "Synced"}
    assert reached - every == set(), "a reason that is not listed"
    unreachable = {(type_, str(reason)) for type_, reason in NOT_HERE}
    assert every - reached - unreachable == set(), "a reason that no case reaches"
    assert reached & unreachable == set(), "it is reached"


@dataclass
class Actor:
    """Plays one case and keeps its place among the states that were seen."""

    case: Case
    stage: Stage
    states: Callable[[str], list[Object]]
    """All states of a managed resource so far."""
    place: int = 0

    def play(self) -> None:
        for step in self.case.script:
            if isinstance(step, See):
                self.see(step)
            else:
                self.place = len(self.states(self.case.name))
                step(self.stage, self.case.name)
        if self.case.stays_ready:
            self.stayed_ready()
        self.was_consistent()

    def see(self, wanted: See) -> None:
        """Wait for the first state since the last act in which all of it is so."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            states = self.states(self.case.name)
            for place in range(self.place, len(states)):
                if told(states[place], wanted):
                    self.place = place
                    return
            time.sleep(0.1)
        raise AssertionError(f"{self.case.name} never showed {wanted.conditions}\n{self.describe()}")

    def stayed_ready(self) -> None:
        told_ready = [is_true(state, "Ready") for state in self.states(self.case.name)]
        assert all(told_ready[told_ready.index(True) :]), self.describe()

    def was_consistent(self) -> None:
        """Ready and Deployed tell the same story while a resource is disabled for its deletion, and what is
        not well says why."""
        for state in self.states(self.case.name):
            ready, deployed = condition(state, "Ready"), condition(state, "Deployed")
            if deployed.get("reason") == "Disabling" and is_true(state, "Synced"):
                assert ready["reason"] == "Disabling", self.describe()
            if ready.get("status") == "False" and ready["reason"] not in ("Creating", "Deleting"):
                assert ready["message"], self.describe()

    def describe(self) -> str:
        """What each state said, one line for each."""
        lines = []
        for number, state in enumerate(self.states(self.case.name)):
            said = [
                f"{c['type']}={c['status']}/{c['reason']} {c.get('message', '')[:90]}"
                for c in state.get("status", {}).get("conditions", [])
            ]
            lines.append(f"{number}{'<' * (number == self.place)} " + "; ".join(said))
        return "\n".join(lines)


def told(state: Object, wanted: See) -> bool:
    """Whether a state shows it. An error's words stand in Synced and in Ready."""
    for each in wanted.conditions:
        type_, _, rest = each.partition("=")
        found = condition(state, type_)
        if f"{found.get('status')}/{found.get('reason')}" != rest:
            return False
    first = condition(state, wanted.conditions[0].partition("=")[0])
    if wanted.says not in first.get("message", "") or not wanted.shows(state):
        return False
    if "Synced=False/ReconcileError" in wanted.conditions and not is_true(state, "Ready"):
        return condition(state, "Ready")["message"] in condition(state, "Synced")["message"]
    return True


def seed(world: World) -> None:
    """Accounts, distributions, and a tenant that a user made by hand."""
    covered = ["*.example.com"]
    plain = {"certificateDomains": covered, "parameters": [{"name": "tier"}]}
    strict = {"certificateDomains": covered, "parameters": [{"name": "colour", "required": True}]}
    own = [{"id": SLOW, **plain}, {"id": BARE, "parameters": []}, {"id": STRICT, **strict}]
    world.emulator.seed({"account": OWN, "distributions": own})
    admin(world, "PATCH", f"distributions/{SLOW}", {"tenantDeploySeconds": LONG})
    for name, account in ACCOUNTS.items():
        made = {"id": distribution_of(name), **plain}
        world.emulator.seed({"account": account.number, "distributions": [made]})
        for fault in account.faults:
            admin(world, "POST", "faults", {**fault, "account": account.number})
    world.emulator.change_settings(SETTINGS)
    cloudfront = boto3.client(
        "cloudfront",
        endpoint_url=world.emulator.endpoint,
        region_name="us-east-1",
        aws_access_key_id=OWN,
        aws_secret_access_key="any",
    )
    cloudfront.create_distribution_tenant(
        DistributionId="E1EDGETENANTS", Name=f"{NAMESPACE}.byhand", Domains=[{"Domain": TAKEN}]
    )


def configs() -> Iterator[Object]:
    for name, account in ACCOUNTS.items():
        keys = f"[default]\naws_access_key_id = {account.number}\naws_secret_access_key = any\n"
        metadata = {"name": name, "namespace": NAMESPACE}
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"credentials": keys},
        }
        yield {
            "apiVersion": "m.edgetenants.io/v1alpha1",
            "kind": "ProviderConfig",
            "metadata": metadata,
            "spec": {
                "credentials": {"source": "Secret", "secretRef": {"name": name, "key": "credentials"}},
                "rateLimits": {"cloudfront": 200, "acm": 200},
                "writes": account.writes,
            },
        }


def strike(world: World, claims: Claims, before: Object) -> None:
    """Leave the world as it was: what is gone from AWS, the provider lets go."""
    world.kubectl("delete", "edt,ecg", "--all", "-n", NAMESPACE, "--wait=false")
    world.emulator.clear_faults()
    world.emulator.change_settings(before)
    if protected := claims.get("group-protected", "ecg"):
        confirmed = f"edgetenants.io/confirm={protected['metadata']['uid'][:8]}"
        world.kubectl("annotate", "ecg", "group-protected", "-n", NAMESPACE, confirmed)
    for tenant in world.emulator.state()["tenants"]:
        if tenant["Name"].startswith(f"{NAMESPACE}."):
            # One that the provider deletes at this moment is gone, too.
            with contextlib.suppress(WorldError):
                world.emulator.remove_tenant(tenant["Id"])


def wait_gone(claims: Claims) -> None:
    claims.wait(
        "everything to go",
        lambda: not (claims.all_managed() or claims.reader.items("ecg", NAMESPACE)),
        # A resource whose creation met no clear answer waits two minutes for what may yet show.
        seconds=180,
    )
    claims.world.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def plays(world: World, departing: Departing) -> Iterator[dict[str, Future[None]]]:
    """All cases at once."""
    world.emulator.clear_faults()
    world.emulator.set_rate(FAST)
    settings = admin(world, "GET", "settings")
    before = {name: settings[name] for name in SETTINGS}
    claims = Claims(world, NAMESPACE)
    try:
        seed(world)
        claims.apply(*configs())
        with (
            Watch(world, "edt") as tenants,
            Watch(world, "ecg") as groups,
            ThreadPoolExecutor(len(CASES)) as pool,
        ):
            states = lambda name: tenants.of(name) or groups.of(name)  # noqa: E731
            stage = Stage(claims, lambda name: states(name)[-1])
            claims.apply(*(case.manifest(NAMESPACE) for case in CASES))
            actors = [Actor(case, stage, states) for case in CASES]
            yield {actor.case.name: pool.submit(actor.play) for actor in actors}
    finally:
        strike(world, claims, before)
        departing.add(lambda: wait_gone(claims))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_told(case: Case, plays: dict[str, Future[None]]) -> None:
    plays[case.name].result(timeout=SECONDS + 20)
