"""A small client for JSON objects of any kind."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kubernetes import client as library
from kubernetes import config as loader
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry

from edgetenants_runtime.bounds import wait
from edgetenants_runtime.decoding import decode
from edgetenants_runtime.kube.errors import Forbidden, Invalid, KubeError, Operation, refusal, why
from edgetenants_runtime.kube.server_time import ServerTime
from edgetenants_runtime.kube.watch import Watch
from edgetenants_runtime.managed import ObjectKey, ResourceKind

__all__ = ["KubeClient", "Page", "PageTooLarge"]

JsonObject = dict[str, Any]

_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
"""JSON is YAML, but for some characters: see `_as_yaml`."""
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that YAML's readers refuse, or take for a line break, if they are no escapes (YAML 1.1, 5.1)."""
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
_ACCESS_REVIEW = ResourceKind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
_TIMEOUT = (5.0, 30.0)
"""Seconds to connect, and between two reads."""
_SILENCE = 180.0
"""Bookmarks arrive about every minute; a watch without data for three minutes counts as dead."""
_CONNECTIONS = 64
_LONGEST_RETRY_AFTER = 300.0
"""Seconds. A proxy in front of the API server may send any value."""


@dataclass(frozen=True)
class _Request:
    operation: Operation
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: str = _JSON
    accept: str = _JSON
    timeout: tuple[float, float] | None = None
    """None: the client's timeout."""
    at_most: int | None = None
    """Bytes of the response that are read; None: all."""


@dataclass(frozen=True)
class Page:
    """One page of a list."""

    items: list[JsonObject]
    resource_version: str
    """Version of the whole list, from which a watch continues."""
    continue_token: str
    """"" on the last page."""
    size: int = 0
    """Bytes of the response."""


class PageTooLarge(KubeError):  # noqa: N818
    """The response has more bytes than the caller reads; ask for fewer objects."""


