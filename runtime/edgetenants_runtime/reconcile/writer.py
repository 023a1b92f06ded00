"""All writes to a managed resource, each with its rule for conflicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from edgetenants_runtime.clock import SystemClock, pause, utc_now
from edgetenants_runtime.kube.cache import Cache, ObjectChange
from edgetenants_runtime.kube.errors import (
    Conflict,
    Invalid,
    KubeError,
    NotFound,
    NotServed,
    Operation,
    TooLarge,
)
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.kube.transform import check_whole
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from edgetenants_runtime.rules import status
from edgetenants_runtime.rules.status import Report

__all__ = ["ManagedWriter"]

_log = structlog.get_logger("edgetenants_runtime.writer")

_STATUS_ATTEMPTS = 3
_CRITICAL_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
_FINAL = (NotFound, Invalid, TooLarge)
"""Errors that a retry cannot fix. Otherwise an object with too large annotations would keep a worker
waiting."""


def _pause(seconds: float) -> None:
    pause(SystemClock(), seconds)


class ManagedWriter:
    """Writes to the managed resources of one kind. Every method returns the resource as stored, updates the
    cache with it, and raises KubeError."""

    def __init__(
        self,
        objects: Objects,
        kind: ResourceKind,
        cache: Cache,
        *,
        now: Callable[[], datetime] = utc_now,
        pause: Callable[[float], None] = _pause,
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        """`may_act`: no other process leads. It is called often and must be cheap."""
        self._objects, self._kind, self._cache = objects, kind, cache
        self._now, self._pause = now, pause
        self.may_act = may_act
        self._futile: dict[str, Mapping[str, Any]] = {}
        self._under_way: dict[ObjectKey, Mapping[str, Any]] = {}
        """The patches of metadata that have no response yet."""

    def patch_metadata(
        self,
        mr: Managed,
        *,
        annotations: Mapping[str, str],
        finalizers: Sequence[str],
        spec: Mapping[str, Any] | None = None,
    ) -> Managed:
        """Set annotations, finalizers and resolved references (a merge patch of spec) in one write. Raises
        Conflict if the resource has changed."""
        metadata: dict[str, Any] = {"resourceVersion": mr.resource_version}
        if annotations:
            metadata["annotations"] = dict(annotations)
        if tuple(finalizers) != mr.finalizers:
            check_whole(self._kind, mr.metadata, "finalizers")
            metadata["finalizers"] = list(finalizers)
        return self._patch(mr, {"metadata": metadata} | ({"spec": spec} if spec else {}))

    def set_critical_annotations(self, mr: Managed, annotations: Mapping[str, str]) -> Managed:
        """Set annotations that must not be lost. The write ignores the version and is retried for some
        seconds on any error, as in crossplane-runtime, except for errors that a retry cannot fix.

        Raises KubeError if all retries fail; NotFound, Invalid and TooLarge immediately.
        """
        # The uid instead of the version: it must apply to this resource, not to one recreated under its name.
        patch = {"metadata": {"uid": mr.uid, "annotations": dict(annotations)}}
        for seconds in _CRITICAL_PAUSES:
            try:
                return self._patch_same(mr, patch)
            except KubeError as error:
                if isinstance(error, _FINAL) and not isinstance(error, NotServed):
                    raise
                # Also on a conflict: the API server gives up on a patch that other writes repeatedly
                # overtake.
                _log.warning("cannot write critical annotations, retrying", error=str(error))
            self._pause(seconds)
        return self._patch_same(mr, patch)

    def fill_in(self, mr: Managed, fields: Mapping[str, Any]) -> Managed:
        """Set absent fields of spec.forProvider. Raises Conflict if the resource has changed."""
        absent = _absent(mr.for_provider, status.plain(fields))
        if not absent:
            return mr
        metadata = {"resourceVersion": mr.resource_version}
        return self._patch(mr, {"metadata": metadata, "spec": {"forProvider": absent}})

    def write_status(self, mr: Managed, report: Report) -> Managed:
        """Write the report to the status, or nothing if it has not changed.

        On a conflict, it reads the resource again: the observation stays valid after other writes, unless
        they are those of another leader.
        """
        acted_upon = mr.generation
        for attempt in range(1, _STATUS_ATTEMPTS + 1):
            patch = status.patch_for(mr.status, report, generation=acted_upon, now=self._now())
            if not patch or self._futile.get(mr.uid) == _timeless(patch):
                return mr
            try:
                return self._patch_status(mr, patch)
            except Conflict:
                fresh = Managed(self._cache.kept(self._objects.get(self._kind, mr.key)))
                if attempt == _STATUS_ATTEMPTS or not _still_is(mr, fresh) or not self.may_act():
                    raise
                mr = fresh
        raise AssertionError("unreachable")

    def check_deleted(self, mr: Managed) -> None:
        """Ask the API server whether the resource is really being deleted. The cache may hold what the server
        no longer knows: after a restore from a backup, a deletion may never have been.

        Raises:
            Conflict: it is not being deleted.
            KubeError: it does not exist, or the API server cannot say.
        """
        if not _still_is(mr, Managed(self._objects.get(self._kind, mr.key))):
            operation = Operation("delete", self._kind, name=mr.name, namespace=mr.namespace)
            raise Conflict(operation, 409, "the API server has this resource without its deletion")

    def makes(self, change: ObjectChange) -> bool:
        """Whether a change is what a write under way makes, and nothing else: the watch may deliver it before
        the response arrives. It would repeat the reconcile, and each repetition writes again."""
        metadata = self._under_way.get(change.key)
        if metadata is None or change.old is None or change.new is None:
            return False
        wanted = self._cache.kept(_with(change.old, metadata))
        return Managed(wanted).asked_for == Managed(change.new).asked_for

    def forget(self, uid: str) -> None:
        """The resource was deleted."""
        self._futile.pop(uid, None)

    def _patch_same(self, mr: Managed, patch: Mapping[str, Any]) -> Managed:
        try:
            return self._patch(mr, patch)
        except Invalid as error:
            if "metadata.uid" not in error.message:
                raise
            raise NotFound(error.operation, 404, "another resource has this name now") from error

    def _patch_status(self, mr: Managed, patch: Mapping[str, Any]) -> Managed:
        body = {"metadata": {"resourceVersion": mr.resource_version}, "status": patch}
        written = self._patch(mr, body, subresource="status")
        if written.resource_version == mr.resource_version:
            # The API server drops fields that the CRD does not have; do not repeat the patch on each poll.
            _log.warning("the status patch had no effect; check that the CRD has these fields", patch=patch)
            self._futile[mr.uid] = _timeless(patch)
        return written

    def _patch(self, mr: Managed, patch: Mapping[str, Any], *, subresource: str = "") -> Managed:
        self._under_way[mr.key] = patch["metadata"]
        try:
            written = self._objects.patch(self._kind, mr.key, patch, subresource=subresource)
            self._cache.observed(written)
        finally:
            del self._under_way[mr.key]
        # As the cache has it: the reconcile compares it with what it read there.
        return Managed(self._cache.kept(written))


def _still_is(mr: Managed, fresh: Managed) -> bool:
    """It is the same resource. No resource of one history ceases to be deleted."""
    return fresh.uid == mr.uid and (fresh.deleted or not mr.deleted)


def _with(obj: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The object after a patch of its annotations and finalizers."""
    before = obj["metadata"]
    annotations = {**(before.get("annotations") or {}), **metadata.get("annotations", {})}
    finalizers = metadata.get("finalizers", before.get("finalizers"))
    return {**obj, "metadata": {**before, "annotations": annotations, "finalizers": finalizers}}


def _absent(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `wanted` that is absent. Values that users set are kept; lists are kept as a whole."""
    absent: dict[str, Any] = {}
    for name, value in wanted.items():
        if name not in have:
            absent[name] = value
        elif isinstance(value, Mapping) and isinstance(have[name], Mapping):
            inner = _absent(have[name], value)
            absent.update({name: inner} if inner else {})
    return absent


def _timeless(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = [{**c, "lastTransitionTime": ""} for c in patch.get("conditions") or ()]
    return {**patch, "conditions": conditions}
