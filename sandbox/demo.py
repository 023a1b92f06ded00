"""The demo: a claim becomes a live tenant, changes, drifts and is repaired; a second claim uses a customer's
own domain with its own certificate; for a third one the provider makes the DNS records; then a table of
customers becomes claims; then all are deleted.

The demo runs the real components. Each step does what a user in Kubernetes or in the AWS console would do,
and waits until the components have acted on it. If a step takes too long, the demo fails.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from sandbox.customers import SOURCE, TenantTable
from sandbox.hosted_zone import HostedZone
from sandbox.narrator import JsonObject, Narrator, StuckError
from sandbox.world import Options, World, WorldError

CLAIM = "acme"
NAMESPACE = "shop"
TENANT = f"{NAMESPACE}.{CLAIM}"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "quickstart"

RATE = 10.0
"""Virtual seconds per real second. CloudFront's deployment of one minute takes six seconds."""
FAST = 60.0
"""The rate while the demo waits for DNS and a certificate, which take CloudFront many minutes."""

CUSTOMER = "globex"
CUSTOMER_DOMAIN = "www.globex.test"
PLAN = {
    "distributionId": "E1EDGETENANTS",
    "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
    "certificate": {"mode": "Managed"},
}
"""The plan that the platform team adds for customers' own domains."""

LED = "initech"
ZONE = "shops.test"
DNS_CONFIG = "route53"
"""The ClusterProviderConfig with the zone."""
LED_PLAN = PLAN | {
    "dns": {"mode": "Managed", "configRef": {"kind": "ClusterProviderConfig", "name": DNS_CONFIG}}
}
"""The plan for domains in the platform team's own zone."""

TABLE = TenantTable(NAMESPACE, plan="standard")
ROWS = (("hooli", "hooli.example.com", "gold"), ("umbrella", "umbrella.example.com", ""))
CHANGED_ROWS = (("hooli", "hooli.example.com", "silver"), ROWS[1], ("initrode", "initrode", ""))
"""The same with another tier of hooli, and with a row that has no valid domain."""


