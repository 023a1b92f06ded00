"""The main job from nothing, for a person to watch: a claim becomes a live tenant, is changed, drifts, is
repaired; another one brings a domain of the customer's own, with a certificate; both are deleted.

Nothing is staged. Each step does what a user, or somebody in the AWS console, would do, and then waits for
what the real parts make of it. A step that does not come about in time fails the demo.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from sandbox.narrator import JsonObject, Narrator, StuckError
from sandbox.world import World, WorldError

CLAIM = "acme"
NAMESPACE = "shop"
TENANT = f"{NAMESPACE}.{CLAIM}"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "quickstart"

RATE = 10.0
"""Virtual seconds for each real one: CloudFront's minute of deployment passes in six seconds."""
FAST = 60.0
"""The same while DNS and a certificate are waited for, which takes CloudFront many minutes."""

CUSTOMER = "globex"
CUSTOMER_DOMAIN = "www.globex.test"
PLAN = {
    "distributionId": "E1EDGETENANTS",
    "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
    "certificate": {"mode": "Managed"},
}
"""The plan that the platform team adds for customers' own domains."""


@dataclass
class Report:
    """What is written to `.cache/demo/report.json`; the keys are fixed."""

    ok: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)
    aws_calls: dict[str, int] = field(default_factory=dict)
    leftovers: dict[str, list[str]] = field(default_factory=lambda: {"aws": [], "kubernetes": []})

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step, also one that fails."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.steps.append({"name": name, "seconds": round(time.monotonic() - start, 1)})

    def write(self, path: Path) -> None:
        """Write the report as JSON, making its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        body = {"ok": self.ok, "steps": self.steps, "aws_calls": self.aws_calls, "leftovers": self.leftovers}
        path.write_text(json.dumps(body, indent=2) + "\n")


def run(*, cache: Path, keep: bool, console: Console | None = None) -> int:
    """Run the demo in a world of its own and take it down again unless `keep`.

    Returns the exit code: 0 when every step came about and nothing was left over.
    """
    console = console or Console(soft_wrap=True, highlight=False)
    report = Report()
    world: World | None = None
    try:
        with report.step("a world comes up"):
            console.print(
                "[bold]edgetenants[/]: a claim becomes a live CloudFront tenant, and goes away again\n"
            )
            world = World.up(
                name="demo", cache=cache, progress=lambda line: console.print(f"  {line}", style="dim")
            )
        play(world, report, console)
    except (StuckError, WorldError) as problem:
        console.print(f"\n[bold red]The demo stopped:[/] {problem}", highlight=False)
        if world is not None:
            console.print(
                f"Look around: {world.hint('logs provider')} (also: function, crossplane, emulator, audit)"
            )
    finally:
        report.write(cache / "demo" / "report.json")
        finish(world, keep=keep, console=console)
    console.print(summary(report, cache))
    return 0 if report.ok else 1


def play(world: World, report: Report, console: Console) -> None:
    """All steps; raises StuckError at the first that does not come about."""
    world.emulator.set_rate(RATE)
    world.emulator.reset_calls()
    narrator = Narrator(world, NAMESPACE, console)
    for name, act in STEPS:
        with report.step(name):
            act(world, narrator)
        narrator.say("", f"✓ {name}, {report.steps[-1]['seconds']} s", "green")
    report.aws_calls = world.emulator.calls()["by_operation"]
    report.leftovers = leftovers(world)
    report.ok = not any(report.leftovers.values())
    if not report.ok:
        raise StuckError(f"left over: {report.leftovers}")


def apply(world: World, narrator: Narrator) -> None:
    """A user applies the example; it has to become Ready and Live."""
    narrator.heading(
        "1. Apply",
        "kubectl apply -f examples/quickstart: a TenantClaim with two domains."
        f" CloudFront's time runs {RATE:.0f} times as fast as yours.",
    )
    narrator.say("you", world.kubectl("apply", "-f", str(EXAMPLES)).strip().replace("\n", ", "))
    claim = narrator.wait(
        CLAIM, lambda c: is_true(c, "Ready") and is_true(c, "Live"), what="the claim to become Ready and Live"
    )
    endpoint = claim["status"]["routingEndpoint"]
    narrator.say(
        "claim", f"served by {endpoint}; visitors get there once its DNS records are made", "bold green"
    )
    for line in world.kubectl("get", "tenantclaims,edt", "-n", NAMESPACE).splitlines():
        narrator.say("", line)


def change(world: World, narrator: Narrator) -> None:
    """A user changes a parameter; it has to be rolled out."""
    narrator.heading(
        "2. Change", "The claim's parameter tenantName becomes acme-gold. The tenant serves all the while."
    )
    patch = json.dumps({"spec": {"parameters": {"tenantName": "acme-gold"}}})
    world.kubectl("patch", "tenantclaim", CLAIM, "-n", NAMESPACE, "--type=merge", "-p", patch)

    def rolled_out(claim: JsonObject) -> bool:
        tenant = world.emulator.tenant(TENANT)
        parameters = {p["Name"]: p["Value"] for p in tenant.get("Parameters", [])}
        managed = narrator.get("edt", composed(world))
        return (
            parameters.get("tenantName") == "acme-gold"
            and tenant["Status"] == "Deployed"
            and is_true(managed, "Deployed")
            and is_true(claim, "Ready")
        )

    narrator.wait(CLAIM, rolled_out, what="the new parameter to be deployed")
    narrator.say("AWS", f"tenant {TENANT}: tenantName=acme-gold, Deployed")


def drift(world: World, narrator: Narrator) -> None:
    """Somebody disables the tenant in AWS; it has to be noticed and repaired."""
    narrator.heading("3. Drift", "Somebody disables the tenant in AWS, behind the provider's back.")
    before = world.emulator.calls()["by_operation"].get("UpdateDistributionTenant", 0)
    world.emulator.edit_tenant(TENANT, {"Enabled": False})
    narrator.say("somebody", f"disabled {TENANT} in AWS", "red")

    def repaired(claim: JsonObject) -> bool:
        tenant = world.emulator.tenant(TENANT)
        updates = world.emulator.calls()["by_operation"].get("UpdateDistributionTenant", 0)
        managed = narrator.get("edt", composed(world))
        return (
            updates > before
            and tenant["Enabled"] is True
            and tenant["Status"] == "Deployed"
            and is_true(managed, "InSync")
            and is_true(claim, "Ready")
        )

    narrator.wait(CLAIM, repaired, what="the tenant to be enabled again")
    narrator.say("AWS", f"tenant {TENANT} is enabled and Deployed again", "bold green")


def own_domain(world: World, narrator: Narrator) -> None:
    """A customer brings a domain that no certificate covers; it has to get one, and to be served."""
    narrator.heading(
        "4. A customer's own domain",
        f"{CUSTOMER_DOMAIN} needs a certificate of its own: CloudFront has one made once the customer's DNS"
        f" leads to it. From here CloudFront's time runs {FAST:.0f} times as fast.",
    )
    world.emulator.set_rate(FAST)
    add = [{"op": "add", "path": "/spec/pipeline/0/input/plans/own-domain", "value": PLAN}]
    world.kubectl("patch", "composition", "tenantclaims", "--type=json", "-p", json.dumps(add))
    narrator.say("platform", "added the plan own-domain to the Composition: certificate mode Managed")
    world.kubectl("apply", "-f", "-", input=json.dumps(customer_claim()))
    narrator.say("you", f"applied TenantClaim/{CUSTOMER} with plan own-domain and domain {CUSTOMER_DOMAIN}")
    claim = narrator.wait(
        CUSTOMER, lambda c: bool(c.get("status", {}).get("dnsInstructions")), what="the DNS records to make"
    )
    for record in claim["status"]["dnsInstructions"]:
        world.emulator.make_record(record["name"], record["type"], record["value"])
        narrator.say("customer", f"makes the record {record['name']} {record['type']} {record['value']}")
    claim = narrator.wait(
        CUSTOMER,
        lambda c: is_true(c, "Ready") and is_true(c, "Live"),
        what="the customer's domain to be served",
    )
    narrator.say("claim", f"serves at {claim['status']['url']}, with its own certificate", "bold green")


def customer_claim() -> JsonObject:
    """The claim with the customer's own domain."""
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {"name": CUSTOMER, "namespace": NAMESPACE},
        "spec": {"plan": "own-domain", "domains": [CUSTOMER_DOMAIN]},
    }


