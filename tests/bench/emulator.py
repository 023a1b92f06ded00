"""The emulator's reads against moto's server: a distribution tenant here, a distribution there."""

import json
import urllib.request

import boto3

from tests.bench.pairs import Comparison, Contest, compare
from tests.bench.servers import Reader, free_port, server

ACCOUNT = {
    "region_name": "us-east-1",
    "aws_access_key_id": "bench",
    "aws_secret_access_key": "bench",
}
PARENT = {"id": "E1BENCH", "certificateDomains": ["*.example.com"], "parameters": []}
SCOPE = "bench/20260101/us-east-1/cloudfront/aws4_request"
SIGNED = {"Authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=0"}


def comparisons() -> list[Comparison]:
    """Compare raw HTTP over one connection, so that the server is measured and not boto3."""
    ours, theirs = free_port(), free_port()
    with (
        server("-m", "edgetenants_emulator.main", "--port", str(ours), port=ours),
        server("-m", "moto.server", "-H", "127.0.0.1", "-p", str(theirs), port=theirs),
    ):
        contest = Contest(
            name="emulator-get",
            rival="moto server 5.2.5",
            operation="GetDistributionTenant against moto's GetDistribution, raw HTTP",
            ours=Reader(ours, f"/2020-05-31/distribution-tenant/{tenant(ours)}", SIGNED),
            theirs=Reader(theirs, f"/2020-05-31/distribution/{distribution(theirs)}", SIGNED),
        )
        return [compare(contest)]


def tenant(port: int) -> str:
    """The id of a new tenant of the emulator's seeded distribution."""
    seed = urllib.request.Request(
        f"http://127.0.0.1:{port}/_edgetenants/seed",
        data=json.dumps({"distributions": [PARENT]}).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(seed).close()
    client = boto3.client("cloudfront", endpoint_url=f"http://127.0.0.1:{port}", **ACCOUNT)
    made = client.create_distribution_tenant(
        DistributionId="E1BENCH", Name="bench", Domains=[{"Domain": "bench.example.com"}], Enabled=True
    )
    return made["DistributionTenant"]["Id"]


def distribution(port: int) -> str:
    """The id of a new standard distribution in moto."""
    client = boto3.client("cloudfront", endpoint_url=f"http://127.0.0.1:{port}", **ACCOUNT)
    made = client.create_distribution(
        DistributionConfig={
            "CallerReference": "bench",
            "Comment": "bench",
            "Enabled": True,
            "Origins": {"Quantity": 1, "Items": [{"Id": "o", "DomainName": "o.example.com"}]},
            "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "allow-all"},
        }
    )
    return made["Distribution"]["Id"]
