"""One fresh emulator for each test, an account with a multi-tenant distribution, and boto3 clients to it."""

import http.client
import json
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.acm.models import acm_backends
from moto.route53.models import route53_backends

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.certificates import acm
from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol.operations import service_model

ACCOUNT = "123456789012"
OTHER_ACCOUNT = "210987654321"
CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"
COVERED = ("*.example.com", "example.com", "*.acme.com")
SESSION = boto3.Session(botocore_session=botocore.session.get_session())
# What any operation of any AWS service may answer, beside what its model declares.
UNDECLARED = {
    "ExpiredToken",
    "IncompleteSignature",
    "MalformedHttpRequestException",
    "MalformedXML",
    "MissingAuthenticationToken",
    "NotImplemented",
    "RequestAbortedException",
    "RequestEntityTooLargeException",
    "RequestTimeoutException",
    "Throttling",
    "UnknownOperationException",
}


class Admin:
    """The admin API over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/_edgetenants"

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data=data, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        with pytest.raises(urllib.error.HTTPError) as raised:
            self(method, path, body)
        return raised.value.code, json.load(raised.value)["error"]["message"]

    def step(self, seconds: float) -> None:
        self("POST", "clock", {"step": seconds})

    def settings(self, **changes: Any) -> None:
        self("PATCH", "settings", changes)

    def operations(self) -> list[str]:
        return [call["operation"] for call in self("GET", "calls")["calls"]]


@dataclass
class Aws:
    """One account, with a short way to what most tests need."""

    url: str
    account: str
    parent: str = ""

    def __post_init__(self) -> None:
        self.cloudfront = self.client("cloudfront")

    def client(self, service: str, retries: int = 1, read_timeout: float = 20) -> Any:
        return SESSION.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=self.account,
            aws_secret_access_key="any",
            config=Config(
                retries={"total_max_attempts": retries}, read_timeout=read_timeout, max_pool_connections=32
            ),
        )

    def certificate(self, *names: str) -> str:
        return acm.issue(self.account, names)

    def distribution(
        self, reference: str = "one", certificate: str = "", parameters: Any = (), **config: Any
    ) -> str:
        return self.cloudfront.create_distribution(
            DistributionConfig=multi_tenant_config(reference, certificate, parameters, **config)
        )["Distribution"]["Id"]

    def tenant(self, name: str = "acme", **members: Any) -> dict[str, Any]:
        """Create a tenant; what boto3 gives."""
        wanted = {
            "DistributionId": self.parent,
            "Name": name,
            "Domains": domains(f"{name}.example.com"),
            **members,
        }
        return self.cloudfront.create_distribution_tenant(**wanted)

    def group(self, name: str = "edge", **members: Any) -> dict[str, Any]:
        return self.cloudfront.create_connection_group(Name=name, **members)

    def refused(self, operation: str, **params: Any) -> tuple[str, int]:
        """Code and HTTP status with which a call is refused."""
        with pytest.raises(ClientError) as raised:
            getattr(self.cloudfront, operation)(**params)
        response = raised.value.response
        assert response["ResponseMetadata"]["RequestId"]
        return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def domains(*names: str) -> list[dict[str, str]]:
    return [{"Domain": name} for name in names]


def tags(**pairs: str) -> dict[str, Any]:
    return {"Items": [{"Key": key, "Value": value} for key, value in pairs.items()]}


def multi_tenant_config(reference: str, certificate: str, parameters: Any, **changes: Any) -> dict[str, Any]:
    path = "/{{tenantName}}" if "tenantName" in dict(parameters) else ""
    server = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}
    origin = {"Id": "o", "DomainName": "o.example.com", "OriginPath": path, "CustomOriginConfig": server}
    config = {
        "CallerReference": reference,
        "Comment": "",
        "Enabled": True,
        "Origins": {"Quantity": 1, "Items": [origin]},
        "DefaultCacheBehavior": {
            "TargetOriginId": "o",
            "ViewerProtocolPolicy": "https-only",
            "CachePolicyId": CACHING_OPTIMIZED,
        },
        "ConnectionMode": "tenant-only",
        "TenantConfig": {
            "ParameterDefinitions": [
                {"Name": name, "Definition": {"StringSchema": {"Required": required}}}
                for name, required in parameters
            ]
        },
        **changes,
    }
    if certificate:
        config["ViewerCertificate"] = {
            "ACMCertificateArn": certificate,
            "SSLSupportMethod": "sni-only",
            "MinimumProtocolVersion": "TLSv1.2_2021",
        }
    return {name: value for name, value in config.items() if value is not None}


@pytest.fixture(scope="session")
def issued() -> dict[str, Any]:
    """A certificate for each account, made once: keys are slow."""
    arns = {account: acm.issue(account, COVERED) for account in (ACCOUNT, OTHER_ACCOUNT)}
    return {account: acm_backends[account]["us-east-1"].get_certificate(arn) for account, arn in arns.items()}


@pytest.fixture
def inherited(issued) -> dict[str, str]:
    """The certificate of each account, in ACM again where a reset has taken it away."""
    for account, bundle in issued.items():
        acm_backends[account]["us-east-1"]._certificates[bundle.arn] = bundle
    return {account: bundle.arn for account, bundle in issued.items()}


@pytest.fixture
def emulator():
    """A server of its own, standing still unless stepped. Afterwards: every refusal was a declared one."""
    with EmulatorServer(rate=0) as server:
        yield server
        for call in server.application.calls.report()["calls"]:
            if call["code"] and call["operation"] in HANDLERS and not call["fault"]:
                assert call["code"] in declared(call["operation"]) | UNDECLARED, call


@pytest.fixture(autouse=True)
def nothing_left():
    """moto's state outlives the server: no test finds another's zones, or saves another's certificates."""
    yield
    for backends in route53_backends.values():
        backends["aws"].zones.clear()
    for backends in acm_backends.values():
        held = backends["us-east-1"]._certificates
        for arn in [arn for arn, each in held.items() if isinstance(each, acm.ManagedBundle)]:
            del held[arn]