def delete(world: World, narrator: Narrator) -> None:
    """A user deletes the claims; claims, managed resources and tenants have to go."""
    narrator.heading("5. Delete", "kubectl delete: CloudFront wants a tenant disabled before it is deleted.")
    world.kubectl("delete", "tenantclaim", CLAIM, CUSTOMER, "-n", NAMESPACE, "--wait=false")

    def gone(claim: JsonObject) -> bool:
        return (
            not claim and not world.kubectl("get", "tenantclaims,edt", "-n", NAMESPACE, "-o", "name").strip()
        )

    narrator.wait(CLAIM, gone, what="claims and managed resources to go")
    narrator.say("AWS", f"tenants left: {len(world.emulator.state()['tenants'])}")
    world.kubectl("delete", "namespace", NAMESPACE, "--timeout=30s")


STEPS: tuple[tuple[str, Callable[[World, Narrator], None]], ...] = (
    ("apply → Ready", apply),
    ("change → rolled out", change),
    ("drift → repaired", drift),
    ("own domain → certificate → Ready", own_domain),
    ("delete → nothing left", delete),
)


def leftovers(world: World) -> dict[str, list[str]]:
    """What still exists, read anew from both APIs: tenants and own connection groups; claims, managed
    resources, usages, secrets."""
    state = world.emulator.state()
    aws = [f"distribution tenant {t['Name']}" for t in state["tenants"]]
    aws += [f"connection group {g['Name']}" for g in state["connectionGroups"] if not g.get("IsDefault")]
    kinds = "tenantclaims,distributiontenants,connectiongroups,providerconfigusages"
    kubernetes = world.kubectl("get", kinds, "-A", "-o", "name").split()
    kubernetes += world.kubectl("get", "secrets", "-n", NAMESPACE, "-o", "name", "--ignore-not-found").split()
    return {"aws": aws, "kubernetes": kubernetes}


