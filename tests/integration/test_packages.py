"""The packages, installed by Crossplane's package manager as docs/install.md says, and a claim on them.

test_legacy_packages.py and test_packages_on_v1.py have the packages of v1's claims.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox import manifests
from sandbox.build import package_tools
from sandbox.errors import WorldError
from sandbox.manifests import NAMESPACE
from sandbox.packages.install import PREFIX
from sandbox.state import Crossplane
from sandbox.world import Options, World
from tests.integration.conftest import CACHE, ROOT
from tests.unit.docs.pages import COMMANDS
from xpkg import contents, runtime
from xpkg.contents import PACKAGES
from xpkg.image import file, layer

GUIDE = ROOT / "docs" / "install.md"
LEGACY = "## With the claims of Crossplane v1"
"""The heading in the guide below which a user of these claims finds the commands."""
CONTROLLED = "tenantclaims is already controlled by ConfigurationRevision"
"""What Crossplane says of the second of the two configurations: each has a Composition of this name."""
PROTECTION = ROOT / "examples" / "install" / "protect-packages.yaml"
REMOVAL = ROOT / "docs" / "how-to" / "remove-the-provider.md"
MANIFEST = ROOT / "examples" / "quickstart"
"""What a user applies, whatever claims and Crossplane there are."""
PROVIDER = "edgetenants-provider-edgetenants"
TENANTS = "distributiontenants.cloudfront.m.edgetenants.io"
NAMESPACED = {
    "connectiongroups.cloudfront.m.edgetenants.io",
    "distributiontenants.cloudfront.m.edgetenants.io",
}


@pytest.fixture(scope="module")
def pushed() -> Iterator[World]:
    """A sandbox whose registry has the packages, with nothing installed."""
    world = World.up(
        name=f"packages-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(packages=True, install=False),
    )
    try:
        yield world
    finally:
        world.down()


@pytest.fixture(scope="module")
def installed(pushed: World, user_folder: Path) -> World:
    """The same after each command of docs/install.md, as it stands there."""
    for command in commands(GUIDE.read_text().partition(LEGACY)[0]):
        shell(pushed, command, user_folder)
    return pushed


def commands(page: str) -> list[str]:
    """The commands of a page that a user runs against the cluster, in order."""
    found = re.findall(r"^\$ (kubectl .*)$", page, re.MULTILINE)
    assert len(found) >= 6, found
    return found


def get(world: World, *what: str) -> Any:
    return json.loads(world.kubectl("get", *what, "-o", "json"))


def packages(world: World) -> dict[str, set[str]]:
    """All packages by name, each with the conditions that it has."""
    return {
        each["metadata"]["name"]: {
            c["type"] for c in each.get("status", {}).get("conditions", []) if c["status"] == "True"
        }
        for each in get(world, "configuration.pkg,provider.pkg,function.pkg")["items"]
    }


def test_a_claim_is_served_after_the_guide_was_followed(installed: World) -> None:
    installed.emulator.set_rate(60)
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop", seconds=120)
    [tenant] = installed.emulator.state()["tenants"]
    assert tenant["Name"] == "shop.acme"


def test_the_activation_policy_activates_the_namespaced_kinds_only(installed: World) -> None:
    found = get(installed, "managedresourcedefinitions")["items"]
    active = {d["metadata"]["name"] for d in found if d["spec"]["state"] == "Active"}
    assert active == NAMESPACED
    assert len(found) == 4


def test_what_the_tenants_depend_on_is_not_deleted_while_it_is_protected(installed: World) -> None:
    """Core's webhook refuses each deletion and says why, before the API server marks anything as deleted."""
    before = what_there_is(installed)
    installed.emulator.reset_calls()
    for usage in manifests.documents(PROTECTION):
        of, reason = usage["spec"]["of"], usage["spec"]["reason"]
        said = protected(installed, of["kind"], of["resourceRef"]["name"])
        assert f'"nousages.protection.crossplane.io" denied the request: {IN_USE}' in said
        assert f'ClusterUsage "{usage["metadata"]["name"]}" with reason: "{reason}"' in said
        print(said)
    time.sleep(2)  # what a deletion took along would go now
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop")
    assert what_there_is(installed) == before
    assert not [call for call in installed.emulator.calls()["by_operation"] if not reads(call)]


