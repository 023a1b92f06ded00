"""What `edgetenants plan` says of other managed resources: what it saw of them, and what it could not see."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION
from provider.cloudfront.state.identity import OWNER_TAG
from tests.contract import kubernetes
from tests.contract.emulated import DISTRIBUTION
from tests.contract.test_rehearsal import CONFIG
from tests.unit.provider.world import INSTALLATION, World, managed


@pytest.fixture
def cluster(tmp_path):
    with kubernetes.serving(tmp_path) as running:
        yield running


@pytest.fixture
def plan(aws, tmp_path):
    """Plan an object under a kubeconfig; the row, with the exit code."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=aws.url))

    def run(obj, kubeconfig="/no/such/file", *flags):
        arguments = [
            "-f",
            "-",
            "--provider-config",
            str(file),
            "--installation-id",
            INSTALLATION,
            "-o",
            "json",
        ]
        result = CliRunner().invoke(
            cli, ["plan", *arguments, *flags], input=yaml.safe_dump(obj), env={"KUBECONFIG": str(kubeconfig)}
        )
        assert result.exit_code in (0, 1), result.output
        (row,) = json.loads(result.stdout)
        return row

    return run


def of_sales(name="acme", uid="sales-uid", **annotations):
    """A resource of another namespace, with the same external name or another."""
    obj = managed(annotations=annotations, uid=uid)
    obj["metadata"] |= {"namespace": "sales", "name": name}
    return obj


def owned_by_sales(aws) -> World:
    """Its tenant is there, and its resource has seen it."""
    world = World(of_sales(), aws)
    world.settle()
    (tenant,) = aws.tenants
    assert aws.calls.tags(tenant["Arn"])[OWNER_TAG] == f"{INSTALLATION}/DistributionTenant/sales/shop.acme"
    return world


def adopting(world: World):
    """A new resource of ours that would take it over."""
    return bare(managed(annotations={"edgetenants.io/adopt": world.status["atProvider"]["id"]}))


def bare(obj):
    """As in a repository."""
    for key in ("uid", "creationTimestamp", "generation"):
        obj["metadata"].pop(key)
    return obj


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("lives", [False, True])
def test_the_tenant_of_another_owner_is_not_taken_over(aws, plan, cluster, lives, given):
    """The owner tag decides, whether that owner has a resource or not."""
    world = owned_by_sales(aws)
    cluster.objects = [world.obj] if lives else []
    row = plan(adopting(world) if given else bare(managed()), cluster.kubeconfig)
    assert "it belongs to another namespace or installation" in row["refusal"]
    assert (row["calls"], row["unseen"]) == ([], "")


@pytest.mark.parametrize("given", [False, True])
def test_that_needs_no_cluster(aws, plan, given):
    world = owned_by_sales(aws)
    row = plan(adopting(world) if given else bare(managed()))
    assert "it belongs to another namespace or installation" in row["refusal"]
    assert row["calls"] == []


def test_without_a_cluster_a_plan_says_so(aws, plan):
    World(managed(), aws).settle()
    row = plan(bare(managed()))
    assert "/no/such/file" in row["unseen"]


def test_lists_that_are_refused_are_told(aws, plan, cluster):
    World(managed(), aws).settle()
    cluster.allowed = set()
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "cannot list distributiontenants" in row["unseen"]


def test_what_may_be_seen_of_the_own_namespace_is_used(aws, plan, cluster):
    older = managed(uid="older", created="2025-01-01T00:00:00Z")
    older["metadata"]["name"] = "older"
    World(older, aws).settle()
    cluster.objects, cluster.allowed = [older], {"shop"}
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "is managed by DistributionTenant older" in row["refusal"]


def test_one_that_is_applied_anew_is_the_youngest(aws, plan, cluster):
    world = World(managed(), aws)
    world.settle()
    waiting = managed(uid="waiting", created="2027-01-01T00:00:00Z")
    waiting["metadata"]["name"] = "waiting"
    cluster.objects = [waiting]
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "is managed by DistributionTenant waiting" in row["refusal"]