class KubeClient:
    """A client of one API server. Thread-safe. Every method raises KubeError and nothing else."""

    def __init__(
        self, configuration: library.Configuration, *, field_manager: str, watch_silence: float = _SILENCE
    ) -> None:
        """`watch_silence`: seconds after which a watch without data counts as dead."""
        configuration.connection_pool_maxsize = _CONNECTIONS
        configuration.keep_alive = True
        # Replace a connection that the server closed while idle; never retry after a response.
        configuration.retries = Retry(
            total=2, connect=2, read=0, status=0, redirect=0, other=0, respect_retry_after_header=False
        )
        self._api: Any = library.ApiClient(configuration)
        self._api.user_agent = field_manager
        self._field_manager = field_manager
        self._refused: dict[tuple[str, str], str] = {}
        self._selection: dict[str, str] = {}
        self._timeout = _TIMEOUT
        self._silence = watch_silence
        self._answered: Callable[[str, int], None] = lambda _method, _code: None
        self.server_time = ServerTime()
        """The time of the API server; copies of the client share it."""

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | Path,
        context: str | None = None,
        *,
        field_manager: str = "edgetenants-runtime",
        watch_silence: float = _SILENCE,
    ) -> KubeClient:
        """A client from a kubeconfig file. Raises kubernetes.config.ConfigException for an invalid file."""
        configuration = library.Configuration()
        load: Any = loader.load_kube_config
        load(str(path), context, client_configuration=configuration, persist_config=False)
        return cls(configuration, field_manager=field_manager, watch_silence=watch_silence)

    @classmethod
    def in_cluster(cls, *, field_manager: str = "edgetenants-runtime") -> KubeClient:
        """A client from the pod's ServiceAccount. Raises kubernetes.config.ConfigException outside a pod."""
        configuration = library.Configuration()
        load: Any = loader.load_incluster_config
        load(client_configuration=configuration)
        return cls(configuration, field_manager=field_manager)

    def selecting(self, labels: Mapping[str, str], *, fields: Mapping[str, str] | None = None) -> KubeClient:
        """A copy of the client whose lists and watches select objects with all these labels, and with these
        values of fields that the API server can select by."""
        other = copy.copy(self)
        chosen = {"labelSelector": _selector(labels), "fieldSelector": _selector(fields or {})}
        other._selection = {name: value for name, value in chosen.items() if value}  # noqa: SLF001 - own class
        return other

    def bounded(self, seconds: float) -> KubeClient:
        """A copy of the client that waits at most that long to connect, and for a response."""
        other = copy.copy(self)
        other._timeout = (seconds, seconds)  # noqa: SLF001 - of the same class
        return other

    def on_answer(self, handler: Callable[[str, int], None]) -> None:
        """Call the handler with the method and status code of each request, 0 if there is no response. There
        is one handler."""
        self._answered = handler

    @property
    def refused(self) -> tuple[str, ...]:
        """What RBAC forbids at present: one message per verb and resource whose last response was 403."""
        return tuple(message for _, message in sorted(self._refused.items()))

    def list_page(
        self,
        kind: ResourceKind,
        *,
        limit: int = 500,
        continue_token: str = "",
        metadata_only: bool = False,
        at_most: int | None = None,
    ) -> Page:
        """One page of the kind's objects in all namespaces. Raises PageTooLarge, without reading the rest, if
        it has more than `at_most` bytes."""
        query = {"limit": str(limit)} | ({"continue": continue_token} if continue_token else {})
        query |= self._selection
        accept = _METADATA_LIST if metadata_only else _JSON
        request = _Request(Operation("list", kind), "GET", _path(kind), query, accept=accept, at_most=at_most)
        data = self._data(request)
        answer = _parsed(request, data)
        metadata = answer.get("metadata") or {}
        items = [{"apiVersion": kind.api_version, "kind": kind.kind} | item for item in answer["items"] or ()]
        version = str(metadata.get("resourceVersion", ""))
        return Page(items, version, metadata.get("continue") or "", len(data))

    def reached(self, kind: ResourceKind) -> str:
        """The resource version that the server has reached for the kind. It lists one object, whatever this
        client selects: to find one that is selected, the server may read all. Raises KubeError."""
        query = {"limit": "1"}
        request = _Request(Operation("list", kind), "GET", _path(kind), query, accept=_METADATA_LIST)
        answer = _parsed(request, self._data(request))
        return str((answer.get("metadata") or {}).get("resourceVersion", ""))

    def watch(
        self, kind: ResourceKind, resource_version: str, *, seconds: int, metadata_only: bool = False
    ) -> Watch:
        """The changes since `resource_version`, with bookmarks. The server ends the stream after
        `seconds`."""
        operation = Operation("watch", kind)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        query |= self._selection
        accept = _METADATA if metadata_only else _JSON
        timeout = (_TIMEOUT[0], self._silence)
        request = _Request(operation, "GET", _path(kind), query, accept=accept, timeout=timeout)
        return Watch(operation, self._send(request))

    def get(self, kind: ResourceKind, key: ObjectKey) -> JsonObject:
        """One object."""
        return self._json(_Request(_operation("get", kind, key), "GET", _path(kind, key)))

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[JsonObject]:
        """The objects in the namespace ("": in all, or cluster-scoped ones) with all the labels."""
        found: list[JsonObject] = []
        query = {"limit": "500", "labelSelector": _selector(labels)}
        operation = Operation("list", kind, namespace=namespace)
        while True:
            answer = self._json(_Request(operation, "GET", _path(kind, ObjectKey(namespace, "")), query))
            found += [{"apiVersion": kind.api_version, "kind": kind.kind} | i for i in answer["items"] or ()]
            token = (answer.get("metadata") or {}).get("continue")
            if not token:
                return found
            query = {**query, "continue": token}

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> JsonObject:
        """Create the object; returns it as stored. Raises AlreadyExists."""
        metadata = obj["metadata"]
        key = ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")
        path = _path(kind, ObjectKey(key.namespace, ""))
        body = {"apiVersion": kind.api_version, "kind": kind.kind} | dict(obj)
        return self._json(_Request(_operation("create", kind, key), "POST", path, self._written, body))

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> JsonObject:
        """Apply a JSON merge patch. If it has metadata.resourceVersion and that is not current, it raises
        Conflict."""
        operation = _named(Operation("patch", kind, subresource, key.name, key.namespace))
        path = _path(kind, key, subresource)
        return self._json(_Request(operation, "PATCH", path, self._written, patch, content=_MERGE_PATCH))

    def apply(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        fields: Mapping[str, Any],
        *,
        manager: str,
        force: bool = False,
    ) -> JsonObject:
        """Apply `fields` (metadata and spec, without name and kind) as a field manager (server-side apply):
        it creates the object if there is none, and removes the fields that the manager applied before and
        does not apply now. Raises Conflict if another manager has one of them with another value and not
        `force`, or if metadata.uid is that of another object."""
        operation = _named(Operation("patch", kind, "", key.name, key.namespace))
        metadata = {**fields.get("metadata", {}), "name": key.name}
        if key.namespace:
            metadata["namespace"] = key.namespace
        body = {**fields, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        return self._json(_Request(operation, "PATCH", _path(kind, key), query, body, content=_APPLY_PATCH))

    def delete(self, kind: ResourceKind, key: ObjectKey, *, uid: str, resource_version: str) -> None:
        """Delete exactly this version of the object. Raises Conflict if it is another one, and NotFound."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        self._data(_Request(_operation("delete", kind, key), "DELETE", _path(kind, key), body=body))

    def allowed(self, verb: str, kind: ResourceKind) -> bool:
        """RBAC permits the verb on all objects of the kind (SelfSubjectAccessReview)."""
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
        body = {"metadata": {}, "spec": {"resourceAttributes": attributes}}
        return bool(self.create(_ACCESS_REVIEW, body)["status"].get("allowed"))

    def close(self) -> None:
        """Close idle connections."""
        self._api.close()

    @property
    def _written(self) -> dict[str, str]:
        return {"fieldManager": self._field_manager}

    def _json(self, request: _Request) -> JsonObject:
        return _parsed(request, self._data(request))

    def _data(self, request: _Request) -> bytes:
        response = self._send(request)
        most = request.at_most
        try:
            data = response.data if most is None else response.read(most + 1)
        except (HTTPError, OSError) as error:
            raise KubeError(request.operation, 0, why(error)) from error
        if most is not None and len(data) > most:
            response.close()
            raise PageTooLarge(request.operation, 200, f"the response has more than {most} bytes")
        return data

    def _send(self, request: _Request) -> BaseHTTPResponse:
        headers = {"Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content
        prepared = self._api.param_serialize(
            request.method,
            request.path,
            query_params=list(request.query.items()),
            header_params=headers,
            auth_settings=["BearerToken"],
        )
        sent = self.server_time.sent()
        try:
            timeout = request.timeout or self._timeout
            answer = self._api.call_api(*prepared[:3], _body(request), _request_timeout=timeout)
        except (HTTPError, OSError, library.ApiException) as error:
            self._answered(request.method, 0)
            raise KubeError(request.operation, 0, why(error)) from error
        response: BaseHTTPResponse = answer.response
        self._answered(request.method, response.status)
        self.server_time.answered(sent, response.headers.get("Date"))
        return self._checked(request.operation, response)

    def _checked(self, operation: Operation, response: BaseHTTPResponse) -> BaseHTTPResponse:
        what = (operation.verb, f"{operation.resource}.{operation.kind.group}")
        if 200 <= response.status <= 299:
            self._refused.pop(what, None)
            return response
        error = refusal(operation, response.status, _status(response), retry_after=_retry_after(response))
        if isinstance(error, Forbidden):
            self._refused[what] = str(error)
        raise error


def _body(request: _Request) -> Mapping[str, Any] | bytes | None:
    if request.content != _APPLY_PATCH or request.body is None:
        return request.body
    return _as_yaml(request.body)


def _as_yaml(body: Mapping[str, Any]) -> bytes:
    """JSON that is YAML too. In YAML, escapes have no pairs: `\\ud83d\\ude00` is two halves of a character to
    it, and the API server refuses the object. So a character stands for itself where it can."""
    text = json.dumps(body, ensure_ascii=False)
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _parsed(request: _Request, data: bytes) -> JsonObject:
    try:
        answer = decode(data)
    except ValueError as error:
        raise KubeError(request.operation, 0, why(error)) from error
    if not isinstance(answer, dict):
        raise KubeError(request.operation, 0, "the response is not a JSON object")
    return answer


def _path(kind: ResourceKind, key: ObjectKey | None = None, subresource: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    namespace = f"/namespaces/{_segment(key.namespace)}" if key and key.namespace else ""
    name = f"/{_segment(key.name)}" if key and key.name else ""
    return f"{root}{namespace}/{kind.plural}{name}" + (f"/{subresource}" if subresource else "")


def _selector(wanted: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(wanted.items()))


def _segment(name: str) -> str:
    """The name as part of a URL path. Names come from specs: one with `../` (`../../kube-system/secrets/x`)
    must not lead to an object in another namespace."""
    return quote(name, safe="")


def _operation(verb: str, kind: ResourceKind, key: ObjectKey) -> Operation:
    operation = Operation(verb, kind, name=key.name, namespace=key.namespace)
    return _named(operation) if verb != "create" else operation


def _named(operation: Operation) -> Operation:
    if {operation.name, operation.namespace} & {".", ".."} or not operation.name:
        raise Invalid(operation, 422, f"{operation.namespace}/{operation.name} is not a valid object name")
    return operation


def _status(response: BaseHTTPResponse) -> Mapping[str, Any]:
    try:
        status = decode(response.data)
    except (HTTPError, OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def _retry_after(response: BaseHTTPResponse) -> float:
    try:
        return min(_LONGEST_RETRY_AFTER, wait(float(response.headers.get("Retry-After", 0))))
    except ValueError:
        return 0.0