IN_USE_LABEL = "crossplane.io/in-use"
IN_USE = "This resource is in-use by 1 usage(s)"
GROUPS = {
    "CompositeResourceDefinition": "apiextensions.crossplane.io",
    "Configuration": "pkg.crossplane.io",
    "CustomResourceDefinition": "apiextensions.k8s.io",
    "ManagedResourceDefinition": "apiextensions.crossplane.io",
    "Provider": "pkg.crossplane.io",
}


def protected(world: World, kind: str, name: str) -> str:
    """What kubectl says when it is to delete a protected object.

    Core removes the label of an XRD or MRD when it writes a package's objects again, and sets it again within
    about a minute.
    """
    what = (f"{kind}.{GROUPS[kind]}", name)
    labelled = lambda: IN_USE_LABEL in get(world, *what)["metadata"].get("labels", {})  # noqa: E731
    world.wait_for(f"{kind} {name} to have the label", labelled, seconds=100)
    with pytest.raises(WorldError) as refusal:
        world.kubectl("delete", *what, "--timeout=60s")
    return str(refusal.value)


def test_processes_run_without_privileges_in_a_root_that_nobody_writes(installed: World) -> None:
    for name in ("provider-", "function-"):
        [run] = [r for r in installed.processes.runs() if r.name.startswith(name)]
        process = Path(f"/proc/{run.identity.pid}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
        uid = "2000" if os.geteuid() == 0 else str(os.geteuid())
        assert status["Uid"].split() == [uid] * 4
        assert status["CapEff"] == "0000000000000000"
        assert status["NoNewPrivs"] == "1"
        [root] = [line for line in (process / "mountinfo").read_text().splitlines() if line.split()[4] == "/"]
        assert root.split()[5].startswith("ro,"), root


def test_the_provider_has_what_the_rbac_manager_grants_and_the_sandbox_grants_the_same(
    installed: World,
) -> None:
    [revision] = get(installed, "providerrevisions")["items"]
    granted = get(installed, "clusterrole", f"crossplane:provider:{revision['metadata']['name']}:system")
    package = manifests.Package.load(ROOT, Crossplane.V2, legacy=False)
    reads_crds = installed.state.crossplane is Crossplane.V2
    ours, _ = manifests.provider_role((*package.crds, *package.inactive), reads_crds=reads_crds)
    assert rules(granted) == rules(ours)
    binding = get(installed, "clusterrolebinding", granted["metadata"]["name"])
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "provider-edgetenants", "namespace": NAMESPACE}
    ]


