"""A connection group is not taken from under tenants that live, and a deletion comes to its end, under each
reading of what AWS does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from edgetenants_emulator import EmulatorServer
from edgetenants_runtime.managed import Managed
from provider.cloudfront.clients.connection_group import GroupClient
from tests.contract import in_process, readings
from tests.contract.lives import ACCOUNT, DISTRIBUTION, GroupLife, Life, Recorded
from tests.unit.provider.cloudfront.clients.test_connection_group import manifest
from tests.unit.provider.world import dependencies, managed

ONLY_WHOLE = {"tenant_update_needs"}
"""Readings under which AWS checks the parameters at each update, whatever it changes."""
READINGS = [
    pytest.param(each, id="=".join(map(str, *each.items()))) for each in ({}, *readings.single()) if each
]


@pytest.fixture(scope="module")
def server() -> Iterator[Recorded]:
    with EmulatorServer(rate=0) as running, in_process.reaching(running):
        yield Recorded(running.url)


@pytest.fixture
def aws(server: Recorded) -> Iterator[Recorded]:
    yield server
    server.unset()


def define(aws: Recorded, *names: str) -> None:
    """Change the parameters that the distribution defines."""
    client: Any = aws.calls._cloudfront
    found = client.get_distribution_config(Id=DISTRIBUTION)
    schema = {"StringSchema": {"Required": False}}
    defined = [{"Name": name, "Definition": schema} for name in names]
    config = {**found["DistributionConfig"], "TenantConfig": {"ParameterDefinitions": defined}}
    client.update_distribution(Id=DISTRIBUTION, IfMatch=found["ETag"], DistributionConfig=config)


def tenant_in(aws: Recorded, group: str | None = None, **asked: Any) -> Life:
    number = next(aws.numbers)
    at = {"connectionGroupId": group} if group else {}
    for_provider = {"distributionId": DISTRIBUTION, "domains": [f"s{number}.example.com"], **at, **asked}
    named = {"crossplane.io/external-name": f"shop.s{number}"}
    return Life(managed(for_provider, annotations=named), aws)


@pytest.mark.parametrize("reading", READINGS)
def test_a_deletion_ends_though_the_distribution_defines_other_parameters(
    aws: Recorded, reading: dict[str, Any]
) -> None:
    tenant = tenant_in(aws, parameters={"tenantName": "a"})
    tenant.settle()
    define(aws, "another")
    try:
        aws.set(reading)
        tenant.delete()
        if ONLY_WHOLE & reading.keys():
            tenant.step()
            assert "does not define the parameters: tenantName" in str(tenant.error)
            define(aws, "tenantName")
        tenant.settle()
    finally:
        define(aws, "tenantName")
    assert tenant.gone


@pytest.mark.parametrize("needs", ["nothing", "parent", "everything"])
def test_the_form_of_a_disabling_that_aws_takes_is_remembered(aws: Recorded, needs: str) -> None:
    aws.set({"tenant_update_needs": needs})
    tenants = [tenant_in(aws, parameters={"tenantName": "a"}) for _ in range(2)]
    refusals = []
    for each in tenants:
        each.settle()
        each.memory = tenants[0].memory
        each.delete()
        before = aws.called
        each.settle()
        refusals.append(aws.operations(before).count("UpdateDistributionTenant") - 1)
    assert refusals == [["nothing", "parent", "everything"].index(needs), 0]


class SharedGroup(GroupLife):
    """A connection group whose provider has other managed resources in its cache."""

    cached: tuple[Managed, ...] = ()

    @property
    def client(self) -> GroupClient:
        return GroupClient(
            dependencies(self.cloudfront, self.memory, "cluster-1", ACCOUNT, everyone=lambda: self.cached)
        )


def group_of(aws: Recorded) -> SharedGroup:
    group = SharedGroup(manifest(name=f"shop.g{next(aws.numbers)}"), aws)
    group.settle()
    return group


@pytest.mark.parametrize(
    "reading",
    [
        {"list_lag_seconds": 3},
        {"list_filters_each_page": True, "page_size_default": 1},
        {"page_size_default": 1, "list_marker_skips": 2, "list_filters_each_page": True},
    ],
    ids=["a list that lags", "an empty first page", "pages that skip"],
)
def test_no_group_is_disabled_under_a_tenant_that_the_list_does_not_show(
    aws: Recorded, reading: dict[str, Any]
) -> None:
    tenants = [tenant_in(aws), tenant_in(aws)]
    for each in tenants:
        each.settle()
    group = group_of(aws)
    id_ = group.status["atProvider"]["id"]
    aws.set({**reading, "group_disable_needs_no_tenants": False})
    used = tenant_in(aws, id_)
    used.reconcile()
    group.cached = (used.mr,) if "list_marker_skips" in reading else ()
    group.delete()
    before = aws.called
    for _ in range(40):
        group.reconcile()
        assert aws.calls.get_group(id_).enabled
        group.step()
    assert "UpdateConnectionGroup" not in aws.operations(before)
    assert aws.calls.get_group(id_).enabled
    used.delete()
    used.settle()
    group.cached = ()
    group.settle()
    for each in tenants:
        each.delete()
        each.settle()


def test_a_group_is_disabled_by_what_aws_takes(aws: Recorded) -> None:
    aws.set({"group_update_needs_everything": True})
    group = group_of(aws)
    group.delete()
    group.settle()
    assert group.gone


def test_a_group_that_is_disabled_in_aws_takes_ready_from_its_tenants_and_gives_it_back(
    aws: Recorded,
) -> None:
    aws.set({"group_disable_needs_no_tenants": False})
    group = group_of(aws)
    id_ = group.status["atProvider"]["id"]
    tenant = tenant_in(aws, id_)
    tenant.settle()
    seen = aws.calls.get_group(id_)
    client: Any = aws.calls._cloudfront
    etag = client.update_connection_group(Id=id_, IfMatch=seen.etag, Enabled=False)["ETag"]
    tenant.step()
    tenant.step()
    assert tenant.ready() == ("False", "ConnectionGroupDisabled")
    assert "spec.forProvider.enabled" in tenant.condition("Ready")[2]
    assert tenant.status["domainsReady"] == "0/1"
    tenant.restart()
    tenant.step()
    assert tenant.ready() == ("False", "ConnectionGroupDisabled")
    late = tenant_in(aws, id_)
    for _ in range(5):
        late.step()
    assert late.ready() == ("False", "ConnectionGroupDisabled")
    client.update_connection_group(Id=id_, IfMatch=etag, Enabled=True)
    for each in (tenant, late):
        each.settle()
        assert each.ready() == ("True", "Available")
        each.delete()
        each.settle()
    group.delete()
    group.settle()
