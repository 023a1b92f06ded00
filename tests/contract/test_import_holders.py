"""`edgetenants import` names in a comment who has a tenant, and a tag is only ever text."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from cli.main import cli
from provider.cloudfront.state.desired import Tenant
from tests.contract.emulated import DISTRIBUTION
from tests.contract.test_rehearsal import CONFIG

MADE_UP = "apiVersion: rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
@pytest.mark.parametrize("key", ["crossplane-name", "edgetenants.io/owner"])
def test_a_tag_stays_in_its_comment(aws, tmp_path, key, separator):
    # CloudFront's model of a tag takes every separator of Unicode; YAML 1.1 ends a line at these.
    tags = {key: f"someone{separator}---{separator}{MADE_UP}"}
    aws.calls.create_tenant(
        Tenant(name="acme", distribution_id=DISTRIBUTION, domains=frozenset({"a.example.com"}), tags=tags)
    )
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(url=aws.url))

    done = CliRunner().invoke(cli, ["import", "--distribution", DISTRIBUTION, "--provider-config", str(file)])

    assert done.exit_code == 0, done.output
    (one,) = yaml.safe_load_all(done.stdout)
    assert one["metadata"]["name"] == "acme"
    assert MADE_UP in done.stdout
