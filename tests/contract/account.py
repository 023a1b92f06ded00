"""One AWS account at some server, and what a scenario sees of the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

SESSION = boto3.Session(botocore_session=botocore.session.get_session())
PARAMETERS = ("tenantName", "tier")
CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"
SERVER = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}
# What a create or an update decides, and no server may answer otherwise.
_DECIDED = ("Name", "Enabled", "Parameters", "Customizations", "Ipv6Enabled", "IsDefault")


@dataclass
class Account:
    """Fresh, with a multi-tenant distribution `parent` whose certificate covers *.example.com."""

    url: str
    number: str
    issue: Callable[[str, list[str]], str]
    """An issued certificate of an account for some names."""
    deploy: Callable[[], None]
    """Let all that is InProgress become Deployed."""
    parent: str = field(init=False)

    def __post_init__(self) -> None:
        self.cloudfront = self.client("cloudfront")
        self.certificate = self.issue(self.number, ["*.example.com", "example.com"])
        self.parent = self.distribution("parent")

    def other(self) -> Account:
        """Another account at the same server."""
        return replace(self, number="9" + self.number[1:])

    def client(self, service: str) -> Any:
        return SESSION.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=self.number,
            aws_secret_access_key="any",
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )

    def distribution(self, reference: str, **changes: Any) -> str:
        config = {**multi_tenant(reference, self.certificate), **changes}
        config = {name: value for name, value in config.items() if value is not None}
        return self.cloudfront.create_distribution(DistributionConfig=config)["Distribution"]["Id"]

    def tenant(self, name: str = "acme", **members: Any) -> Answer:
        """Create a tenant under `parent`, with the domain NAME.example.com unless told otherwise."""
        wanted = {
            "DistributionId": self.parent,
            "Name": name,
            "Domains": domains(f"{name}.example.com"),
            **members,
        }
        return self.ask("create_distribution_tenant", **wanted)

    def group(self, name: str = "edge", **members: Any) -> Answer:
        return self.ask("create_connection_group", Name=name, **members)

    def ask(self, operation: str, **params: Any) -> Answer:
        """Call; a refusal is an answer too."""
        try:
            return Answer(getattr(self.cloudfront, operation)(**params))
        except ClientError as refused:
            return Answer(refused.response)

    def tags(self, arn: str) -> dict[str, str]:
        found = self.cloudfront.list_tags_for_resource(Resource=arn)["Tags"]["Items"]
        return {tag["Key"]: tag["Value"] for tag in found}


@dataclass(frozen=True)
class Answer:
    """What boto3 gave, be it a result or a refusal."""

    raw: dict[str, Any]

    @property
    def outcome(self) -> str:
        """`200`, or `404 EntityNotFound`."""
        status = str(self.raw["ResponseMetadata"]["HTTPStatusCode"])
        return f"{status} {self.raw['Error']['Code']}" if "Error" in self.raw else status

    @property
    def etag(self) -> str:
        return self.raw["ETag"]

    @property
    def body(self) -> dict[str, Any]:
        """The tenant or connection group in it; AssertionError when the call was refused."""
        assert "Error" not in self.raw, self.raw["Error"]
        return next(self.raw[name] for name in ("DistributionTenant", "ConnectionGroup") if name in self.raw)

    @property
    def id(self) -> str:
        return self.body["Id"]

    @property
    def version(self) -> dict[str, str]:
        """What a write of it needs."""
        return {"Id": self.id, "IfMatch": self.etag}

    @property
    def decided(self) -> dict[str, Any]:
        """The members that are the caller's."""
        shown = {name: self.body[name] for name in _DECIDED if name in self.body}
        if "Domains" in self.body:
            shown["Domains"] = [item["Domain"] for item in self.body["Domains"]]
        return shown


def domains(*names: str) -> list[dict[str, str]]:
    return [{"Domain": name} for name in names]


def parameters(**values: str) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in values.items()]


def tags(**values: str) -> dict[str, Any]:
    return {"Items": [{"Key": key, "Value": value} for key, value in values.items()]}


def multi_tenant(reference: str, certificate: str) -> dict[str, Any]:
    return {
        "CallerReference": reference,
        "Comment": "",
        "Enabled": True,
        "Origins": {
            "Quantity": 1,
            "Items": [
                {
                    "Id": "o",
                    "DomainName": "o.example.com",
                    "OriginPath": "",
                    "CustomOriginConfig": SERVER,
                }
            ],
        },
        "DefaultCacheBehavior": {
            "TargetOriginId": "o",
            "ViewerProtocolPolicy": "https-only",
            "CachePolicyId": CACHING_OPTIMIZED,
        },
        "ConnectionMode": "tenant-only",
        "TenantConfig": {
            "ParameterDefinitions": [
                {"Name": name, "Definition": {"StringSchema": {"Required": False}}} for name in PARAMETERS
            ]
        },
        "ViewerCertificate": {
            "ACMCertificateArn": certificate,
            "SSLSupportMethod": "sni-only",
            "MinimumProtocolVersion": "TLSv1.2_2021",
        },
    }
