"""Sends random requests to an emulator. Each must be answered, none may fail, refused ones change nothing.

    python -m edgetenants_emulator.fuzz --count 100000 --seed 7

The fuzzer checks of every response that

- it arrives within seconds
- its status is below 500, or is 501 for an operation that the emulator does not implement
- botocore can parse it, with the members that the model requires
- the code of an error is declared by the operation or common to all operations
- a refused request did not change the state
"""

from __future__ import annotations

import http.client
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import click
from botocore.awsrequest import HeadersDict
from botocore.model import OperationModel, StructureShape
from botocore.parsers import ResponseParserError, create_parser
from botocore.validate import ParamValidator

from edgetenants_emulator.admin import seed
from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.cloudfront import handlers, tenants
from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.errors import ErrorCode
from edgetenants_emulator.fuzz_requests import Known, RawRequest, by_chance
from edgetenants_emulator.protocol.operations import CLOUDFRONT, service_model
from edgetenants_emulator.server import EmulatorServer
from edgetenants_emulator.state.records import Distribution
from edgetenants_emulator.state.world import DEFAULT_ACCOUNT

__all__ = ["COMMON", "Finding", "Report", "main", "run"]

COMMON = frozenset(
    {
        ErrorCode.INCOMPLETE_SIGNATURE,
        ErrorCode.MALFORMED_HTTP_REQUEST,
        ErrorCode.MALFORMED_XML,
        ErrorCode.MISSING_AUTHENTICATION_TOKEN,
        ErrorCode.NOT_IMPLEMENTED,
        ErrorCode.REQUEST_TOO_LARGE,
        ErrorCode.THROTTLING,
        ErrorCode.UNKNOWN_OPERATION,
    }
)
"""Codes that any operation may return in addition to those in its model."""
_PATIENCE_SECONDS = 10.0
_CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"
_SIGNED = (
    f"AWS4-HMAC-SHA256 Credential={DEFAULT_ACCOUNT}/20260101/us-east-1/cloudfront/aws4_request, "
    "SignedHeaders=host, Signature=0"
)
_PARENT = "E1FUZZ"
_NOTHING = StructureShape("Nothing", {"type": "structure", "members": {}})


@dataclass(frozen=True)
class Finding:
    """A request with a wrong response."""

    why: str
    request: RawRequest
    answer: str

    def __str__(self) -> str:
        asked = f"{self.request.method} {self.request.path[:300]}\n  {self.request.body[:2000]!r}"
        return f"{self.request.operation}: {self.why}\n  {asked}\n  {self.answer[:1000]}"


@dataclass
class Report:
    """The results of all requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    """The successful requests by operation."""
    findings: list[Finding] = field(default_factory=list)


def run(
    count: int, begin_at: int = 1, life: int = 200, progress: Callable[[int], None] = lambda _: None
) -> Report:
    """Send `count` requests, with a new emulator after each `life` requests. To reproduce a finding, send
    the requests from the start of its life again."""
    report = Report()
    names = _operations()
    for begin in range(0, count, life):
        with EmulatorServer(rate=0) as server:
            chance = random.Random(f"{begin_at}-{begin}")  # noqa: S311 - no secret
            _Life(server, chance, report).lead(names, min(life, count - begin))
        progress(begin + life)
    return report


def _operations() -> list[str]:
    """All of CloudFront's operations; the ones that the emulator implements occur more often."""
    model = service_model(CLOUDFRONT)
    everything = list(model.operation_names) if model else []
    return [*everything, *list(HANDLERS) * 8]


