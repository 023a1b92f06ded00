"""The calls of one reconcile: numbered, recorded, and with injected failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.histories.actions import Action, At, Trouble
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from edgetenants_runtime.testing import FakeObjects, Killed

__all__ = ["Calls", "Client"]

T = TypeVar("T")

_AFTERWARDS = (Trouble.UNANSWERED, Trouble.BUG)


@dataclass
class Calls:
    """Every call of the provider, in order."""

    meanwhile: Callable[[Action], None]
    """Performs another action during the reconcile."""
    touch: Callable[[], None]
    """Performs a write of another client to the reconciled managed resource."""
    told: list[str] = field(default_factory=list)
    """One line per call, to analyse a failure."""
    writes: int = 0
    """The number of calls that may change something."""
    _troubles: tuple[At, ...] = ()
    _number: int = 0

    def begin(self, troubles: tuple[At, ...]) -> None:
        """A reconcile starts."""
        self._troubles, self._number = troubles, 0

    def ask(self, operation: Operation, effect: Callable[[], T]) -> T:
        """A call to the API server."""
        errors: dict[Trouble, KubeError] = {
            Trouble.FAILS: KubeError(operation, 503, "etcd is down"),
            Trouble.UNANSWERED: KubeError(operation, 0, "time-out"),
            Trouble.REFUSED: Forbidden(operation, 403, "no"),
        }
        return self._make(str(operation), errors, effect, writes=operation.verb != "get")

    def reach(self, what: str, effect: Callable[[], T], *, writes: bool = False) -> T:
        """A call to the external API."""
        errors: dict[Trouble, Exception] = {
            Trouble.FAILS: ExternalError("denied", made_nothing=True),
            Trouble.UNANSWERED: ExternalError("time-out"),
            Trouble.REFUSED: NotYet("not ready", after=5.0),
            Trouble.BUG: RuntimeError("bug"),
        }
        return self._make(f"external {what}", errors, effect, writes=writes)

    def _make(
        self, what: str, errors: Mapping[Trouble, Exception], effect: Callable[[], T], *, writes: bool
    ) -> T:
        trouble = self._next()
        self.told.append(f"{what}{f': {trouble}' if trouble else ''}")
        self.writes += writes
        if trouble is Trouble.DIES_BEFORE:
            raise Killed(what)
        error = errors.get(trouble) if trouble else None
        if error and trouble not in _AFTERWARDS:
            raise error
        result = effect()
        if trouble is Trouble.DIES_AFTER:
            raise Killed(what)
        if error:
            raise error
        return result

    def _next(self) -> Trouble | None:
        number, self._number = self._number, self._number + 1
        found = None
        for at in self._troubles:
            if not at.call <= number < at.call + at.times:
                continue
            if at.what is Trouble.CONFLICT:
                self.touch()
            if isinstance(at.what, Trouble):
                found = at.what
            else:
                self.told.append(f"meanwhile {at.what}")
                self.meanwhile(at.what)
        return found


class Client:
    """The API server as the provider sees it: with injected failures and a check of each write."""

    def __init__(
        self,
        server: FakeObjects,
        calls: Calls,
        written: Callable[[ResourceKind, Mapping[str, Any] | None, Mapping[str, Any], str], None],
    ) -> None:
        """`written` gets the kind, the object before and after, and the subresource."""
        self._server, self._calls, self._written = server, calls, written

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """As `Objects.get`."""
        operation = Operation("get", kind, name=key.name, namespace=key.namespace)
        return self._calls.ask(operation, lambda: self._server.get(kind, key))

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        """As `Objects.create`."""
        metadata = obj["metadata"]
        operation = Operation("create", kind, name=metadata["name"], namespace=metadata.get("namespace", ""))
        return self._calls.ask(operation, lambda: self._create(kind, obj))

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """As `Objects.patch`."""
        operation = Operation("patch", kind, subresource, key.name, key.namespace)
        return self._calls.ask(operation, lambda: self._patch(kind, key, patch, subresource))

    def _create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        stored = self._server.create(kind, obj)
        self._written(kind, None, stored, "")
        return stored

    def _patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], subresource: str
    ) -> dict[str, Any]:
        before = self._server.find(kind, key)
        stored = self._server.patch(kind, key, patch, subresource=subresource)
        self._written(kind, before, stored, subresource)
        return stored