@dataclass
class Report:
    """The content of `.cache/demo/report.json`. The keys are stable."""

    ok: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)
    aws_calls: dict[str, int] = field(default_factory=dict)
    leftovers: dict[str, list[str]] = field(default_factory=lambda: {"aws": [], "kubernetes": []})

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the duration of a step, even if it fails."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.steps.append({"name": name, "seconds": round(time.monotonic() - start, 1)})

    def write(self, path: Path) -> None:
        """Write the report as JSON, and create its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        body = {"ok": self.ok, "steps": self.steps, "aws_calls": self.aws_calls, "leftovers": self.leftovers}
        path.write_text(json.dumps(body, indent=2) + "\n")


def run(*, cache: Path, keep: bool, packages: bool = False, console: Console | None = None) -> int:
    """Run the demo in its own sandbox, and remove the sandbox afterwards unless `keep` is set.

    With `packages`, Crossplane's package manager installs the function, the provider and the claim's API.

    Returns the exit code: 0 if every step succeeded and nothing is left.
    """
    console = console or Console(soft_wrap=True, highlight=False)
    report = Report()
    world: World | None = None
    try:
        with report.step("start the sandbox"):
            console.print(
                "[bold]edgetenants[/]: a claim becomes a live CloudFront tenant and is deleted again\n"
            )
            world = World.up(
                name="demo",
                cache=cache,
                progress=lambda line: console.print(f"  {line}", style="dim"),
                options=Options(packages=packages),
            )
            if packages:
                show_packages(world, console)
        play(world, report, console)
    except (StuckError, WorldError) as problem:
        console.print(f"\n[bold red]The demo failed:[/] {problem}", highlight=False)
        if world is not None:
            console.print(
                f"To see logs: {world.hint('logs provider')} (also: function, crossplane, emulator, audit)"
            )
    finally:
        report.write(cache / "demo" / "report.json")
        finish(world, keep=keep, console=console)
    console.print(summary(report, cache))
    return 0 if report.ok else 1


def play(world: World, report: Report, console: Console) -> None:
    """Run all steps; raises StuckError at the first one that fails."""
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
        raise StuckError(f"not deleted: {report.leftovers}")


def apply(world: World, narrator: Narrator) -> None:
    """A user applies the example; it must become Ready and Live."""
    narrator.heading(
        "1. Apply",
        "kubectl apply -f examples/quickstart: a TenantClaim with two domains."
        f" The emulator's clock runs {RATE:.0f} times faster than real time.",
    )
    narrator.say("you", world.kubectl("apply", "-f", str(EXAMPLES)).strip().replace("\n", ", "))
    claim = narrator.wait(
        CLAIM, lambda c: is_true(c, "Ready") and is_true(c, "Live"), what="the claim to become Ready and Live"
    )
    endpoint = claim["status"]["routingEndpoint"]
    narrator.say("claim", f"served by {endpoint}; visitors reach it once its DNS records exist", "bold green")
    for line in world.kubectl("get", "tenantclaims,edt", "-n", NAMESPACE).splitlines():
        narrator.say("", line)


def change(world: World, narrator: Narrator) -> None:
    """A user changes a parameter; CloudFront must deploy it."""
    narrator.heading(
        "2. Change", "Set the claim's parameter tenantName to acme-gold. The tenant stays served."
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
    """A user disables the tenant in AWS; the provider must notice and repair it."""
    narrator.heading("3. Drift", "An operator disables the tenant in the AWS console.")
    before = world.emulator.calls()["by_operation"].get("UpdateDistributionTenant", 0)
    world.emulator.edit_tenant(TENANT, {"Enabled": False})
    narrator.say("operator", f"disabled {TENANT} in AWS", "red")

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
    """A customer uses a domain that no certificate covers; it must get a certificate and be served."""
    narrator.heading(
        "4. A customer's own domain",
        f"{CUSTOMER_DOMAIN} needs its own certificate. CloudFront requests one once the customer's DNS points"
        f" to it. From here, the emulator's clock runs {FAST:.0f} times faster than real time.",
    )
    world.emulator.set_rate(FAST)
    place = add_plan(world, "own-domain", PLAN)
    narrator.say("platform", f"added the plan own-domain to {place}: certificate mode Managed")
    world.kubectl(
        "apply", "-f", "-", input=json.dumps(customer_claim(CUSTOMER, "own-domain", CUSTOMER_DOMAIN))
    )
    narrator.say("you", f"applied TenantClaim/{CUSTOMER} with plan own-domain and domain {CUSTOMER_DOMAIN}")
    claim = narrator.wait(
        CUSTOMER, lambda c: bool(c.get("status", {}).get("dnsInstructions")), what="the required DNS records"
    )
    for record in claim["status"]["dnsInstructions"]:
        world.emulator.make_record(record["name"], record["type"], record["value"])
        narrator.say("customer", f"creates the record {record['name']} {record['type']} {record['value']}")
    claim = narrator.wait(
        CUSTOMER,
        lambda c: is_true(c, "Ready") and is_true(c, "Live"),
        what="the customer's domain to be served",
    )
    narrator.say("claim", f"served at {claim['status']['url']}, with its own certificate", "bold green")


def led_domain(world: World, narrator: Narrator) -> None:
    """A claim uses a domain of a zone that the provider manages; it must become Live, with DNS records."""
    narrator.heading(
        "5. A domain in your own zone",
        f"The plan managed-dns names the hosted zone {ZONE} of Route 53. The provider makes its records.",
    )
    zone = HostedZone.create(world.emulator.endpoint, ZONE)
    world.kubectl("apply", "-f", "-", input=json.dumps(dns_config(world, zone)))
    place = add_plan(world, "managed-dns", LED_PLAN)
    narrator.say("platform", f"added ClusterProviderConfig/{DNS_CONFIG}, and the plan managed-dns to {place}")
    domain = f"{LED}.{ZONE}"
    world.kubectl("apply", "-f", "-", input=json.dumps(customer_claim(LED, "managed-dns", domain)))
    narrator.say("you", f"applied TenantClaim/{LED} with plan managed-dns and domain {domain}")
    claim = narrator.wait(
        LED,
        lambda c: is_true(c, "Ready") and is_true(c, "Live") and bool(zone.records()),
        what="the domain to be served",
    )
    for record in zone.records():
        narrator.say("Route 53", record)
    narrator.say("claim", f"served at {claim['status']['url']}; DNS leads its visitors there", "bold green")


def dns_config(world: World, zone: HostedZone) -> JsonObject:
    """The default ClusterProviderConfig with a zone."""
    default = json.loads(world.kubectl("get", "clusterproviderconfig", "default", "-o", "json"))
    return {
        "apiVersion": default["apiVersion"],
        "kind": default["kind"],
        "metadata": {"name": DNS_CONFIG},
        "spec": default["spec"] | {"dns": {"route53": {"zones": [{"id": zone.id}]}}},
    }


def customer_claim(name: str, plan: str, domain: str) -> JsonObject:
    """The claim for one domain."""
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"plan": plan, "domains": [domain]},
    }


def table(world: World, narrator: Narrator) -> None:
    """Each row of a table becomes a claim and follows its row; a wrong row stops no other."""
    narrator.heading(
        "6. A table of customers",
        f"A TenantSource follows the table in ConfigMap/{SOURCE}: each row becomes a claim. It is read every"
        " ten seconds. Tables in databases work alike.",
    )
    world.add_sources()
    narrator.say("platform", "started edgetenants-sources")
    rows(world, ROWS)
    world.kubectl("apply", "-f", "-", input=json.dumps(TABLE.source()))
    narrator.say("you", f"applied TenantSource/{SOURCE} and its table: {', '.join(row[0] for row in ROWS)}")
    for name, _, _ in ROWS:
        narrator.wait(
            name,
            lambda c: is_true(c, "Ready") and is_true(c, "Live"),
            what=f"the claim of the row {name} to become Ready and Live",
        )
    rows(world, CHANGED_ROWS)
    narrator.say("app", "sets hooli's tier to silver, and adds initrode with a wrong domain")

    def followed(claim: JsonObject) -> bool:
        tenant = world.emulator.tenant(f"{NAMESPACE}.hooli")
        parameters = {p["Name"]: p["Value"] for p in tenant["Parameters"]}
        status = narrator.get("tenantsources", SOURCE).get("status", {})
        return parameters["tier"] == "silver" and status.get("invalid") == 1 and is_true(claim, "Live")

    narrator.wait(
        "hooli", followed, what="the changed row to reach CloudFront, and the status to show the wrong row"
    )
    for line in world.kubectl("get", "tenantsources", "-n", NAMESPACE).splitlines():
        narrator.say("", line)
    for found in narrator.get("tenantsources", SOURCE)["status"]["problems"]:
        narrator.say("table", f"row {found['key']}: {found['field']}: expected {found['expected']}", "red")


def rows(world: World, those: Sequence[Sequence[str]]) -> None:
    """Apply the table with these rows."""
    world.kubectl("apply", "-f", "-", input=json.dumps(TABLE.rows(those)))


def delete(world: World, narrator: Narrator) -> None:
    """A user deletes the claims; claims, managed resources, tenants and DNS records must be deleted."""
    narrator.heading(
        "7. Delete",
        "kubectl delete. The provider removes the records, and disables a tenant before it can delete it.",
    )
    world.kubectl("delete", "tenantsource", SOURCE, "-n", NAMESPACE)
    claims = (CLAIM, CUSTOMER, LED, *(name for name, _, _ in ROWS))
    world.kubectl("delete", "tenantclaim", *claims, "-n", NAMESPACE, "--wait=false")

    def gone(claim: JsonObject) -> bool:
        return (
            not claim and not world.kubectl("get", "tenantclaims,edt", "-n", NAMESPACE, "-o", "name").strip()
        )

    narrator.wait(CLAIM, gone, what="claims and managed resources to be deleted")
    narrator.say("AWS", f"tenants left: {len(world.emulator.state()['tenants'])}")
    world.kubectl("delete", "namespace", NAMESPACE, "--timeout=30s")


def add_plan(world: World, name: str, plan: JsonObject) -> str:
    """Add a plan where the platform team keeps them, and return that place."""
    if world.state.packages:
        place, path = "environmentconfig/edgetenants-plans", f"/data/plans/{name}"
    else:
        place, path = "composition/tenantclaims", f"/spec/pipeline/0/input/plans/{name}"
    add = [{"op": "add", "path": path, "value": plan}]
    world.kubectl("patch", place, "--type=json", "-p", json.dumps(add))
    return place


def show_packages(world: World, console: Console) -> None:
    """Print what Crossplane's package manager has installed."""
    listed = world.kubectl("get", "configuration.pkg,provider.pkg,function.pkg")
    for line in filter(None, listed.splitlines()):
        console.print(f"  {line}", highlight=False)