class _Life:
    """One emulator and its client."""

    def __init__(self, server: EmulatorServer, chance: random.Random, report: Report) -> None:
        self.world = server.world
        self.chance = chance
        self.report = report
        self.connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=_PATIENCE_SECONDS)
        parameters = [{"name": "tenantName"}, {"name": "tier", "default": "gold"}]
        wanted = {"id": _PARENT, "certificateDomains": ["*.example.com"], "parameters": parameters}
        made = seed.seed(self.world, {"distributions": [wanted]})["distributions"]
        self.certificate: str = made[0]["certificateArn"]
        for number in range(2):
            domain = {"Domain": f"first{number}.example.com"}
            first = {
                "DistributionId": _PARENT,
                "Name": f"first-{number}",
                "Domains": [domain],
                "Enabled": False,
            }
            tenants.create(self.world, DEFAULT_ACCOUNT, {**first, "Enabled": False})

    def lead(self, names: list[str], count: int) -> None:
        """Send `count` requests, and sometimes step the clock."""
        for _ in range(count):
            if self.chance.random() < 0.1:
                self.world.clock.step(self.chance.choice((1.0, 60.0, 86_400.0)))
            self._ask(handlers.operation_model(self.chance.choice(names)))
        self.connection.close()

    def _ask(self, operation: OperationModel) -> None:
        request = by_chance(self.chance, operation, self._known(operation.name))
        with self.world.lock:
            # Any request triggers what is due, such as certificates.
            managed_certificates.advance(self.world)
        before = self._state()
        try:
            headers = {**request.headers, "Authorization": _SIGNED}
            self.connection.request(request.method, request.path, request.body, headers)
            response = self.connection.getresponse()
            status, given, body = response.status, dict(response.getheaders()), response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.report.findings.append(Finding(f"no response: {error!r}", request, ""))
            return
        self.report.statuses[status] += 1
        self.report.operations[operation.name] += status < 300
        wrong = list(_faults(operation, request, status, given, body))
        if status >= 400 and before != self._state():
            wrong.append("but the state has changed")
        answer = body.decode(errors="replace")
        self.report.findings += [Finding(f"{status}, {why}", request, answer) for why in wrong]

    def _state(self) -> str:
        world = self.world
        shelves = (world.distributions, world.groups, world.tenants, world.anycast_lists)
        return repr([*([vars(each) for each in shelf] for shelf in shelves), world.domains])

    def _known(self, operation: str) -> Known:
        """The known values for an operation. Ids are of the operation's kind."""
        world = self.world
        kinds: dict[str, list[Any]] = {
            "Tenant": list(world.tenants),
            "ManagedCertificate": list(world.tenants),
            "Dns": list(world.tenants),
            "ConnectionGroup": list(world.groups),
            "Anycast": list(world.anycast_lists),
            "": list(world.distributions),
        }
        fitting = next(found for kind, found in kinds.items() if kind in operation)
        everything = [each for found in kinds.values() for each in found]
        ids = tuple(name for each in fitting for name in (each.id, each.id, each.name, each.arn))
        values = {
            "Id": tuple(each.id for each in fitting),
            "DistributionId": (_PARENT, _PARENT, *(each.id for each in world.distributions)),
            "ConnectionGroupId": tuple(each.id for each in world.groups),
            "AnycastIpListId": ("", *(each.id for each in world.anycast_lists)),
            "RoutingEndpoint": tuple(each.routing_endpoint for each in world.groups),
            "Domain": (
                *world.domains,
                *(f"t{number}.example.com" for number in range(4)),
                "shop.example.org",
            ),
            "Resource": tuple(each.arn for each in everything),
            "Name": ("tier", "tenantName", "fuzz-one", "fuzz-two"),
            "ConnectionMode": ("tenant-only", "direct"),
        }
        values["DistributionTenantId"] = tuple(each.id for each in world.tenants)
        one = self.chance.choice(fitting) if fitting else None
        valid = _valid(self.certificate, one, enabled=self.chance.random() < 0.5)
        return Known(ids, tuple(sorted({each.etag for each in fitting})), values, valid)


def _faults(
    operation: OperationModel, request: RawRequest, status: int, headers: dict[str, str], body: bytes
) -> Iterator[str]:
    """The faults of a response."""
    ours = operation.name in HANDLERS and not request.elsewhere
    if status < 300 and operation.name == "GetFunction":
        return  # the code of a function, which is any bytes
    if status >= 500 and (status != 501 or ours):
        yield "a failure"
        return
    try:
        answer = {"status_code": status, "headers": HeadersDict(headers), "body": body}
        parsed = create_parser("rest-xml").parse(answer, operation.output_shape or _NOTHING)
    except (ResponseParserError, ValueError) as error:
        yield f"botocore cannot parse it: {error!r}"
        return
    if status >= 300:
        yield from _faults_of_error(operation, parsed.get("Error", {}), declared=ours)
    elif ours and operation.output_shape:
        del parsed["ResponseMetadata"]
        wrong = ParamValidator().validate(parsed, operation.output_shape)
        if wrong.has_errors():
            yield f"does not match the model: {wrong.generate_report()}"


def _faults_of_error(operation: OperationModel, error: dict[str, Any], *, declared: bool) -> Iterator[str]:
    code = error.get("Code", "")
    if not code or not error.get("Message"):
        yield "an error without code or message"
    elif declared and code not in COMMON | {shape.name for shape in operation.error_shapes}:
        yield f"the operation does not declare the error {code}"