def test_a_resource_is_no_rival_of_itself(aws, plan, cluster):
    world = World(managed(), aws)
    world.settle()
    cluster.objects = [world.obj]
    for obj in (bare(managed()), world.obj):
        row = plan(obj, cluster.kubeconfig)
        assert (row["refusal"], row["calls"], row["unseen"]) == ("", [], "")


def test_a_tree_that_is_not_served_has_no_resources(aws, plan, cluster):
    World(managed(), aws).settle()
    cluster.served = {kubernetes.MODERN}
    assert plan(bare(managed()), cluster.kubeconfig)["unseen"] == ""
    cluster.served = set()
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "the cluster does not serve any of edgetenants' kinds" in row["unseen"]


def test_both_trees_are_read(aws, plan, cluster):
    legacy = managed(cluster=True, uid="legacy")
    legacy["metadata"]["labels"]["crossplane.io/claim-namespace"] = "sales"
    World(legacy, aws).settle()
    cluster.served, cluster.objects = {kubernetes.MODERN, kubernetes.LEGACY}, [legacy]
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "it belongs to another namespace or installation" in row["refusal"]


def test_another_cluster_is_noticed(aws, plan, cluster):
    World(managed(), aws).settle()
    cluster.objects = [of_sales("unrelated", uid="unrelated", **{"crossplane.io/external-name": "sales.x"})]
    row = plan(managed(), cluster.kubeconfig)
    assert "it may be the wrong cluster" in row["unseen"]


def test_a_cluster_that_does_not_answer_is_asked_for_one_kind(aws, plan, cluster):
    World(managed(), aws).settle()
    config = json.loads(cluster.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    cluster.kubeconfig.write_text(json.dumps(config))
    row = plan(bare(managed()), cluster.kubeconfig)
    assert "cannot list distributiontenants" in row["unseen"]
    assert "connectiongroups" not in row["unseen"]
    assert row["calls"] == []


def test_what_others_give_is_seen(aws, plan, cluster):
    gives = of_sales(
        "gives", **{"crossplane.io/external-name": "sales.gives", GIVE_ANNOTATION: "shop/shop.acme"}
    )
    gives["spec"]["forProvider"] |= {"domains": ["gives.example.com", "moves.example.com"]}
    source = World(gives, aws)
    source.settle()
    takes = World(
        managed(
            {"distributionId": DISTRIBUTION, "domains": ["acme.example.com"]},
            annotations={TAKE_ANNOTATION: source.status["atProvider"]["id"]},
        ),
        aws,
    )
    takes.settle()
    takes.edit(domains=["acme.example.com", "moves.example.com"])
    cluster.objects = [gives, takes.obj]
    assert [call["action"] for call in plan(takes.obj, cluster.kubeconfig)["calls"]] == ["MoveDomain"]
    unseen = plan(takes.obj)
    assert unseen["calls"] == []
    assert "/no/such/file" in unseen["unseen"]


def test_the_cluster_is_only_read(aws, plan, cluster):
    world = owned_by_sales(aws)
    cluster.objects = [world.obj]
    plan(bare(managed()), cluster.kubeconfig)
    assert {request.partition(" ")[0] for request in cluster.requests} == {"GET"}


def test_a_cluster_that_is_named_must_be_there(cluster, tmp_path):
    for flags in (["--kubeconfig", str(tmp_path / "none")], ["--context", "elsewhere"]):
        result = CliRunner().invoke(
            cli,
            ["plan", "-f", "-", *flags],
            input=yaml.safe_dump(managed()),
            env={"KUBECONFIG": str(cluster.kubeconfig)},
        )
        assert result.exit_code == 2, result.output
        assert "kubeconfig" in result.output


def test_people_read_what_was_not_seen(aws, tmp_path):
    World(managed(), aws).settle()
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=aws.url))
    result = CliRunner().invoke(
        cli,
        ["plan", "-f", "-", "--provider-config", str(file), "--installation-id", INSTALLATION],
        input=yaml.safe_dump(bare(managed())),
        env={"KUBECONFIG": "/no/such/file"},
    )
    assert "not read, treated as absent: kubeconfig /no/such/file: " in result.stdout