def composed(world: World) -> str:
    """The name of the managed resource that Crossplane composed for the claim."""
    out = world.kubectl(
        "get", "edt", "-n", NAMESPACE, "-l", f"crossplane.io/composite={CLAIM}", "-o", "name"
    ).strip()
    return out.rpartition("/")[2]


def is_true(obj: JsonObject, type_: str) -> bool:
    """Whether the object has that condition with status True for its present generation."""
    found = next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == type_), None)
    if found is None or found["status"] != "True":
        return False
    return int(found.get("observedGeneration") or 0) in (0, obj["metadata"]["generation"])


def finish(world: World | None, *, keep: bool, console: Console) -> None:
    """Take the world down, or say how to look around in it."""
    if world is None:
        return
    if not keep:
        world.down()
        return
    console.print("\nThe world is still up (--keep). Look around:")
    console.print(f'  eval "$({world.hint("env")})"        # KUBECONFIG, kubectl, AWS_ENDPOINT_URL')
    console.print(
        f"  kubectl apply -f {EXAMPLES.relative_to(EXAMPLES.parent.parent)}; kubectl get tenantclaims,edt -A"
    )
    console.print(f"  {world.hint('status')}    {world.hint('inventory')}    {world.hint('logs provider')}")
    console.print(f"  {world.hint('down')}          # when you have seen enough")


def summary(report: Report, cache: Path) -> str:
    """The last lines: verdict, seconds for each step, calls."""
    verdict = "[bold green]ok[/]" if report.ok else "[bold red]not ok[/]"
    steps = ", ".join(f"{s['name']} {s['seconds']} s" for s in report.steps)
    calls = ", ".join(f"{op} {n}" for op, n in sorted(report.aws_calls.items())) or "none counted"
    place = cache / "demo" / "report.json"
    shown = place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place
    return f"\n{verdict}  {steps}\nAWS calls: {calls}\nReport: {shown}"