def _valid(certificate: str, one: Any, *, enabled: bool) -> dict[str, dict[str, Any]]:
    """Valid requests about the resource `one`: `?` is an existing value, `#` a new one."""
    server = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}
    behavior = {
        "TargetOriginId": "o",
        "ViewerProtocolPolicy": "https-only",
        "CachePolicyId": _CACHING_OPTIMIZED,
    }
    config: dict[str, Any] = {
        "CallerReference": "#",
        "Comment": "",
        "Enabled": enabled,
        "Origins": {
            "Quantity": 1,
            "Items": [{"Id": "o", "DomainName": "o.example.com", "CustomOriginConfig": server}],
        },
        "DefaultCacheBehavior": behavior,
        "CacheBehaviors": {"Quantity": 1, "Items": [{"PathPattern": "/a", **behavior}]},
        "CustomErrorResponses": {"Quantity": 1, "Items": [{"ErrorCode": 404, "ErrorCachingMinTTL": 5}]},
    }
    definition = {"Name": "tenantName", "Definition": {"StringSchema": {"Required": False}}}
    parent = {
        **config,
        "ConnectionMode": "tenant-only",
        "TenantConfig": {"ParameterDefinitions": [definition]},
    }
    tagged = {"Items": [{"Key": "a", "Value": "b"}]}
    tenant: dict[str, Any] = {
        "DistributionId": _PARENT,
        "Domains": [{"Domain": "t#.example.com"}],
        "Parameters": [{"Name": "tier", "Value": "gold"}],
        "Customizations": {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}},
        "Enabled": enabled,
    }
    versioned = {"Id": one.id, "IfMatch": one.etag} if one else {"Id": "none", "IfMatch": "none"}
    identified = {"Identifier": versioned["Id"]}
    target = {"DistributionTenantId": "?"}
    asked = {"ValidationTokenHost": "self-hosted"}
    batch = {"CallerReference": "#", "Paths": {"Quantity": 1, "Items": ["/*"]}}
    return {
        "CreateDistribution": {"DistributionConfig": parent},
        "CreateDistributionWithTags": {
            "DistributionConfigWithTags": {"DistributionConfig": config, "Tags": tagged}
        },
        "CreateDistributionTenant": {**tenant, "Name": "fuzz-#", "Tags": tagged},
        "UpdateDistributionTenant": {**versioned, "Enabled": enabled, "ManagedCertificateRequest": asked},
        "DeleteDistributionTenant": versioned,
        "CreateConnectionGroup": {"Name": "fuzz-#", "Tags": tagged, "Enabled": True},
        "UpdateConnectionGroup": {**versioned, "Enabled": False},
        "DeleteConnectionGroup": versioned,
        "CreateAnycastIpList": {"Name": "fuzz-#", "IpCount": 3},
        "UpdateAnycastIpList": {**versioned, "IpAddressType": "ipv4"},
        "DeleteAnycastIpList": versioned,
        "CreateInvalidationForDistributionTenant": {"Id": "?", "InvalidationBatch": batch},
        "CreateInvalidation": {"DistributionId": versioned["Id"], "InvalidationBatch": batch},
        "AssociateDistributionTenantWebACL": {
            **versioned,
            "WebACLArn": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b",
        },
        "UpdateDomainAssociation": {"Domain": "?", "TargetResource": target},
        "UpdateDistribution": {**versioned, "DistributionConfig": {**_config_of(one), "Enabled": enabled}},
        "DeleteDistribution": versioned,
        "VerifyDnsConfiguration": identified,
        "ListDomainConflicts": {"Domain": "?", "DomainControlValidationResource": target},
        "GetManagedCertificateDetails": identified,
        "DisassociateDistributionTenantWebACL": versioned,
        "ListDistributionTenants": {"AssociationFilter": {"DistributionId": _PARENT}, "MaxItems": 2},
        "ListDistributionTenantsByCustomization": {"CertificateArn": certificate},
        "TagResource": {"Resource": "?", "Tags": tagged},
        "UntagResource": {"Resource": "?", "TagKeys": {"Items": ["a"]}},
    }


def _config_of(one: Any) -> dict[str, Any]:
    """The complete configuration of a distribution, because an update must not omit anything."""
    return dict(one.config) if isinstance(one, Distribution) else {}


@click.command()
@click.option("--count", default=20_000, type=click.IntRange(min=1), help="Number of requests.")
@click.option("--seed", default=1, help="Seed of the random generator.")
@click.option("--life", default=200, type=click.IntRange(min=1), help="Requests per emulator.")
def main(count: int, seed: int, life: int) -> None:
    """Send random requests to emulators, and report wrong responses. Fails if there are any."""

    def progress(done: int) -> None:
        if done % 10_000 == 0:
            click.echo(f"{done} requests", err=True)

    report = run(count, seed, life, progress)
    for finding in report.findings:
        click.echo(str(finding))
    click.echo(f"{count} requests, responses by status {dict(sorted(report.statuses.items()))}")
    if report.findings:
        raise click.ClickException(f"{len(report.findings)} findings")


if __name__ == "__main__":
    main()
