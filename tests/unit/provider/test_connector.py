"""The connector: the account of the provider config, and what forbids writing."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import Managed
from provider.cloudfront import aws
from provider.cloudfront.connector import TenantConnector
from tests.unit.provider.test_aws import CALLER, config
from tests.unit.provider.world import managed


class Configs:
    def __init__(self, **spec):
        self.spec = spec

    def resolve(self, mr):
        return config(**self.spec)


@pytest.mark.parametrize(
    ("spec", "flags", "annotations", "frozen"),
    [
        ({}, {}, {}, ""),
        ({"writes": "Frozen"}, {}, {}, "ClusterProviderConfig default has spec.writes Frozen"),
        ({}, {"read_only": True}, {}, "the provider runs with --read-only"),
        ({}, {}, {"edgetenants.io/dry-run": "true"}, "the annotation edgetenants.io/dry-run is set"),
        ({}, {}, {"edgetenants.io/dry-run": "false"}, ""),
    ],
)
def test_what_forbids_writing_is_said(monkeypatch, spec, flags, annotations, frozen):
    monkeypatch.setattr(aws.CloudFrontCalls, "caller", lambda _: CALLER)
    connector = TenantConnector(Configs(**spec), aws.Accounts(FakeClock()), installation="i", **flags)
    client = connector.connect(Managed(managed(annotations=annotations)))
    assert client._with.frozen == frozen
    assert client._with.account == "123456789012"