def rules(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Each single permission: group, resource, verb."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_provider_that_dies_is_reported_and_comes_back(installed: World) -> None:
    [run] = [r for r in installed.processes.runs() if r.name.startswith("provider-")]
    os.kill(run.identity.pid, signal.SIGKILL)
    wait_healthy(installed, PROVIDER, "False")
    installed.processes.start(run.name, ready=False)
    wait_healthy(installed, PROVIDER, "True")
    # Until the Lease of the killed one has expired, the new one waits.
    installed.wait_for("it to lead", lambda: '"event": "leading"' in installed.log(run.name), seconds=60)


def wait_healthy(world: World, name: str, status: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        conditions = get(world, "provider.pkg", name)["status"]["conditions"]
        if next(c["status"] for c in conditions if c["type"] == "Healthy") == status:
            return
        assert time.monotonic() < deadline, conditions
        time.sleep(0.2)


HOW_TO_WEBHOOKS = ROOT / "docs" / "how-to" / "admission-webhooks.md"
WEBHOOKS = f"crossplane-provider-{PROVIDER}"
"""The name that Crossplane gives the package's webhook configuration."""


def rival(name: str, **for_provider: Any) -> str:
    """A managed resource of another namespace, as JSON for kubectl."""
    asked = {"distributionId": "E1EDGETENANTS", "domains": [f"{name}.example.com"], **for_provider}
    return json.dumps(
        {
            "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
            "kind": "DistributionTenant",
            "metadata": {"name": name, "namespace": "rival"},
            "spec": {"forProvider": asked},
        }
    )


def applied(world: World, manifest: str, *flags: str) -> tuple[int, str]:
    """The exit code of `kubectl apply`, and what it printed on stderr."""
    command = world.kubectl_command("apply", "-f", "-", *flags)
    ended = subprocess.run(command, input=manifest, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stderr


@pytest.fixture(scope="module")
def with_rival(installed: World) -> World:
    """Another namespace, and a claim of the first one that serves; the domains are recorded."""
    installed.kubectl("create", "namespace", "rival")
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop", seconds=120)
    records = ("configmap", "-n", NAMESPACE, "-l", "edgetenants.io/kept-domains=true", "-o", "yaml")
    installed.wait_for(
        "the domains to be recorded", lambda: "shop" in installed.kubectl("get", *records), seconds=30
    )
    return installed


def test_crossplane_fills_in_where_the_webhooks_are(installed: World) -> None:
    for webhook in get(installed, "validatingwebhookconfiguration", WEBHOOKS)["webhooks"]:
        client = webhook["clientConfig"]
        assert client["service"]["name"] == PROVIDER
        assert client["caBundle"]
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Ignore", "None")


@pytest.mark.parametrize("flags", [(), ("--dry-run=server",)])
def test_a_managed_resource_with_anothers_domain_is_refused(
    with_rival: World, flags: tuple[str, ...]
) -> None:
    code, told = applied(with_rival, rival("mine", domains=["acme.example.com"]), *flags)
    assert code == 1
    assert told.startswith("The request is invalid: ")
    assert 'admission webhook "managed-resources.edgetenants.io" denied the request' in told
    assert "spec.forProvider.domains: acme.example.com is kept for another namespace" in told
    assert "shop" not in told
    assert get(with_rival, "edt", "-n", "rival")["items"] == []


def test_one_that_takes_the_domain_from_its_holder_is_not_refused(with_rival: World) -> None:
    taking = json.loads(rival("mine", domains=["acme.example.com"]))
    taking["metadata"]["annotations"] = {"edgetenants.io/take-domains-from": "dt_2abc"}
    code, told = applied(with_rival, json.dumps(taking), "--dry-run=server")
    assert code == 0
    assert "Warning: spec.forProvider.domains: acme.example.com is kept for another namespace" in told


def test_the_parameters_of_a_known_distribution_are_checked(with_rival: World) -> None:
    [tenant] = with_rival.emulator.state()["tenants"]
    # The provider reads the distribution for a change. It may have started after the last one.
    change = json.dumps({"spec": {"parameters": {"tier": "gold"}}})
    with_rival.kubectl("patch", "tenantclaim", "acme", "-n", "shop", "--type=merge", "-p", change)
    changed = lambda: '"gold"' in json.dumps(with_rival.emulator.state()["tenants"])  # noqa: E731
    with_rival.wait_for("the change", changed, seconds=120)
    bad = rival("params", distributionId=tenant["DistributionId"], parameters={"size": "xl"})
    code, told = applied(with_rival, bad, "--dry-run=server")
    assert code == 1, told
    assert f"spec.forProvider.parameters.size: distribution {tenant['DistributionId']}" in told


def test_a_claim_with_anothers_domain_is_stored_with_a_warning_and_tells_it(with_rival: World) -> None:
    claim = {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {"name": "mine", "namespace": "rival"},
        "spec": {"plan": "standard", "domains": ["acme.example.com"]},
    }
    code, told = applied(with_rival, json.dumps(claim))
    assert code == 0, told
    assert "Warning: spec.domains: acme.example.com is kept for another namespace" in told
    # Crossplane may compose what a user may not apply: the claim shows what is wrong with it.
    reason = 'jsonpath={.status.conditions[?(@.type=="Live")].reason}'
    asked = ("tenantclaim", "mine", "-n", "rival", "-o", reason)
    with_rival.wait_for(
        "the claim to tell the conflict",
        lambda: with_rival.kubectl("get", *asked) == "DomainConflict",
        seconds=60,
    )
    with_rival.kubectl("delete", "tenantclaim", "mine", "-n", "rival")


def test_without_an_answer_writes_pass_unless_the_second_configuration_is_applied(
    with_rival: World, user_folder: Path
) -> None:
    taken = rival("unchecked", domains=["acme.example.com"])
    name = running_provider(with_rival)
    os.kill(with_rival.processes.run(name).identity.pid, signal.SIGKILL)
    wait_healthy(with_rival, PROVIDER, "False")
    try:
        assert applied(with_rival, taken, "--dry-run=server")[0] == 0
        shell(with_rival, fail_closed(), user_folder)
        code, told = applied(with_rival, taken, "--dry-run=server")
        assert code == 1
        assert "failed calling webhook" in told
        # Nothing else is blocked.
        with_rival.kubectl("create", "configmap", "other", "-n", "rival")
        with_rival.kubectl("annotate", "edt", "--all", "-n", "shop", "a=b", "--overwrite", check=False)
    finally:
        with_rival.processes.start(name, ready=False)
    with_rival.wait_for("it to lead", lambda: '"event": "leading"' in with_rival.log(name), seconds=60)
    wait_healthy(with_rival, PROVIDER, "True")
    code, told = applied(with_rival, taken, "--dry-run=server")
    assert (code, "is kept for another namespace" in told) == (1, True), told
    assert applied(with_rival, rival("free"), "--dry-run=server") == (0, "")
    with_rival.kubectl("delete", "validatingwebhookconfiguration", "edgetenants-fail-closed")


def fail_closed() -> str:
    """The command of the page that applies the second configuration."""
    [command] = re.findall(r"^\$ (sed .*)$", HOW_TO_WEBHOOKS.read_text(), re.MULTILINE)
    return str(command)


def test_the_answers_are_counted(with_rival: World) -> None:
    run = with_rival.processes.run(running_provider(with_rival))
    arguments = Path(f"/proc/{run.identity.pid}/cmdline").read_text().split("\0")
    [port] = [each.partition("=")[2] for each in arguments if each.startswith("--metrics-port=")]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        assert 'controller_runtime_webhook_requests_total{code="200"' in page.read().decode()


def test_an_upgrade_and_the_way_back_touch_no_tenant(installed: World, tmp_path: Path) -> None:
    push_next_version(installed, tmp_path)
    [before] = installed.emulator.state()["tenants"]
    installed.emulator.reset_calls()
    old = running_provider(installed)

    use(installed, "v0.2.0")
    new = replaced(installed, old)
    assert added_field(installed) == {"type": "string", "default": "x"}
    assert seconds_without_leader(installed, old, new) < LEASE_SECONDS

    use(installed, "v0.1.0")
    back = replaced(installed, new)
    assert back == old
    assert added_field(installed) is None
    assert seconds_without_leader(installed, new, back) < LEASE_SECONDS

    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop")
    assert installed.emulator.state()["tenants"] == [before]
    assert not [call for call in installed.emulator.calls()["by_operation"] if not reads(call)]


LEASE_SECONDS = 15.0
"""How long the provider's Lease lasts when a leader dies."""


def push_next_version(world: World, folder: Path) -> None:
    """Push a provider whose CRD has one more field, with a default."""
    content = contents.read(ROOT, PACKAGES["provider-edgetenants"])
    [crd] = [o for o in content.objects if o["metadata"]["name"] == TENANTS]
    for_provider(crd)["added"] = {"type": "string", "default": "x"}
    base = runtime.Runtimes(ROOT, CACHE.resolve(), "0.2.0").image("provider", "provider.main")
    layers = (*base.layers, layer([file("package.yaml", content.stream())], "base"))
    replace(base, layers=layers).save(folder / "provider.xpkg")
    tag = f"127.0.0.1:{world.state.ports['registry']}/edgetenants/provider-edgetenants:v0.2.0"
    cli = package_tools(CACHE).cli
    subprocess.run([cli, "xpkg", "push", "-f", folder / "provider.xpkg", tag], check=True)


def for_provider(crd: dict[str, Any]) -> dict[str, Any]:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = schema["properties"]["spec"]["properties"]["forProvider"]["properties"]
    return found


def added_field(world: World) -> Any:
    return for_provider(get(world, "crd", TENANTS)).get("added")


def use(world: World, version: str) -> None:
    package = f"xpkg.edgetenants.io/edgetenants/provider-edgetenants:{version}"
    patch = json.dumps({"spec": {"package": package}})
    world.kubectl("patch", "provider.pkg", PROVIDER, "--type=merge", "-p", patch)


def running_provider(world: World) -> str:
    [run] = [r for r in world.processes.runs() if r.name.startswith("provider-") and r.exit_code is None]
    return run.name


def replaced(world: World, old: str) -> str:
    """Wait until another process than `old` leads and the package is healthy, and return its name."""

    def leading() -> str:
        names = [r.name for r in world.processes.runs() if r.name.startswith("provider-")]
        running = [n for n in names if n != old and world.processes.run(n).exit_code is None]
        return next((n for n in running if '"event": "leading"' in world.log(n)), "")

    new = world.wait_for("the other revision to lead", leading, seconds=90)
    wait_healthy(world, PROVIDER, "True")
    return new


def seconds_without_leader(world: World, old: str, new: str) -> float:
    """Seconds that the new leader waits for, after the old one gave its Lease back and the new process runs.
    How long that takes to start depends on the machine."""
    released, started = last_time(world, old, "leadership released"), last_time(world, new, "started")
    leading = last_time(world, new, "leading")
    print(f"without a leader for {(leading - released).total_seconds():.1f} s")
    return (leading - max(released, started)).total_seconds()


def last_time(world: World, process: str, event: str) -> datetime:
    lines = [json.loads(line) for line in world.log(process).splitlines() if line.startswith("{")]
    return [datetime.fromisoformat(line["ts"]) for line in lines if line["event"] == event][-1]


def reads(operation: str) -> bool:
    return operation.startswith(("AssumeRole", "Get", "List", "Describe", "Verify"))


def unprotect(world: World, folder: Path) -> None:
    """Remove the protection as the page says."""
    [command] = re.findall(
        rf"^\$ (kubectl delete -f .*{PROTECTION.name})$", REMOVAL.read_text(), re.MULTILINE
    )
    shell(world, command, folder)


def test_a_removed_provider_leaves_its_tenants_and_a_new_one_manages_them_again(
    installed: World, user_folder: Path
) -> None:
    """The Configuration needs the Provider, so Crossplane installs it again at once. If the CRDs are going by
    then, the new revision cannot become healthy. The way out is that of the how-to, command by command."""
    [before] = installed.emulator.state()["tenants"]
    installed.emulator.reset_calls()
    [old] = get(installed, "edt", "-n", "shop")["items"]
    unprotect(installed, user_folder)
    # Of two revisions, the one that no longer controls the CRDs may go last. The new one is not refused then.
    remove_inactive(installed)
    # Without a package runtime, the new revision takes over no CRD before the collector deletes it.
    installed.processes.stop("package-runtime")
    installed.processes.stop(running_provider(installed))
    installed.kubectl("delete", "provider.pkg", PROVIDER, "--timeout=60s")
    installed.wait_for(
        "the CRD to be deleted",
        lambda: "deletionTimestamp" in get(installed, "crd", TENANTS)["metadata"],
        seconds=60,
    )
    installed.processes.start("package-runtime", ready=False)
    wait_refused(installed)
    assert "deletionTimestamp" in get(installed, "edt", "-n", "shop")["items"][0]["metadata"]

    way_out = REMOVAL.read_text().partition("### Crossplane's package")[2]
    for command in re.findall(r"^\$ (kubectl .*)$", way_out, re.MULTILINE):
        shell(installed, command, user_folder)

    def managed_again() -> bool:
        found = get(installed, "edt", "-n", "shop")["items"]
        return any(o["metadata"]["uid"] != old["metadata"]["uid"] and ready(o) for o in found)

    installed.wait_for("the tenant to be managed again", managed_again, seconds=120)
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop")
    assert installed.emulator.state()["tenants"] == [before]
    assert not [call for call in installed.emulator.calls()["by_operation"] if not reads(call)]


def remove_inactive(world: World) -> None:
    """Delete the revisions that an upgrade left."""
    found = get(world, "providerrevisions")["items"]
    names = [each["metadata"]["name"] for each in found if each["spec"]["desiredState"] == "Inactive"]
    assert len(names) == len(found) - 1
    for each in names:
        world.kubectl("delete", "providerrevision", each, "--timeout=60s")


def wait_refused(world: World) -> None:
    """Wait until the new revision says that the old one still controls its CRDs."""

    def refused() -> bool:
        found = get(world, "providerrevisions")["items"]
        seen[:] = [(o["metadata"]["name"], o.get("status", {}).get("conditions")) for o in found]
        return "is already controlled by ProviderRevision" in json.dumps(seen)

    seen: list[Any] = []
    try:
        world.wait_for("the new revision to be refused", refused, seconds=200)
    except WorldError as e:
        raise WorldError(f"{e}; the revisions: {json.dumps(seen, indent=1)}") from e


def ready(obj: dict[str, Any]) -> bool:
    return ("Ready", "True") in {
        (c["type"], c["status"]) for c in obj.get("status", {}).get("conditions", [])
    }


def shell(world: World, command: str, folder: Path) -> None:
    """Run a command line of a page as it stands there, in a shell."""
    environment = {**os.environ, **world.environment()}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


def test_one_manifest_becomes_a_live_claim_changes_and_goes(installed: World) -> None:
    """The same file for namespaced claims, for v1's claims on v2, and for those on v1."""
    installed.emulator.set_rate(60)
    installed.kubectl("apply", "-f", str(MANIFEST))
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop", seconds=120)
    [made] = installed.emulator.state()["tenants"]
    assert made["Name"] == "shop.acme"
    assert {row["Domain"] for row in made["Domains"]} == {"acme.example.com", "shop.acme.com"}

    change = json.dumps({"spec": {"parameters": {"tenantName": "changed"}}})
    installed.kubectl("patch", "tenantclaim", "acme", "-n", "shop", "--type=merge", "-p", change)
    changed = installed.wait_for("the change", lambda: with_parameter(installed, "tenantName", "changed"))
    assert changed["Id"] == made["Id"]
    installed.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop")

    # The namespace goes first, and may take the claim along before kubectl asks for it.
    installed.kubectl("delete", "-f", str(MANIFEST), "--timeout=120s", "--ignore-not-found")
    # A claim of v1 is gone before its composite has deleted the managed resource.
    installed.wait_for("the tenant to go", lambda: installed.emulator.state()["tenants"] == [])


def with_parameter(world: World, name: str, value: str) -> dict[str, Any]:
    """The only tenant if it has this parameter, else nothing."""
    [tenant] = world.emulator.state()["tenants"]
    return tenant if {"Name": name, "Value": value} in tenant["Parameters"] else {}


def test_the_configuration_of_v1s_claims_beside_it_is_refused_and_loses_nothing(installed: World) -> None:
    refused_beside(installed, "configuration-edgetenants-legacy", CONTROLLED)


def refused_beside(world: World, name: str, because: str) -> None:
    """Install a second Configuration, which Crossplane refuses, and remove it, with a live claim."""
    world.emulator.set_rate(60)
    world.kubectl("apply", "-f", str(MANIFEST))
    world.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop", seconds=120)
    before = what_there_is(world)
    world.emulator.reset_calls()
    package = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {"name": f"edgetenants-{name}"},
        "spec": {"package": f"{PREFIX}/{name}:v0.1.0"},
    }
    world.kubectl("apply", "-f", "-", input=json.dumps(package))
    refused = lambda: because in unhealthy(world, f"edgetenants-{name}")  # noqa: E731
    world.wait_for("its refusal", refused, seconds=90)
    assert what_there_is(world) == before
    world.kubectl("delete", "configuration.pkg", f"edgetenants-{name}", "--timeout=60s")
    time.sleep(2)  # what its deletion took along would go now
    world.wait_for_condition("tenantclaim", "acme", "Ready", namespace="shop")
    assert what_there_is(world) == before
    assert not [call for call in world.emulator.calls()["by_operation"] if not reads(call)]


def unhealthy(world: World, configuration: str) -> str:
    """What the condition Healthy says if it is False, else ""."""
    conditions = get(world, "configuration.pkg", configuration).get("status", {}).get("conditions", [])
    found = {c["type"]: c for c in conditions}.get("Healthy", {})
    return str(found.get("message", "")) if found.get("status") == "False" else ""


def what_there_is(world: World) -> tuple[set[str], list[dict[str, Any]]]:
    """The uids of the API, the claims and their managed resources; the tenants in AWS."""
    kinds = ["xrd", "compositions", "crd"]
    active = [name for name in our_crds(world) if re.search(r"/(x?tenantclaims|\w+\.cloudfront)\.", name)]
    listed = [get(world, kind)["items"] for kind in kinds]
    listed += [get(world, name.rpartition("/")[2], "-A")["items"] for name in active]
    uids = {each["metadata"]["uid"] for items in listed for each in items}
    return uids, world.emulator.state()["tenants"]


def test_with_helms_policy_both_trees_are_active_and_the_commands_of_the_pages_mean_one_kind(
    installed: World,
) -> None:
    """Crossplane's Helm chart activates `*` by default. Then two groups have kinds of the same names."""
    installed.kubectl("apply", "-f", "-", input=json.dumps(EVERYTHING))
    names = {name.replace(".m.", ".") for name in NAMESPACED} | NAMESPACED
    for name in names:
        installed.kubectl("wait", f"mrd/{name}", "--for=condition=Established", "--timeout=60s")
    groups = groups_of_names(installed)
    assert groups["distributiontenants"] == {"cloudfront.edgetenants.io", "cloudfront.m.edgetenants.io"}
    assert groups["edt"] == {"cloudfront.m.edgetenants.io"}
    assert groups["ledt"] == {"cloudfront.edgetenants.io"}

    used = {name for each in COMMANDS if each.program == "kubectl" for name in kinds_in(each.words)}
    assert {"edt", "ledt", "tenantclaims", "providerconfigs.m.edgetenants.io"} <= used
    assert {name: groups[name] for name in used if len(groups.get(name, ())) > 1} == {}


EVERYTHING = {
    "apiVersion": "apiextensions.crossplane.io/v1alpha1",
    "kind": "ManagedResourceActivationPolicy",
    "metadata": {"name": "default"},
    "spec": {"activate": ["*"]},
}


def groups_of_names(world: World) -> dict[str, set[str]]:
    """Each name that kubectl takes for a kind of ours, with the groups that have it."""
    found: dict[str, set[str]] = {}
    for crd in get(world, "crd")["items"]:
        group, names = crd["spec"]["group"], crd["spec"]["names"]
        for name in (names["plural"], names["singular"], *names.get("shortNames", ())):
            found.setdefault(name, set()).add(group)
            found[f"{name}.{group}"] = {group}
    return found


def kinds_in(words: Sequence[str]) -> set[str]:
    """What may name kinds in a command of kubectl: `edt`, `edt,ecg`, `xrd/NAME`."""
    return {name for word in words[1:] if "=" not in word for name in word.partition("/")[0].split(",")}


def test_the_configuration_alone_brings_the_other_two_after_everything_was_removed(
    installed: World, user_folder: Path
) -> None:
    installed.emulator.set_rate(60)
    installed.kubectl("delete", "-f", str(MANIFEST), "--timeout=120s", "--ignore-not-found")
    assert installed.emulator.state()["tenants"] == []
    unprotect(installed, user_folder)
    kinds = "configuration.pkg,provider.pkg,function.pkg"
    installed.kubectl("delete", kinds, "--all", "--timeout=120s")
    revisions = "configurationrevisions,providerrevisions,functionrevisions"
    installed.wait_for("all revisions to go", lambda: not get(installed, revisions)["items"], seconds=60)
    installed.wait_for("our CRDs to go", lambda: not our_crds(installed), seconds=60)

    documents = manifests.documents(ROOT / "examples" / "install" / "packages.yaml")
    [configuration] = [d for d in documents if d["kind"] == "Configuration"]
    installed.kubectl("apply", "-f", "-", input=json.dumps(configuration))

    def healthy() -> bool:
        found = packages(installed).values()
        return len(found) == 3 and all({"Installed", "Healthy"} <= true for true in found)

    installed.wait_for("three healthy packages", healthy, seconds=120)
    assert set(packages(installed)) == {d["metadata"]["name"] for d in documents}


def our_crds(world: World) -> list[str]:
    names = world.kubectl("get", "crd", "-o", "name").split()
    return [name for name in names if name.endswith("edgetenants.io")]
