"""pytest fixtures, available wherever this package is installed.

    cloudfront_emulator    an emulator, empty for each test; its clock only advances when it is stepped
    tenant_distribution    a multi-tenant distribution in it, for tenants below example.com

    def test_a_tenant(cloudfront_emulator, tenant_distribution):
        cloudfront = cloudfront_emulator.client("cloudfront")
        cloudfront.create_distribution_tenant(
            DistributionId=tenant_distribution.id, Name="acme", Domains=[{"Domain": "acme.example.com"}]
        )

One server serves all tests of a process. If no test requests it, no server is started and moto is not
imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from edgetenants_emulator.admin.client import EmulatorAdmin

__all__ = ["TenantDistribution", "cloudfront_emulator", "tenant_distribution"]

_DOMAINS = ("*.example.com", "example.com")


@dataclass(frozen=True)
class TenantDistribution:
    """A deployed multi-tenant distribution with an issued certificate."""

    id: str
    arn: str
    certificate_arn: str
    certificate_domains: tuple[str, ...]
    """Allowed domains of its tenants: `*.example.com` and `example.com`."""
    parameters: tuple[str, ...]
    """Parameters of its tenants: `tenantName`."""
    connection_group_id: str
    """The account's default connection group."""
    routing_endpoint: str
    """The name to which the DNS of its tenants must point."""


@pytest.fixture(scope="session")
def _cloudfront_emulator() -> Iterator[EmulatorAdmin]:
    from edgetenants_emulator.server import EmulatorServer  # noqa: PLC0415 - with moto, a second

    with EmulatorServer(rate=0) as server:
        yield server.admin


@pytest.fixture
def cloudfront_emulator(_cloudfront_emulator: EmulatorAdmin) -> Iterator[EmulatorAdmin]:
    """CloudFront, ACM, Route 53 and STS at `endpoint`, empty at the start of a test. Held calls end with
    it."""
    _cloudfront_emulator.reset()
    yield _cloudfront_emulator
    _cloudfront_emulator.clear_faults(drop=True)


@pytest.fixture
def tenant_distribution(cloudfront_emulator: EmulatorAdmin) -> TenantDistribution:
    """A multi-tenant distribution of the default account."""
    wanted = {"id": "E1TENANTS", "certificateDomains": list(_DOMAINS), "parameters": [{"name": "tenantName"}]}
    made = cloudfront_emulator.seed({"distributions": [wanted]})
    (distribution,), group = made["distributions"], made["connectionGroup"]
    return TenantDistribution(
        id=distribution["id"],
        arn=distribution["arn"],
        certificate_arn=distribution["certificateArn"],
        certificate_domains=tuple(distribution["certificateDomains"]),
        parameters=("tenantName",),
        connection_group_id=group["id"],
        routing_endpoint=group["routingEndpoint"],
    )
