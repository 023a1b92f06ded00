"""Management and deletion policies on a real control plane: each combination on both scopes, calls counted.

All resources live at once in one world in which the cluster-scoped kinds are active too:

    created under [*] ──▶ policies set and spec changed ──▶ deleted ──▶ gone, orphaned or held
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from apis import kinds
from sandbox.world import Options, World
from tests.integration.conftest import CACHE, FAST, ROOT
from tests.integration.reading import reader
from tests.integration.watching import Object, condition, is_true

NAMESPACE = "contract"
READING = ("Get", "List", "Describe", "Verify")
OB, CR, UP, DE, LI = "Observe", "Create", "Update", "Delete", "LateInitialize"
COMBINATIONS: dict[tuple[str, ...], tuple[bool, bool, bool]] = {
    # policies: creates, updates, deletes
    ("*",): (True, True, True),
    (OB, CR, UP, DE, LI): (True, True, True),
    (OB, CR, UP, DE): (True, True, True),
    (OB, CR, UP, LI): (True, True, False),
    (OB, CR, UP): (True, True, False),
    (OB, CR, DE, LI): (True, False, True),
    (OB, CR, LI): (True, False, False),
    (OB, CR, DE): (True, False, True),
    (OB, CR): (True, False, False),
    (OB, DE): (False, False, True),
    (OB, LI): (False, False, False),
    (OB, UP): (False, True, False),
    (OB, UP, LI): (False, True, False),
    (OB,): (False, False, False),
    (): (False, False, False),
}
REFUSED = ((CR,), (UP, DE), ("*", OB))


@dataclass(frozen=True)
class Subject:
    """One managed resource and what may be done for it."""

    name: str
    cluster: bool
    policies: tuple[str, ...]
    deletion_policy: str = ""

    @property
    def creates(self) -> bool:
        return COMBINATIONS[self.policies][0]

    @property
    def updates(self) -> bool:
        return COMBINATIONS[self.policies][1]

    @property
    def deletes(self) -> bool:
        """The deletion table: the deletion policy counts under the default management policies alone."""
        if self.policies == ("*",):
            return self.deletion_policy != "Orphan"
        return COMBINATIONS[self.policies][2]

    @property
    def paused(self) -> bool:
        return not self.policies

    @property
    def resource(self) -> str:
        return "ledt" if self.cluster else "edt"

    def manifest(self, policies: tuple[str, ...], tier: str = "standard") -> Object:
        kind = kinds.LEGACY_DISTRIBUTION_TENANT if self.cluster else kinds.DISTRIBUTION_TENANT
        metadata = {"name": self.name} | ({} if self.cluster else {"namespace": NAMESPACE})
        spec: Object = {
            "managementPolicies": list(policies),
            "forProvider": {
                "distributionId": "E1EDGETENANTS",
                "domains": [f"{self.name}.example.com"],
                "parameters": {"tier": tier},
            },
        }
        if self.deletion_policy:
            spec["deletionPolicy"] = self.deletion_policy
        return {
            "apiVersion": f"{kind.group}/{kinds.VERSION}",
            "kind": kind.kind,
            "metadata": metadata,
            "spec": spec,
        }


def subjects(prefix: str) -> list[Subject]:
    """Each combination in a namespace, and in the cluster under each deletion policy."""
    found = []
    for number, policies in enumerate(COMBINATIONS):
        found.append(Subject(f"{prefix}-n{number}", False, policies))
        found += [
            Subject(f"{prefix}-c{number}-{word.lower()}", True, policies, word)
            for word in ("Delete", "Orphan")
        ]
    return found


class Contract:
    """The world, and words for what is looked at in it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def apply(self, *objects: Object) -> None:
        self.world.kubectl("apply", "-f", "-", input="\n---\n".join(json.dumps(o) for o in objects))

    def delete(self, *of: Subject) -> None:
        for resource in ("edt", "ledt"):
            names = [s.name for s in of if s.resource == resource]
            where = ("-n", NAMESPACE) if resource == "edt" else ()
            if names:
                self.world.kubectl("delete", resource, *names, *where, "--wait=false")

    def all(self) -> dict[str, Object]:
        """Every managed resource of both scopes, by name."""
        found = [each for kind in ("edt", "ledt") for each in reader(self.world.kubeconfig).items(kind)]
        return {each["metadata"]["name"]: each for each in found}

    def tenants(self) -> dict[str, Object]:
        return {t["Name"]: t for t in self.world.emulator.state()["tenants"]}

    def now(self) -> int:
        return int(self.world.emulator.calls()["total"])

    def calls(self, operation: str, since: int) -> set[str]:
        """The tenants, by id or name, for which the operation was called."""
        calls = self.world.emulator.calls(since=since)["calls"]
        return {c["target"] for c in calls if c["operation"] == operation}

    def wait(self, what: str, of: list[Subject], until: Callable[[Object], Any], seconds: float = 90) -> None:
        """Wait until it holds for all; the failure names those for which it does not."""
        missing: list[str] = []

        def look() -> bool:
            everything = self.all()
            missing[:] = [s.name for s in of if not until(everything.get(s.name, {}))]
            return not missing

        try:
            self.world.wait_for(what, look, seconds=seconds, every=0.5)
        except Exception as error:
            raise AssertionError(f"{error}\n{what}: not {missing}\n{self.describe(missing)}") from error

    def describe(self, names: list[str]) -> str:
        everything = self.all()
        return "\n".join(
            f"{name} {c['type']}={c['status']}/{c['reason']} {c.get('message', '')}"
            for name in names[:5]
            for c in everything.get(name, {}).get("status", {}).get("conditions", [])
        )


