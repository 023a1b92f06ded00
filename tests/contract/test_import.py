"""`edgetenants import` against an emulator with tenants on eleven pages."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import yaml
from click.testing import CliRunner

from apis import kinds
from apis.errors import parse
from cli.main import cli
from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime.clock import SystemClock
from provider.cloudfront.account.sessions import Accounts
from provider.cloudfront.adoption import inventory, manifests
from provider.cloudfront.adoption.manifests import Shape
from provider.cloudfront.state.desired import Tenant
from tests.contract import in_process
from tests.contract.emulated import ACCOUNT, DISTRIBUTION, Emulated, config
from tests.contract.test_rehearsal import CONFIG
from tests.unit.provider.world import World, managed

COUNT, PAGE = 250, 25


def usual_settings():
    return {
        "list_marker_skips": 0,
        "list_marker_repeats": 0,
        "page_size_max": PAGE,
        "page_size_default": PAGE,
        "max_items_above_max_refused": False,
    }


class Many(Emulated):
    """A full account, from which no one takes anything away."""

    def __init__(self, server):
        super().__init__(server)
        self.account_of_config = Accounts(SystemClock()).of(config(self.url))
        self.calls = self.account_of_config.cloudfront

    def fill(self):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._make, range(COUNT)))
        owned = World(managed(annotations={"crossplane.io/external-name": "owned"}), self)
        owned.edit(domains=["owned.example.com"])
        owned.reconcile()

    def _make(self, number):
        tags = {"team": "edge"} if number % 2 else {"aws-not": "x"}
        if number == 7:
            tags = {"crossplane-name": "someone"}
        self.calls.create_tenant(
            Tenant(
                name=f"Tenant-{number}" if number == 5 else f"tenant-{number}",
                distribution_id=DISTRIBUTION,
                domains=frozenset({f"t{number}.example.com"}),
                enabled=number % 3 > 0,
                parameters={"tenantName": f"t{number}"},
                tags=tags,
            )
        )


@pytest.fixture(scope="module")
def many():
    with EmulatorServer() as server, in_process.reaching(server):
        emulated = Many(server)
        emulated.admin("PATCH", "settings", usual_settings())
        emulated.fill()
        yield emulated


@pytest.fixture
def run(many, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=many.url))

    def run(*flags, distribution=DISTRIBUTION):
        command = ["import", "--distribution", distribution, "--provider-config", str(file)]
        return CliRunner().invoke(cli, [*command, "--rate", "1000", *flags])

    yield run
    many.admin("DELETE", "faults")


@pytest.fixture
def usual(many):
    """The settings as they were, afterwards."""
    yield
    many.admin("DELETE", "faults")
    many.admin("PATCH", "settings", usual_settings())


def checked(text):
    documents = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    kind = kinds.DISTRIBUTION_TENANT
    for document in documents:
        assert (document["apiVersion"], document["kind"]) == (kind.api_version, kind.kind)
        parse(kind.spec, document["spec"], root="spec")
    return {
        document["metadata"]["annotations"]["crossplane.io/external-name"]: document for document in documents
    }


def test_all_are_written_and_only_observed(many, run):
    many.admin("DELETE", "calls")
    result = run()
    assert result.exit_code == 0, result.stderr
    found = checked(result.stdout)
    assert len(found) == COUNT + 1
    assert {tuple(each["spec"]["managementPolicies"]) for each in found.values()} == {("Observe",)}
    assert found["tenant-1"]["spec"]["forProvider"] == {}
    assert found["Tenant-5"]["metadata"]["name"].startswith("tenant-5-")
    assert len({each["metadata"]["name"] for each in found.values()}) == COUNT + 1
    assert "# managed by edgetenants: cluster-1/DistributionTenant/shop/owned" in result.stdout
    assert "# managed by Crossplane: someone" in result.stdout
    assert "200 of 251" in result.stderr
    assert "done: 251 tenants" in result.stderr
    assert set(many.admin("GET", "calls")["by_operation"]) == {
        "GetCallerIdentity",
        "ListDistributionTenants",
        "ListTagsForResource",
    }


def test_a_full_manifest_takes_over_what_nobody_has(many, run):
    found = checked(run("--full").stdout)
    one = found["tenant-1"]
    assert one["metadata"]["annotations"]["edgetenants.io/adopt"].startswith("dt_")
    assert one["spec"]["forProvider"] == {
        "distributionId": DISTRIBUTION,
        "connectionGroupId": one["spec"]["forProvider"]["connectionGroupId"],
        "domains": ["t1.example.com"],
        "enabled": True,
        "parameters": {"tenantName": "t1"},
        "tags": {"team": "edge"},
    }
    assert "managementPolicies" not in one["spec"]
    for held in ("owned", "tenant-7"):
        assert found[held]["spec"]["managementPolicies"] == ["Observe"]
        assert "edgetenants.io/adopt" not in found[held]["metadata"]["annotations"]


@pytest.mark.parametrize(
    "settings",
    [
        {"list_marker_skips": 1},
        {"list_marker_repeats": 3},
        {
            "list_marker_skips": 2,
            "page_size_max": PAGE // 2,
            "page_size_default": PAGE // 2,
            "max_items_above_max_refused": True,
        },
    ],
)
def test_odd_markers_lose_nobody(many, usual, settings):
    many.admin("PATCH", "settings", settings)
    found = inventory.tenants(many.calls, DISTRIBUTION, SystemClock())
    assert len({tenant.id for tenant in found}) == len(found) == COUNT + 1


def test_a_run_that_was_cut_off_goes_on(many, run, tmp_path):
    out = tmp_path / "tenants"
    many.fault("ListTagsForResource", nth=100, code="InvalidArgument", status=400, message="no")
    result = run("--out", str(out))
    assert result.exit_code == 1
    assert "InvalidArgument" in result.stderr
    there = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    assert len(there) == 99
    many.admin("DELETE", "calls")
    result = run("--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "99 already written" in result.stderr
    assert many.journal.count("ListTagsForResource") == COUNT + 1 - 99
    assert len(list(out.iterdir())) == COUNT + 1
    assert {name: (out / name).stat().st_mtime_ns for name in there} == there
    assert checked((out / "tenant-1.yaml").read_text())["tenant-1"]


def test_tags_that_may_not_be_read_are_told_once_and_nothing_is_taken_over(many, run):
    many.fault("ListTagsForResource", every=True, code="AccessDenied", status=403, message="no")
    many.admin("DELETE", "calls")
    result = run("--full")
    assert result.exit_code == 0
    assert result.stderr.count("cannot read tags") == 1
    assert "edgetenants.io/adopt" not in result.stdout
    assert many.journal.count("ListTagsForResource") == 1


def test_a_throttled_list_waits_and_goes_on(many, usual):
    many.fault("ListDistributionTenants", nth=3, action="throttle")
    assert len(inventory.tenants(many.calls, DISTRIBUTION, SystemClock())) == COUNT + 1


def test_what_is_not_there_is_told(run):
    result = run(distribution="E1GONE")
    assert result.exit_code == 1
    assert "EntityNotFound" in result.stderr
    assert ACCOUNT not in result.stdout


def test_a_full_manifest_changes_nothing_but_the_owner(many):
    """The last one, as it takes a tenant over."""
    seen = many.calls.get_tenant("tenant-2")
    obj = manifests.manifest(replace(seen, tags=many.calls.tags(seen.arn)), Shape("shop", full=True))
    obj["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    world = World(obj, many)
    many.deploy()
    many.admin("DELETE", "calls")
    world.reconcile()
    assert "UpdateDistributionTenant" not in many.journal
    assert "TagResource" in many.journal


def test_json_has_the_same_objects(run, tmp_path):
    yaml_ = [each for each in yaml.safe_load_all(run().stdout) if each]
    decoder, text, found = json.JSONDecoder(), run("-o", "json").stdout.strip(), []
    while text:
        value, end = decoder.raw_decode(text)
        found, text = [*found, value], text[end:].lstrip()
    assert found == yaml_
    run("-o", "json", "--out", str(tmp_path / "made"))
    files = sorted((tmp_path / "made").iterdir())
    assert {path.suffix for path in files} == {".json"}
    assert len(files) == len(yaml_)
