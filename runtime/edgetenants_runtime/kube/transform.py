"""What a cache keeps of an object: what is read of it, within bounds (client-go calls this a transform).

Anyone who may write one object can put a megabyte of annotations, labels or finalizers into it, or into its
status or one owner reference. Python needs up to four bytes for each character, and some fifty for each short
string, so that such an object would take thirteen megabytes here. A hundred of them would end the process,
and each new one too, while it lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, Final

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.kube.errors import Invalid, Operation
from edgetenants_runtime.kube.memory import memory, within
from edgetenants_runtime.managed import ManagedKind, ResourceKind

__all__ = ["LARGEST", "MOST_LABELS", "MOST_LISTED", "Transform", "check_whole"]

JsonObject = Mapping[str, Any]

MOST_LABELS: Final = 100
MOST_LISTED: Final = 100
"""Finalizers, and owner references."""
LARGEST: Final = 1536 * 1024
"""Bytes of memory of an object, if its metadata and spec leave so much to its status. A tenant with 500
domains, a certificate and all DNS instructions needs 1.3 MiB."""
_LEAST_STATUS: Final = 256 * 1024
"""Bytes of memory that a status may have in any case."""
_OWNER: Final = {"apiVersion": 317, "kind": 63, "name": 253, "uid": 128}
"""The fields of an owner reference that are read, with the most characters that Kubernetes gives to what they
name. It checks none of them in a reference."""
_OWNER_FLAGS: Final = ("controller", "blockOwnerDeletion")
_UNREAD: Final = ("managedFields", "generateName", "selfLink")
"""Managed fields are often larger than the object itself."""
_ANNOTATIONS: Final = (
    names.EXTERNAL_NAME,
    names.EXTERNAL_CREATE_PENDING,
    names.EXTERNAL_CREATE_SUCCEEDED,
    names.EXTERNAL_CREATE_FAILED,
    names.PAUSED,
    names.RECONCILE_REQUESTED_AT,
    names.POLL_INTERVAL,
)
_LABELS: Final = (
    names.LABEL_PROVIDER_CONFIG,
    names.LABEL_PROVIDER_CONFIG_KIND,
    names.LABEL_CLAIM_NAME,
    names.LABEL_CLAIM_NAMESPACE,
    names.LABEL_COMPOSITE,
    names.LABEL_OWNER_UID,
)
"""They are kept before all others: one of them says which namespace a cluster-scoped resource counts for."""
_FINALIZERS: Final = (names.FINALIZER, names.PROVIDER_CONFIG_FINALIZER)
_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "deletionTimestamp",
    "finalizers",
    "labels",
)
"""What is read of a kind of which only the metadata is."""


class Transform:
    """Returns the part of an object that a cache keeps. Objects stay unchanged; what is kept of a kept object
    is the same."""

    def __init__(
        self,
        annotations: Mapping[str, int] | None = None,
        *,
        first: Collection[str] = (),
        metadata_only: bool = False,
    ) -> None:
        """`annotations`: those that are read besides the runtime's own, with the number of characters. Of a
        longer one, that many and one more are kept: it is too long here, too. `first`: labels and finalizers
        that are kept before others, besides the runtime's own."""
        self._first = frozenset(first)
        own = dict.fromkeys(_ANNOTATIONS, LONGEST_ANNOTATION)
        self._annotations = {} if metadata_only else own | dict(annotations or {})
        self._metadata_only = metadata_only

    @classmethod
    def of(
        cls,
        kind: ResourceKind,
        annotations: Mapping[str, int] | None = None,
        *,
        first: Collection[str] = (),
        metadata_only: bool = False,
    ) -> Transform:
        """What is read of the objects of a kind; `annotations` besides those that the kind declares."""
        declared = kind.annotations if isinstance(kind, ManagedKind) else {}
        return cls({**(annotations or {}), **declared}, first=first, metadata_only=metadata_only)

    def __call__(self, obj: JsonObject) -> JsonObject:
        """The part of the object that is kept."""
        metadata = {name: value for name, value in obj["metadata"].items() if name not in _UNREAD}
        if self._metadata_only:
            metadata = {name: metadata[name] for name in _METADATA if name in metadata}
        if "annotations" in metadata:
            metadata["annotations"] = self._kept(metadata["annotations"] or {})
        if len(metadata.get("labels") or ()) > MOST_LABELS:
            metadata["labels"] = self._some(metadata["labels"])
        for name, first in (("finalizers", self._is_first), ("ownerReferences", _controls)):
            if len(metadata.get(name) or ()) > MOST_LISTED:
                # One more than may be written back; see `check_whole`.
                metadata[name] = sorted(metadata[name], key=first, reverse=True)[: MOST_LISTED + 1]
        if metadata.get("ownerReferences"):
            metadata["ownerReferences"] = [_reference(owner) for owner in metadata["ownerReferences"]]
        if self._metadata_only:
            return {name: obj[name] for name in ("apiVersion", "kind") if name in obj} | {
                "metadata": metadata
            }
        kept = {**obj, "metadata": metadata}
        if kept.get("status"):
            rest = memory(metadata) + memory(obj.get("spec") or {})
            kept["status"] = within(kept["status"], max(LARGEST - rest, _LEAST_STATUS))
        return kept

    def _kept(self, annotations: Mapping[str, str]) -> dict[str, str]:
        longest = self._annotations
        return {name: annotations[name][: longest[name] + 1] for name in longest if name in annotations}

    def _some(self, labels: Mapping[str, str]) -> dict[str, str]:
        first = {name: labels[name] for name in (*_LABELS, *self._first) if name in labels}
        others = islice((name for name in sorted(labels) if name not in first), MOST_LABELS - len(first))
        return first | {name: labels[name] for name in others}

    def _is_first(self, finalizer: str) -> bool:
        return finalizer in _FINALIZERS or finalizer in self._first


def check_whole(kind: ResourceKind, metadata: Mapping[str, Any], name: str) -> None:
    """Check that the cache has all finalizers or owner references of an object, each of them whole, before a
    patch replaces the list: a patch of a part would delete the others.

    Raises Invalid: an object with that many, or such long ones, is for people to repair.
    """
    listed = metadata.get(name) or ()
    if len(listed) > MOST_LISTED:
        raise _not_whole(kind, metadata, f"metadata.{name}: the provider keeps at most {MOST_LISTED}")
    for owner in listed if name == "ownerReferences" else ():
        for field, longest in _OWNER.items():
            if len(owner.get(field) or "") > longest:
                why = f"metadata.{name}[].{field}: the provider keeps at most {longest} characters"
                raise _not_whole(kind, metadata, why)


def _not_whole(kind: ResourceKind, metadata: Mapping[str, Any], why: str) -> Invalid:
    operation = Operation("patch", kind, "", metadata.get("name") or "", metadata.get("namespace") or "")
    return Invalid(operation, 422, f"{why}; remove some")


def _reference(owner: Mapping[str, Any]) -> dict[str, Any]:
    # One character more than a name may have: what was cut names nothing, and is not written back.
    texts = {name: owner[name][: longest + 1] for name, longest in _OWNER.items() if name in owner}
    return texts | {name: owner[name] for name in _OWNER_FLAGS if name in owner}


def _controls(owner: Mapping[str, Any]) -> bool:
    return bool(owner.get("controller"))
