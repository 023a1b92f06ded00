"""External resources whose managed resource was deleted during their creation.

The API server's Delete reads an object's finalizers, and deletes the object a moment later with only its uid
as precondition (k8s.io/apiserver pkg/registry/generic/registry/store.go, Store.Delete). A finalizer that is
written in between has no effect: the resource is deleted, and the new external resource is orphaned.

    created ─▶ "not found" on the next write ─▶ orphaned ─┬─ another resource has its name ─▶ adopted
                                                          └─ deleted like the resource's own ─▶ gone

Only this process knows of it. If the process ends first, the external resource remains; the log names it.
Each namespace with such resources has its own thread, so that no namespace waits for the slow account of
another.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import Stopwatch, rfc3339, utc_now
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Connector, Disconnects
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed

__all__ = ["Leftovers"]

_log = structlog.get_logger("edgetenants_runtime.leftovers")

_MOST: Final = 2000
_MOST_OF_ONE: Final = 100
"""The limit for one namespace."""
_MOST_THREADS: Final = 32
_ROUND_SECONDS: Final = 5.0
_PATIENCE: Final = 5.0
"""Real seconds for which a round waits for its threads. Slower namespaces are skipped in the next round."""
_TRIES: Final = 720
"""An hour of rounds. After that, it is tried less often: a freeze or a missing permission may last."""
_SELDOM: Final = 120
"""Every ten minutes, in rounds."""


@dataclass(frozen=True)
class _Left:
    mr: Managed
    tries: int = 0


class Leftovers:
    """The orphaned external resources of one kind. Thread-safe."""

    def __init__(
        self,
        connector: Connector,
        has_another: Callable[[Managed], bool],
        deletion_held: Callable[[Managed], str] = lambda _: "",
        exists: Callable[[Managed], bool] = lambda _: False,
    ) -> None:
        """`has_another`: another managed resource has the same external resource; `deletion_held` as in
        Collaborators; `exists`: the cache still has the managed resource."""
        self._connector, self._has_another, self._deletion_held = connector, has_another, deletion_held
        self._exists = exists
        self._lock = threading.Lock()
        self._left: dict[str, OrderedDict[str, _Left]] = {}
        """By namespace and uid; the namespace that was processed least recently comes first."""
        self._busy: set[str] = set()

    def note(self, mr: Managed, external_name: str | None) -> None:
        """The managed resource was deleted while its external resource was created."""
        with self._lock:
            of_one = self._left.get(mr.share, OrderedDict())
            if len(of_one) < _MOST_OF_ONE and sum(map(len, self._left.values())) < _MOST:
                self._left.setdefault(mr.share, of_one)[mr.uid] = _Left(_deleted(mr, external_name))
                return
        _log.error(
            "too many orphaned external resources, so this one is not deleted; delete it by hand",
            namespace=mr.namespace,
            name=mr.name,
            external_name=external_name or mr.external_name,
        )

    def round(self) -> float:
        """Delete what can be deleted; returns the real seconds until the next round."""
        with self._lock:
            turn = [share for share in self._left if share not in self._busy]
            turn = turn[: max(0, _MOST_THREADS - len(self._busy))]
            self._busy.update(turn)
            for share in turn:
                self._left[share] = self._left.pop(share)
        threads = [threading.Thread(target=self._round_of, args=(share,), daemon=True) for share in turn]
        for thread in threads:
            thread.start()
        elapsed = Stopwatch()
        for thread in threads:
            thread.join(max(0.0, _PATIENCE - elapsed.elapsed()))
        return _ROUND_SECONDS

    def _round_of(self, share: str) -> None:
        try:
            with self._lock:
                left = list(self._left[share].values())
            for each in left:
                ends = self._ends(each)
                with self._lock:
                    if ends:
                        self._left[share].pop(each.mr.uid, None)
                    else:
                        self._left[share][each.mr.uid] = _Left(each.mr, each.tries + 1)
        finally:
            with self._lock:
                self._busy.discard(share)
                if not self._left[share]:
                    del self._left[share]

    def _ends(self, left: _Left) -> bool:
        if self._exists(left.mr):
            # One "not found" was wrong, or the watch lags behind.
            return left.tries >= _TRIES
        if left.tries > _TRIES and left.tries % _SELDOM:
            return False
        said = {"namespace": left.mr.namespace, "name": left.mr.name, "external_name": left.mr.external_name}
        if self._has_another(left.mr):
            _log.info("an orphaned external resource has a managed resource again", **said)
            return True
        if self._is_gone(left.mr, said):
            _log.info("deleted the external resource of a managed resource deleted during creation", **said)
            return True
        if left.tries == _TRIES:
            _log.error(
                "could not delete an orphaned external resource; it is tried every ten minutes", **said
            )
        return False

    def _is_gone(self, mr: Managed, said: Mapping[str, object]) -> bool:
        try:
            return self._delete(mr)
        except StandDown:
            return False
        except (NotYet, ExternalError, KubeError) as error:
            _log.debug("an orphaned external resource is not deleted yet", **said, error=str(error))
        except Exception:  # noqa: BLE001 - one of them must not block the others
            _log.exception("deleting an orphaned external resource raised an exception", **said)
        return False

    def _delete(self, mr: Managed) -> bool:
        client = self._connector.connect(mr)
        try:
            seen = client.observe(mr)
            if seen.exists and not seen.busy and not self._deletion_held(mr):
                client.delete(mr, seen)
            return not seen.exists
        finally:
            if isinstance(client, Disconnects):
                client.disconnect()


def _deleted(mr: Managed, external_name: str | None) -> Managed:
    """The resource as it would be if its finalizer had blocked the deletion."""
    metadata = {**mr.metadata, "deletionTimestamp": rfc3339(utc_now())}
    annotations = dict(mr.annotations)
    if external_name:
        annotations[names.EXTERNAL_NAME] = external_name
    return Managed({**mr.raw, "metadata": {**metadata, "annotations": annotations}})
