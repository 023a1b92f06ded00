"""Finds the service and operation of a request, from the same models that AWS's SDKs use."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qs, unquote

from botocore.exceptions import UnknownServiceError
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel

from edgetenants_emulator.protocol.exchange import Request

__all__ = ["Operation", "Scope", "resolve", "scope_of", "service_model"]

CLOUDFRONT = "cloudfront"
ROUTE53 = "route53"
_loading = threading.Lock()
_CREDENTIAL = re.compile(r"Credential=([^/\s]+)/[0-9]+/([^/\s]*)/([^/\s]+)/aws4_request")
# The API versions in the paths of services that always require credentials.
_UNSIGNED_PATHS = {"2020-05-31": CLOUDFRONT, "2013-04-01": ROUTE53}


@dataclass(frozen=True)
class Scope:
    """The scope in the signature. Signatures are not verified."""

    access_key: str
    region: str
    service: str


@dataclass(frozen=True)
class Operation:
    """A request's operation. `name` is empty if the service does not have the operation."""

    service: str
    name: str
    protocol: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """The variable parts of the path, decoded."""


def scope_of(request: Request) -> Scope | None:
    """The access key, region and service of a signed request; None if it is not signed."""
    match = _CREDENTIAL.search(request.headers.get("authorization", ""))
    return Scope(match[1], match[2], match[3].lower()) if match else None


def resolve(request: Request, scope: Scope | None) -> Operation:
    """The operation of a request: from its signing scope, or from its path or form if it is not signed."""
    service = scope.service if scope else _unsigned_service(request)
    model = service_model(service)
    if model is None:
        return Operation(service, "", "")
    protocol = model.metadata["protocol"]
    if protocol.startswith("rest"):
        name, labels = _routes(service).match(request)
        return Operation(service, name, protocol, labels)
    return Operation(service, _action(request), protocol)


@lru_cache(maxsize=64)
def service_model(service: str) -> ServiceModel | None:
    """botocore's model of a service, by its signing name; None if botocore has no such service."""
    try:
        # One thread at a time, because loading takes tens of milliseconds and first calls are often parallel.
        with _loading:
            return ServiceModel(Loader().load_service_model(service, "service-2"), service)
    except UnknownServiceError:
        return None


def _unsigned_service(request: Request) -> str:
    version = request.path.split("/", 2)[1] if "/" in request.path else ""
    return _UNSIGNED_PATHS.get(version, "sts" if _action(request) else "")


def _action(request: Request) -> str:
    """The operation in protocols that contain its name: in a header (JSON) or in the form (query)."""
    target = request.headers.get("x-amz-target")
    if target:
        return target.rpartition(".")[2]
    if "Action" in request.query:
        return request.query["Action"]
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return parse_qs(request.body.decode(errors="replace")).get("Action", [""])[0] if form else ""


@dataclass(frozen=True)
class _Route:
    operation: str
    method: str
    parts: tuple[str, ...]
    """The parts of the path; variable ones are `{Name}`."""
    query: tuple[tuple[str, str], ...]

    def fits(self, parts: tuple[str, ...], query: Mapping[str, str]) -> bool:
        return all(query.get(key) == value for key, value in self.query) and all(
            own == part or own.startswith("{") for own, part in zip(self.parts, parts, strict=True)
        )

    def labels(self, parts: tuple[str, ...]) -> dict[str, str]:
        return {
            own.strip("{}+"): unquote(part)
            for own, part in zip(self.parts, parts, strict=True)
            if own.startswith("{")
        }

    @property
    def rank(self) -> tuple[int, int]:
        """The sort key: first by matches in the query (`?WithTags`), then by literal parts."""
        return -len(self.query), sum(part.startswith("{") for part in self.parts)


class _Routes:
    """The paths of a service with a REST protocol."""

    def __init__(self, operations: list[OperationModel]) -> None:
        routes = sorted((_route(operation) for operation in operations), key=lambda route: route.rank)
        self._by_shape: dict[tuple[str, int], list[_Route]] = {}
        for route in routes:
            self._by_shape.setdefault((route.method, len(route.parts)), []).append(route)

    def match(self, request: Request) -> tuple[str, dict[str, str]]:
        """The operation and its labels; the operation is empty if no path matches."""
        parts = _parts(request.path)
        for route in self._by_shape.get((request.method, len(parts)), ()):
            if route.fits(parts, request.query):
                return route.operation, route.labels(parts)
        return "", {}


@lru_cache(maxsize=64)
def _routes(service: str) -> _Routes:
    model = service_model(service)
    names = model.operation_names if model else []
    return _Routes([model.operation_model(name) for name in names] if model else [])


def _route(operation: OperationModel) -> _Route:
    path, _, query = operation.http["requestUri"].partition("?")
    pairs = tuple((key, value) for key, _, value in (q.partition("=") for q in query.split("&") if q))
    return _Route(operation.name, operation.http["method"], _parts(path), pairs)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").split("/"))