@pytest.fixture(scope="module")
def contract() -> Iterator[Contract]:
    world = World.up(
        name=f"contract-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(legacy=True),
    )
    try:
        world.emulator.set_rate(FAST)
        made = Contract(world)
        made.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield made
    finally:
        world.down()


def synced(reason: str) -> Callable[[Object], bool]:
    return lambda mr: condition(mr, "Synced").get("reason") == reason


def acted_upon(mr: Object) -> bool:
    """The newest spec was reconciled."""
    generation = mr["metadata"]["generation"]
    return bool(condition(mr, "Synced").get("observedGeneration") == generation)


def gone(mr: Object) -> bool:
    return not mr


def test_each_combination_on_what_exists(contract: Contract) -> None:
    every = subjects("is")
    contract.apply(*(s.manifest(("*",)) for s in every))
    contract.wait("all to be Ready", every, lambda mr: is_true(mr, "Ready") and is_true(mr, "Synced"))
    ids = {name: tenant["Id"] for name, tenant in contract.tenants().items()}

    start = contract.now()
    contract.apply(*(s.manifest(s.policies, tier="gold") for s in every))
    contract.wait("all to be looked at anew", every, acted_upon)
    contract.wait("the paused to say so", [s for s in every if s.paused], synced("ReconcilePaused"))
    contract.wait("the others to be well", [s for s in every if not s.paused], synced("ReconcileSuccess"))
    assert contract.calls("UpdateDistributionTenant", start) == {ids[s.name] for s in every if s.updates}

    start = contract.now()
    contract.delete(*every)
    contract.wait("all but the paused to go", [s for s in every if not s.paused], gone)
    contract.wait(
        "the paused to be held",
        [s for s in every if s.paused],
        lambda mr: "to resume the deletion" in condition(mr, "Synced").get("message", ""),
    )
    assert contract.calls("DeleteDistributionTenant", start) == {ids[s.name] for s in every if s.deletes}
    left = contract.tenants()
    assert set(left) == {s.name for s in every if not s.deletes}
    assert all(tenant["Enabled"] for tenant in left.values())

    contract.apply(*(s.manifest((OB,), tier="gold") for s in every if s.paused))
    contract.wait("the paused to go once they may", [s for s in every if s.paused], gone)
    assert set(contract.tenants()) == set(left)


def test_each_combination_on_what_does_not_exist(contract: Contract) -> None:
    every = subjects("no")
    contract.apply(*(s.manifest(s.policies) for s in every))
    contract.wait(
        "those that may to be created", [s for s in every if s.creates], lambda mr: is_true(mr, "Ready")
    )
    may_not = [s for s in every if not s.creates and not s.paused]
    contract.wait("those that may not to say so", may_not, synced("ReconcileError"))
    found = contract.all()
    for subject in may_not:
        assert "external resource does not exist" in condition(found[subject.name], "Synced")["message"]
    assert {n for n in contract.tenants() if n.startswith("no-")} == {s.name for s in every if s.creates}

    contract.apply(*(s.manifest((OB, DE)) for s in every))
    contract.delete(*every)
    contract.wait("all to go", every, gone)


def test_other_combinations_are_named_and_do_nothing(contract: Contract) -> None:
    every = [
        Subject(f"bad-{'c' if cluster else 'n'}{number}", cluster, policies)
        for number, policies in enumerate(REFUSED)
        for cluster in (False, True)
    ]
    contract.apply(*(s.manifest(s.policies) for s in every))
    contract.wait("all to be refused", every, synced("ReconcileError"))
    found = contract.all()
    for subject in every:
        message = condition(found[subject.name], "Synced")["message"]
        assert "is not supported; set one of: [*]" in message
        assert subject.name not in contract.tenants()
    contract.apply(*(s.manifest((OB,)) for s in every))
    contract.delete(*every)
    contract.wait("all to go", every, gone)