STEPS: tuple[tuple[str, Callable[[World, Narrator], None]], ...] = (
    ("apply → Ready", apply),
    ("change → rolled out", change),
    ("drift → repaired", drift),
    ("own domain → certificate → Ready", own_domain),
    ("own zone → records → Live", led_domain),
    ("table → claims → Live", table),
    ("delete → nothing left", delete),
)


def leftovers(world: World) -> dict[str, list[str]]:
    """What still exists, read again from both APIs: tenants and connection groups except the default one;
    claims, managed resources, usages, secrets."""
    state = world.emulator.state()
    aws = [f"distribution tenant {t['Name']}" for t in state["tenants"]]
    aws += [f"connection group {g['Name']}" for g in state["connectionGroups"] if not g.get("IsDefault")]
    aws += [f"DNS record {record}" for record in HostedZone.find(world.emulator.endpoint, ZONE).records()]
    kinds = "tenantsources,tenantclaims,distributiontenants,connectiongroups,providerconfigusages"
    kubernetes = world.kubectl("get", kinds, "-A", "-o", "name").split()
    kubernetes += world.kubectl("get", "secrets", "-n", NAMESPACE, "-o", "name", "--ignore-not-found").split()
    return {"aws": aws, "kubernetes": kubernetes}


def composed(world: World) -> str:
    """The name of the composed DistributionTenant of the claim."""
    out = world.kubectl(
        "get", "edt", "-n", NAMESPACE, "-l", f"crossplane.io/composite={CLAIM}", "-o", "name"
    ).strip()
    return out.rpartition("/")[2]


