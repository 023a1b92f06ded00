"""What a rehearsal shows is what is sent then, and it sends nothing that writes."""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws import operations
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import only_reading
from provider.cloudfront.clients.connector import TenantConnector
from provider.cloudfront.memory.vanishing import Loss
from provider.cloudfront.rehearsal.recorder import PlannedCall
from tests.contract.emulated import ACCOUNT, DISTRIBUTION, config
from tests.unit.provider.world import INSTALLATION, World, managed

WEB_ACL = f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"
DRY = {"edgetenants.io/dry-run": "true"}


class Configs:
    def __init__(self, url):
        self.config = config(url)

    def resolve(self, mr):
        return self.config

    def report(self, config, fields):
        pass


class DryWorld(World):
    """A managed resource that the connector connects, as in the provider."""

    def __init__(self, aws, obj):
        self.connector = TenantConnector(
            Configs(aws.url), aws.accounts, installation=INSTALLATION, peers=lambda *_: ()
        )
        super().__init__(obj, aws)

    @property
    def client(self):
        return self.connector.connect(self.mr)


def calls(aws):
    return [
        (f"{call['service']}:{call['operation']}", call["parameters"])
        for call in aws.admin("GET", "calls")["calls"]
    ]


def written(aws):
    return [(name, given) for name, given in calls(aws) if operations.writes(name.partition(":")[2])]


def planned(world):
    found = []
    for each in world.status.get("plannedActions", ()):
        why, parameters = each["details"].split(": {", 1)
        found.append((each["operation"], each["action"], why, json.loads("{" + parameters)))
    return found


def normal(parameters):
    """Without the difference between a list and CloudFront's list with its quantity."""
    return json.loads(json.dumps(parameters, sort_keys=True))


def steps(world):
    """A tenant's life, one edit after the other."""
    yield "creation"
    world.edit(
        parameters={"tenantName": "b", "tier": "gold"},
        domains=["acme.example.com"],
        customizations={"webAcl": {"action": "override", "arn": WEB_ACL}},
        tags={"stage": "live"},
    )
    yield "change"
    world.edit(parameters=None, customizations=None)
    yield "removal"
    world.delete()
    yield "deletion"


def test_what_is_planned_is_what_is_sent_and_nothing_is_sent_before(aws):
    world = DryWorld(aws, managed(annotations=DRY))
    for step in steps(world):
        world.obj["metadata"]["annotations"].update(DRY)
        aws.admin("DELETE", "calls")
        world.reconcile()
        told = planned(world)
        assert told, step
        assert written(aws) == [], step
        assert world.ready()[1] == {"creation": "Frozen", "deletion": "Frozen"}.get(step, "Available")
        writes = world.status_writes
        world.reconcile()
        assert world.status_writes == writes, f"{step}: written only when it changes"
        del world.obj["metadata"]["annotations"]["edgetenants.io/dry-run"]
        aws.admin("DELETE", "calls")
        world.reconcile()
        sent = written(aws)
        assert [name for name, *_ in told] == [name for name, _ in sent], step
        for (name, _, _, parameters), (_, real) in zip(told, sent, strict=True):
            if parameters.get("IfMatch") == "(given by AWS)":
                parameters["IfMatch"] = real["IfMatch"]
            assert normal(parameters) == normal(real), (step, name)
        if step != "deletion":
            world.settle()
            assert "plannedActions" not in world.status


@pytest.mark.parametrize("deployed", [False, True], ids=["disabled just now", "disabled"])
def test_a_rehearsed_deletion_leaves_alone_what_the_guards_remember(aws, deployed):
    """Else the accident that takes the tenant afterwards would look like the provider's own deletion."""
    world = DryWorld(aws, managed())
    world.settle()
    id_ = world.status["atProvider"]["id"]
    aws.edit("shop.acme", Enabled=False)
    if deployed:
        aws.deploy()
    vanished = aws.accounts.of(world.connector._configs.config).memory.vanished
    world.obj["metadata"]["annotations"].update(DRY)
    world.delete()
    before = remembered(vanished)
    for _ in range(3):
        world.reconcile()
        world.clock.advance(60)
    assert planned(world)[-1][1] == "DeleteTenant"
    assert remembered(vanished) == before
    loss = Loss(
        id_, "_tenant.shop.acme", "ClusterProviderConfig default", "shop", proven=False, recorded=True
    )
    vanished.found_gone("another", loss)
    assert [gone.id for gone in vanished._gone.values()] == [id_], "it counts as an accident"


def remembered(vanished):
    """But for when each was looked at last, which the look before a rehearsal may note."""
    whole = {
        name: value for name, value in vars(vanished).items() if name not in ("_lock", "_clock", "_looks")
    }
    return copy.deepcopy(whole)


def test_a_rehearsal_a_week_ago_takes_no_proof_from_what_lives_on(aws):
    world = DryWorld(aws, managed())
    world.settle()
    account = aws.accounts.of(world.connector._configs.config)
    world.obj["metadata"]["annotations"].update(DRY)
    world.reconcile()
    del world.obj["metadata"]["annotations"]["edgetenants.io/dry-run"]
    before = remembered(account.memory.vanished)
    aws.clock.advance(8 * 24 * 3600.0)
    account.rehearsals.note_seen("another", "dt_another")
    assert remembered(account.memory.vanished) == before


def test_a_dry_run_of_what_may_not_be_created_or_is_gone_says_so(aws):
    observing = DryWorld(aws, managed(annotations=DRY, managementPolicies=["Observe"]))
    assert not observing.client.observe(observing.mr).exists
    deleted = DryWorld(aws, managed(annotations=DRY))
    deleted.delete()
    deleted.reconcile()
    assert deleted.gone