def test_observe_only_fills_at_provider_and_writes_nothing(contract: Contract) -> None:
    owner = Subject("seen", False, ("*",))
    contract.apply(owner.manifest(("*",)))
    contract.wait("it to be Ready", [owner], lambda mr: is_true(mr, "Ready"))
    start = contract.now()
    onlookers = [Subject("onlooker-n", False, (OB,)), Subject("onlooker-c", True, (OB,))]
    for subject in onlookers:
        bare = subject.manifest((OB,))
        bare["spec"]["forProvider"] = {}
        bare["metadata"]["annotations"] = {"crossplane.io/external-name": owner.name}
        contract.apply(bare)
    contract.wait("both to see it", onlookers, lambda mr: is_true(mr, "Ready") and is_true(mr, "Synced"))
    seen = contract.all()
    for subject in onlookers:
        at = seen[subject.name]["status"]["atProvider"]
        assert at["id"] == contract.tenants()[owner.name]["Id"]
        assert [d["domain"] for d in at["domains"]] == ["seen.example.com"]
        assert at["parameters"] == {"tier": "standard"}
    contract.delete(*onlookers)
    contract.wait("both to go", onlookers, gone)
    made = {c["operation"] for c in contract.world.emulator.calls(since=start)["calls"]}
    assert {name for name in made if not name.startswith(READING)} == set()
    contract.delete(owner)
    contract.wait("it to go", [owner], gone)


def test_nothing_is_deleted_while_the_crd_of_the_kind_is_being_deleted(contract: Contract) -> None:
    """Last: the kind is gone for a while."""
    confirmed, kept, orphan = (
        Subject("held-confirmed", True, ("*",), "Delete"),
        Subject("held-kept", True, (OB, CR, UP, DE, LI), "Delete"),
        Subject("held-orphan", True, ("*",), "Delete"),
    )
    every = [confirmed, kept, orphan]
    contract.apply(*(s.manifest(s.policies) for s in every))
    contract.wait("all to be Ready", every, lambda mr: is_true(mr, "Ready"))
    start = contract.now()
    crd = kinds.LEGACY_DISTRIBUTION_TENANT
    contract.world.kubectl("delete", "crd", f"{crd.plural}.{crd.group}", "--wait=false")
    contract.wait("all to be held", every, synced("DeletionHeld"))
    contract.world.emulator.step(600)
    contract.wait("all to be held still", every, synced("DeletionHeld"))
    found = contract.all()
    assert all(condition(found[s.name], "Ready")["reason"] == "DeletionHeld" for s in every)
    assert contract.calls("UpdateDistributionTenant", start) == set()
    assert contract.calls("DeleteDistributionTenant", start) == set()
    events = json.loads(contract.world.kubectl("get", "events", "-n", "default", "-o", "json"))["items"]
    told = [e for e in events if e["reason"] == "DeletionHeld"]
    assert [(e["count"], e["type"]) for e in told] == [(1, "Warning")] * 3

    token = found[confirmed.name]["metadata"]["uid"][:8]
    assert f"edgetenants.io/confirm to {token}" in condition(found[confirmed.name], "Synced")["message"]
    contract.world.kubectl("annotate", "ledt", confirmed.name, f"edgetenants.io/confirm={token}")
    patch = json.dumps({"spec": {"managementPolicies": [OB, CR, UP, LI]}})
    contract.world.kubectl("patch", "ledt", kept.name, "--type=merge", "-p", patch)
    patch = json.dumps({"spec": {"deletionPolicy": "Orphan"}})
    contract.world.kubectl("patch", "ledt", orphan.name, "--type=merge", "-p", patch)

    definition = f"customresourcedefinition.apiextensions.k8s.io/{crd.plural}.{crd.group}"

    def absent() -> bool:
        return definition not in contract.world.kubectl("get", "crds", "-o", "name").split()

    contract.world.wait_for("the CRD to go", absent, seconds=60)
    left = contract.tenants()
    assert confirmed.name not in left
    assert left[kept.name]["Enabled"]
    assert left[orphan.name]["Enabled"]

    # Installed again, each finds its tenant and takes it up as it is.
    start = contract.now()
    file = ROOT / "package" / "crds-legacy" / f"{crd.group}_{crd.plural}.yaml"
    contract.world.kubectl("apply", "--server-side", "-f", str(file))
    contract.world.wait_for_condition("crd", f"{crd.plural}.{crd.group}", "Established")
    contract.apply(kept.manifest(("*",)), orphan.manifest(("*",)))
    contract.wait("both to be Ready", [kept, orphan], lambda mr: is_true(mr, "Ready"))
    again = contract.all()
    for subject in (kept, orphan):
        assert again[subject.name]["status"]["atProvider"]["id"] == left[subject.name]["Id"]
    made = {c["operation"] for c in contract.world.emulator.calls(since=start)["calls"]}
    assert {name for name in made if not name.startswith(READING)} == set()