def is_true(obj: JsonObject, type_: str) -> bool:
    """Whether the condition is True for the object's current generation."""
    found = next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == type_), None)
    if found is None or found["status"] != "True":
        return False
    return int(found.get("observedGeneration") or 0) in (0, obj["metadata"]["generation"])


def finish(world: World | None, *, keep: bool, console: Console) -> None:
    """Remove the sandbox, or print commands to explore it."""
    if world is None:
        return
    if not keep:
        world.down()
        return
    console.print("\nThe sandbox is still running (--keep). To explore it:")
    console.print(f'  eval "$({world.hint("env")})"        # KUBECONFIG, kubectl, AWS_ENDPOINT_URL')
    console.print(
        f"  kubectl apply -f {EXAMPLES.relative_to(EXAMPLES.parent.parent)}; kubectl get tenantclaims,edt -A"
    )
    console.print(f"  {world.hint('status')}    {world.hint('inventory')}    {world.hint('logs provider')}")
    console.print(f"  {world.hint('down')}          # to remove it")


def summary(report: Report, cache: Path) -> str:
    """The last lines of the output: result, seconds of each step, AWS calls."""
    verdict = "[bold green]ok[/]" if report.ok else "[bold red]not ok[/]"
    steps = ", ".join(f"{s['name']} {s['seconds']} s" for s in report.steps)
    calls = ", ".join(f"{op} {n}" for op, n in sorted(report.aws_calls.items())) or "none"
    place = cache / "demo" / "report.json"
    shown = place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place
    return f"\n{verdict}  {steps}\nAWS calls: {calls}\nReport: {shown}"
