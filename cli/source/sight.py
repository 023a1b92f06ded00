"""What is read of files and of the cluster for `edgetenants source`. Nothing here can write: of the API
server's client, only two methods that read are passed on."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis.kinds import TENANT_SOURCE, Kind
from cli.documents import Document
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError, NotFound, NotServed, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS, SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from sources.going import Record
from sources.objects import Existing
from sources.records import stored_record
from sources.writing import resource_kind

__all__ = ["Reader", "Sight", "reader_of"]

JsonObject = Mapping[str, Any]

_OF_FILES: Final = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


@dataclass(frozen=True)
class Reader:
    """The requests to the API server. Each raises KubeError."""

    get: Callable[[ResourceKind, ObjectKey], JsonObject]
    select: Callable[[ResourceKind, str, Mapping[str, str]], list[dict[str, Any]]]


def reader_of(client: KubeClient) -> Reader:
    """What of the client reads."""
    return Reader(client.get, client.select)


class Sight:
    """ConfigMaps and Secrets of files, and all else from the cluster. `unseen` has what could not be read,
    and is treated as absent."""

    def __init__(
        self, documents: Iterable[Document], namespace: str, reader: Reader | None, why: str
    ) -> None:
        """`namespace`: that of files which name none. `why`: why there is no reader."""
        self._files = {
            (kind, ObjectKey(each.namespace or namespace, each.name)): _with_data(each.value)
            for each in documents
            if each.api_version == "v1" and (kind := _OF_FILES.get(each.kind)) is not None
        }
        self._reader, self._why = reader, why
        self.unseen: list[str] = []
        self.blind = False
        """The objects could not be listed, or the TenantSource not be read, so they count as absent."""

    def begin(self) -> None:
        """Look at the next TenantSource."""
        self.unseen.clear()
        self.blind = False

    def get(self, kind: ResourceKind, key: ObjectKey) -> JsonObject:
        """A ConfigMap or Secret that a TenantSource names. Raises KubeError."""
        found = self._files.get((kind, key))
        return found if found is not None else self._get(kind, key)

    def source(self, key: ObjectKey) -> JsonObject | None:
        """The TenantSource in the cluster; None without one."""
        try:
            return self._get(resource_kind(TENANT_SOURCE), key)
        except NotFound:
            return None
        except KubeError as error:
            self.blind = True
            self._note(error)
            return None

    def objects(self, kind: Kind, namespace: str) -> dict[str, Existing]:
        """All objects of the kind in the namespace, by name."""
        try:
            reader = self._readable(Operation("list", resource_kind(kind), namespace=namespace))
            found = reader.select(resource_kind(kind), namespace, {})
        except NotServed:
            self._say(f"the cluster does not have the kind {kind.kind}")
            return {}
        except KubeError as error:
            self.blind = True
            self._note(error)
            return {}
        for each in found:
            # Often larger than the object itself.
            each["metadata"].pop("managedFields", None)
        return {each["metadata"]["name"]: Existing(kind, each) for each in found}

    def record(self, namespace: str, source: Managed) -> Record | None:
        """What edgetenants-sources, in this namespace, has on record of rows that are gone."""
        try:
            return stored_record(self._get, namespace, source)
        except KubeError as error:
            self._note(error)
            return None

    def _get(self, kind: ResourceKind, key: ObjectKey) -> JsonObject:
        operation = Operation("get", kind, name=key.name, namespace=key.namespace)
        return self._readable(operation).get(kind, key)

    def _readable(self, operation: Operation) -> Reader:
        if self._reader is None:
            raise KubeError(operation, 0, self._why)
        return self._reader

    def _note(self, error: KubeError) -> None:
        if error.code != 0:
            self._say(str(error))
            return
        # No further request to a server that does not answer.
        self._reader, self._why = None, error.message
        self._say(error.message)

    def _say(self, what: str) -> None:
        if what not in self.unseen:
            self.unseen.append(what)


def _with_data(value: JsonObject) -> JsonObject:
    """A Secret as the API server stores it."""
    texts = value.get("stringData")
    if value.get("kind") != "Secret" or not isinstance(texts, Mapping):
        return value
    encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
    return {**value, "data": {**(value.get("data") or {}), **encoded}}
