"""Every write to a managed resource, each with its rule for conflicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from edgetenants_runtime.clock import SystemClock, pause, utc_now
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import Conflict, Invalid, KubeError, NotFound, NotServed, TooLarge
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import Managed, ResourceKind
from edgetenants_runtime.rules import status
from edgetenants_runtime.rules.status import Report

__all__ = ["ManagedWriter"]

_log = structlog.get_logger("edgetenants_runtime.writer")

_STATUS_ATTEMPTS = 3
_CRITICAL_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
_FINAL = (NotFound, Invalid, TooLarge)
"""Not mended by another try. Whoever fills up the annotations of an object would have a worker wait."""


def _pause(seconds: float) -> None:
    pause(SystemClock(), seconds)


class ManagedWriter:
    """Writes to the managed resources of one kind. Every method answers the resource as stored afterwards,
    which the cache has then seen too, and raises KubeError."""

    def __init__(
        self,
        objects: Objects,
        kind: ResourceKind,
        cache: Cache,
        *,
        now: Callable[[], datetime] = utc_now,
        pause: Callable[[float], None] = _pause,
    ) -> None:
        self._objects, self._kind, self._cache = objects, kind, cache
        self._now, self._pause = now, pause
        self._futile: dict[str, Mapping[str, Any]] = {}

    def patch_metadata(
        self,
        mr: Managed,
        *,
        annotations: Mapping[str, str],
        finalizers: Sequence[str],
        spec: Mapping[str, Any] | None = None,
    ) -> Managed:
        """Set annotations, finalizers and what was resolved (a merge patch of spec) in one write; raises
        Conflict when the resource has moved on."""
        metadata: dict[str, Any] = {"resourceVersion": mr.resource_version}
        if annotations:
            metadata["annotations"] = dict(annotations)
        if tuple(finalizers) != mr.finalizers:
            metadata["finalizers"] = list(finalizers)
        return self._patch(mr, {"metadata": metadata} | ({"spec": spec} if spec else {}))

    def set_critical_annotations(self, mr: Managed, annotations: Mapping[str, str]) -> Managed:
        """Set annotations that must not be lost: on the resource whatever its version, tried again for
        seconds whatever the API server answers, as crossplane-runtime does, but for what no other try can
        mend.

        Raises KubeError when it was refused for that long; NotFound, Invalid and TooLarge at once.
        """
        # The uid instead of the version: it must hit this resource, not one re-created under its name.
        patch = {"metadata": {"uid": mr.uid, "annotations": dict(annotations)}}
        for seconds in _CRITICAL_PAUSES:
            try:
                return self._patch_same(mr, patch)
            except KubeError as error:
                if isinstance(error, _FINAL) and not isinstance(error, NotServed):
                    raise
                # A conflict too: the API server gives up on a patch that others overtake again and again.
                _log.warning("cannot write critical annotations, retrying", error=str(error))
            self._pause(seconds)
        return self._patch_same(mr, patch)

    def fill_in(self, mr: Managed, fields: Mapping[str, Any]) -> Managed:
        """Set fields of spec.forProvider that are absent; raises Conflict when the resource has moved on."""
        absent = _absent(mr.for_provider, status.plain(fields))
        if not absent:
            return mr
        metadata = {"resourceVersion": mr.resource_version}
        return self._patch(mr, {"metadata": metadata, "spec": {"forProvider": absent}})

    def write_status(self, mr: Managed, report: Report) -> Managed:
        """Bring the status to the report, or write nothing where there is no news.

        A conflict is met by reading again: what was observed stays true, whoever wrote meanwhile.
        """
        acted_upon = mr.generation
        for attempt in range(1, _STATUS_ATTEMPTS + 1):
            patch = status.patch_for(mr.status, report, generation=acted_upon, now=self._now())
            if not patch or self._futile.get(mr.uid) == _timeless(patch):
                return mr
            try:
                return self._patch_status(mr, patch)
            except Conflict:
                fresh = Managed(self._objects.get(self._kind, mr.key))
                if attempt == _STATUS_ATTEMPTS or fresh.uid != mr.uid:
                    raise
                mr = fresh
        raise AssertionError("unreachable")

    def forget(self, uid: str) -> None:
        """The resource is gone."""
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
            # The API server drops fields that the CRD does not know; asking again at each poll would be
            # noise.
            _log.warning("the status patch had no effect; check that the CRD has these fields", patch=patch)
            self._futile[mr.uid] = _timeless(patch)
        return written

    def _patch(self, mr: Managed, patch: Mapping[str, Any], *, subresource: str = "") -> Managed:
        written = self._objects.patch(self._kind, mr.key, patch, subresource=subresource)
        self._cache.observed(written)
        return Managed(written)


def _absent(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What of `wanted` is not there; what people wrote stays theirs, lists whole."""
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
