"""`edgetenants plan` and `import`: no file ends them in a traceback; what `render` prints can be planned."""

from __future__ import annotations

import copy
import functools
import json

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.main import cli
from tests.contract.emulated import DISTRIBUTION
from tests.contract.test_rehearsal import CONFIG
from tests.unit.provider.world import World, managed

CLAIM = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "metadata": {"name": "acme", "namespace": "shop"},
    "spec": {"plan": "gold", "domains": ["acme.example.com"], "connection": {"dedicated": True}},
}
PLANS = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "plans": {"gold": {"distributionId": DISTRIBUTION, "allow": {"override": ["connection"]}}},
}


def run(*arguments, **kwargs):
    done = CliRunner().invoke(cli, [*map(str, arguments)], env={"KUBECONFIG": "/no/such/file"}, **kwargs)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def config_file(aws, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=aws.url))
    return file


def test_what_render_prints_can_be_planned(aws, config_file):
    rendered = run("render", "-", input=yaml.safe_dump_all([CLAIM, PLANS]))

    planned = run(
        *("plan", "-f", "-", "--provider-config", config_file, "--installation-id", "i1"),
        input=rendered.stdout,
    )

    assert "ConnectionGroup shop/acme-…  # AWS account" in planned.stdout
    assert "cloudfront:CreateConnectionGroup (CreateGroup)" in planned.stdout
    assert "Value: i1/ConnectionGroup/shop/shop.acme" in planned.stdout
    assert "DistributionTenant shop/acme-…  # AWS account" in planned.stdout
    assert "TenantClaim acme is ignored: expected DistributionTenant or ConnectionGroup" in planned.stderr


def test_a_resource_without_any_name(aws, config_file):
    tenant = managed()
    del tenant["metadata"]["name"]

    planned = run("plan", "-f", "-", "--provider-config", config_file, input=yaml.safe_dump(tenant))

    assert "DistributionTenant shop/?  # AWS account" in planned.stdout


@pytest.mark.parametrize("command", [("plan", "-f", "-"), ("import", "--distribution", DISTRIBUTION)])
def test_an_endpoint_without_credentials_is_told_in_words(aws, tmp_path, monkeypatch, command):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "config.yaml"
    anonymous, _ = yaml.safe_load_all(CONFIG.format(url=aws.url))
    anonymous["spec"]["credentials"] = {"source": "None"}
    file.write_text(yaml.safe_dump(anonymous))

    done = run(*command, "--provider-config", file, input=yaml.safe_dump(managed()))

    assert done.exit_code == 1
    assert "ClusterProviderConfig default: get the caller's account: Missing" in done.output


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"spec": []}, "stops: spec: expected an object, got []"),
        ({"status": "x"}, 'stops: status: expected an object, got "x"'),
        ({"status": {"atProvider": [1]}}, "stops: status.atProvider: expected an object, got [1]"),
    ],
)
def test_another_shape_is_told(aws, config_file, change, told):
    tenant = {**managed(), **change}

    planned = run("plan", "-f", "-", "--provider-config", config_file, input=json.dumps(tenant))

    assert (planned.exit_code, told in planned.stdout) == (1, True), planned.output


odd = st.sampled_from([None, True, 0, -1.5, 2**63, "", "x", "\x00\u2028", [], [None], [[]], {}, {"": None}])


def places(value, before=()):
    """Every place of an object but its kind and the whole."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        if key not in ("apiVersion", "kind"):
            yield (*before, key)
            yield from places(each, (*before, key))


@pytest.mark.parametrize("deleted", [False, True])
def test_whatever_stands_somewhere(aws, config_file, deleted):
    world = World(managed(labels={"a": "b"}), aws)
    world.settle()
    if deleted:
        world.delete()
    objects = [world.obj, *yaml.safe_load_all(config_file.read_text())]

    @settings(
        max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=HealthCheck
    )
    @given(st.dictionaries(st.sampled_from(list(places(objects))), odd, min_size=1, max_size=2))
    def is_answered(changes):
        found = copy.deepcopy(objects)
        for place, value in sorted(changes.items(), key=lambda each: -len(each[0])):
            *way, last = place
            functools.reduce(lambda below, key: below[key], way, found)[last] = copy.deepcopy(value)
        planned, *configs = found
        config_file.write_text("\n---\n".join(map(json.dumps, configs)))
        told = ("--provider-config", config_file)
        assert run("plan", "-f", "-", *told, input=json.dumps(planned)).exit_code in (0, 1, 2)
        if not deleted:
            assert run("import", "--distribution", DISTRIBUTION, *told).exit_code in (0, 1, 2)

    is_answered()