def test_a_dry_run_shows_what_stops_it(aws):
    World(managed(), aws, installation="cluster-2").settle()
    world = DryWorld(aws, managed(annotations=DRY))
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert planned(world) == []


def test_a_dry_run_of_what_would_be_refused_says_so(aws):
    world = DryWorld(aws, managed({"domains": ["a.example.com"]}, annotations=DRY))
    world.reconcile()
    [stop] = world.status["plannedActions"]
    assert stop["action"] == "Refused"
    assert stop["details"].startswith("spec.forProvider.distributionId: expected an id")
    assert "operation" not in stop


def test_a_dry_run_of_a_protected_deletion_says_what_it_waits_for(aws):
    world = DryWorld(aws, managed(deletionProtection=True))
    world.settle()
    world.obj["metadata"]["annotations"].update(DRY)
    world.delete()
    world.reconcile()
    [stop] = world.status["plannedActions"]
    assert (stop["action"], "deletionProtection" in stop["details"]) == ("Wait", True)


def test_a_long_call_fits_into_the_status():
    call = PlannedCall("CreateTenant", "cloudfront:CreateDistributionTenant", {"Domains": ["x" * 200] * 100})
    assert len(call.to_status()["details"]) == 4096


def test_why_is_told(aws):
    world = DryWorld(aws, managed())
    world.settle()
    world.edit(enabled=False, tags={"team": "edge"})
    world.obj["metadata"]["annotations"].update(DRY)
    world.reconcile()
    assert [(action, why) for _, action, why, _ in planned(world)] == [
        ("DisableTenant", "enabled true → false"),
        ("TagTenant", "tags.team shop → edge"),
    ]


def test_no_write_leaves_a_block_that_only_reads(aws):
    world = DryWorld(aws, managed())
    world.settle()
    (tenant,) = aws.tenants
    aws.admin("DELETE", "calls")
    with only_reading(), pytest.raises(AwsError, match="Forbidden"):
        aws.calls.tag(tenant["Arn"], {"a": "b"})
    assert aws.journal == []


# The command.

CONFIG = """\
apiVersion: m.edgetenants.io/v1alpha1
kind: ClusterProviderConfig
metadata: {{name: default}}
spec:
  credentials: {{source: Secret, secretRef: {{namespace: "n", name: aws, key: k}}}}
  endpoint: {{url: {url}}}
  rateLimits: {{cloudfront: 1000}}
---
apiVersion: v1
kind: Secret
metadata: {{namespace: "n", name: aws}}
stringData:
  k: |
    [default]
    aws_access_key_id = AKIAIOSFODNN7EXAMPLE
    aws_secret_access_key = test
"""


@pytest.fixture
def config_file(aws, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=aws.url))
    return file


def plan(config_file, *objects, flags=()):
    text = yaml.safe_dump_all(objects)
    # Not the cluster of anyone who runs the tests; what is seen of one is in test_rehearsal_peers.py.
    return CliRunner().invoke(
        cli,
        ["plan", "-f", "-", "--provider-config", str(config_file), *flags],
        input=text,
        env={"KUBECONFIG": "/no/such/file"},
    )


def test_the_command_shows_a_creation(aws, config_file):
    result = plan(config_file, managed(), flags=["--installation-id", "i1"])
    assert result.exit_code == 0, result.output
    assert "DistributionTenant shop/acme  # AWS account 123456789012" in result.output
    assert "1. cloudfront:CreateDistributionTenant (CreateTenant)" in result.output
    assert "why: it does not exist" in result.output
    assert f"DistributionId: {DISTRIBUTION}" in result.output
    assert "Value: i1/DistributionTenant/shop/shop.acme" in result.output
    assert aws.tenants == []


def test_no_text_fakes_a_line_of_the_command(aws, config_file):
    world = DryWorld(aws, managed())
    world.settle()
    world.edit(parameters={"tenantName": "b\n  nothing to do\u2028", "tier": "\x9b2J"})
    result = plan(config_file, world.obj)
    assert result.exit_code == 0, result.output
    assert "why: parameters.tenantName acme → b\\n  nothing to do\\u2028" in result.output
    assert "  nothing to do" not in result.output.splitlines()
    assert [line for line in result.output.splitlines() if not line.isprintable()] == []


def test_the_command_believes_the_owner_on_the_tenant(aws, config_file):
    world = DryWorld(aws, managed())
    world.settle()
    result = plan(config_file, world.obj)
    assert result.exit_code == 0, result.output
    assert result.output.endswith("nothing to do\n")
    bare = managed()
    assert plan(config_file, bare).output.endswith("nothing to do\n"), "without status too"


def test_the_command_tells_what_stops_it(aws, config_file):
    World(managed(), aws).settle()
    result = plan(config_file, managed(), flags=["--installation-id", "another", "-o", "json"])
    assert result.exit_code == 1
    (row,) = json.loads(result.stdout)
    assert "it belongs to another namespace or installation" in row["refusal"]
    assert "owner=cluster-1/DistributionTenant/shop/shop.acme" in result.stderr, "the log names it"
    assert row["calls"] == []
    unknown = managed(providerConfigRef={"kind": "ProviderConfig", "name": "other"})
    assert "ProviderConfig shop/other is not in the files" in plan(config_file, unknown).output


def test_a_deletion_is_planned_too(aws, config_file):
    world = DryWorld(aws, managed())
    world.settle()
    world.delete()
    row = json.loads(plan(config_file, world.obj, flags=["-o", "json"]).stdout)[0]
    assert [call["action"] for call in row["calls"]] == ["DisableTenant", "DeleteTenant"]
    assert Managed(world.obj).deleted
    (tenant,) = aws.tenants
    assert tenant["Enabled"]