def declared(operation: str) -> set[str]:
    return {shape.name for shape in service_model("cloudfront").operation_model(operation).error_shapes}


@pytest.fixture
def admin(emulator) -> Admin:
    return Admin(emulator.url)


@pytest.fixture
def aws(emulator, inherited) -> Aws:
    """The default account with the parent `aws.parent`, whose certificate covers COVERED."""
    account = Aws(emulator.url, ACCOUNT)
    account.parent = account.distribution(
        certificate=inherited[ACCOUNT], parameters=[("tenantName", False), ("tier", False)]
    )
    return account


@pytest.fixture
def other(emulator, inherited) -> Aws:
    """Another account, equipped alike."""
    account = Aws(emulator.url, OTHER_ACCOUNT)
    account.parent = account.distribution(certificate=inherited[OTHER_ACCOUNT])
    return account


@pytest.fixture
def is_of_distributions():
    """Whether an operation is one of distributions, their invalidations, or Anycast lists."""
    words = ("Distribution", "Invalidation", "AnycastIpList")
    return lambda name: "Tenant" not in name and any(word in name for word in words)


@pytest.fixture
def bare(emulator):
    """A signed request without SDK: its HTTP status, and the code of the error."""

    def send(method: str, path: str, body: str | bytes = "", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(urlsplit(emulator.url).netloc, timeout=10)
        scope = f"{ACCOUNT}/20260101/us-east-1/cloudfront/aws4_request"
        signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        wanted = {"Authorization": signed, **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection.request(method, f"/2020-05-31/{path}", body or None, wanted)
        response = connection.getresponse()
        text = send.body = response.read().decode()  # type: ignore[attr-defined]
        connection.close()
        return response.status, text.partition("<Code>")[2].partition("</Code>")[0]

    return send


@pytest.fixture
def in_background():
    """Run a function on a thread; joined at the end of the test."""
    threads: list[threading.Thread] = []

    def run(function, *args, **kwargs) -> list[Any]:
        outcome: list[Any] = []

        def catch() -> None:
            try:
                outcome.append(function(*args, **kwargs))
            except Exception as error:  # noqa: BLE001
                outcome.append(error)

        threads.append(threading.Thread(target=catch, daemon=True))
        threads[-1].start()
        return outcome

    run.join = lambda: [thread.join(10) for thread in threads]  # type: ignore[attr-defined]
    yield run
    run.join()  # type: ignore[attr-defined]
