"""The AdmissionReview of admission.k8s.io/v1 (k8s.io/api/admission/v1/types.go), as far as a validating
webhook needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgetenants_runtime.admission.fields import BadReview, Fields
from edgetenants_runtime.bounds import cut
from edgetenants_runtime.decoding import decode

__all__ = ["API_VERSION", "Request", "Verdict", "parse", "response", "weight"]

API_VERSION: Final = "admission.k8s.io/v1"
_INVALID: Final = 422
"""Kubernetes' code for an object that breaks a rule. Crossplane core continues with the other resources of a
composite after it (internal/controller/apiextensions/composite/composition_functions.go)."""
_LONGEST_WARNING: Final = 256
"""Characters. The API server cuts off longer warnings (apiserver pkg/endpoints/handlers, warning.go)."""
_MOST_WARNINGS: Final = 10
_LONGEST_MESSAGE: Final = 4096
"""Characters of a denial. A spec may have a thousand invalid entries."""
_MOST_VALUES: Final = 100_000
"""A resource with 500 domains has some 7,000 values, and a review may have two resources."""
_MOST_QUOTES: Final = 8 * _MOST_VALUES
"""A text may have quotes: the annotation of `kubectl apply` has the whole object."""
_BYTES_PER_VALUE: Final = 256
"""Memory that one value takes in Python beside its text, at most: an object with one field takes 200."""
_BYTES_PER_BYTE: Final = 4
"""Memory that a byte of text takes in Python, at most: one sign beyond the Basic Multilingual Plane makes all
of a string as wide."""


_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""The escape of a half of a pair of signs."""


@dataclass(frozen=True)
class Request:
    """One write, before it is stored."""

    uid: str
    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    group: str
    kind: str
    namespace: str
    """"" if cluster-scoped."""
    name: str
    """"" if the API server is going to generate it."""
    user: str
    object: Mapping[str, Any] | None
    """None for a deletion."""
    old: Mapping[str, Any] | None
    """None for a creation."""


@dataclass(frozen=True)
class Verdict:
    """What the check found."""

    problems: tuple[str, ...] = ()
    """Each names a field. The write is refused if there is one."""
    warnings: tuple[str, ...] = ()
    """kubectl prints them."""

    @property
    def allowed(self) -> bool:
        """Whether the write may be stored."""
        return not self.problems


def weight(body: bytes | bytearray) -> int:
    """Return how many bytes of memory the review takes at most, without parsing it.

    Raises:
        BadReview: it has too many values, or what is not JSON has as many signs. Three bytes of empty lists
            take 80 bytes in Python, and each sign takes time where the review is nested deeply.
    """
    values = body.count(b"[") + body.count(b"{") + body.count(b",")
    ends = body.count(b"]") + body.count(b"}")
    # In JSON, each list and object ends, and a value has at most a name and a text of its own.
    if values > _MOST_VALUES or ends > _MOST_VALUES or body.count(b'"') > _MOST_QUOTES:
        raise BadReview(f"expected an AdmissionReview with at most {_MOST_VALUES} values")
    return values * _BYTES_PER_VALUE + len(body) * _BYTES_PER_BYTE


def parse(body: bytes | bytearray) -> Request:
    """Read the body of a call. Who has managed which field is left out: it is as long as the rest.

    Raises:
        BadReview: it is not an AdmissionReview, or a field that all objects have is of another type.
    """
    review = _json(body)
    if not isinstance(review, dict):
        raise BadReview("expected an AdmissionReview in JSON")
    if review.get("apiVersion") != API_VERSION:
        raise BadReview(f"apiVersion: expected {API_VERSION}")
    request = Fields("", review).object("request")
    if not request.text("uid"):
        raise BadReview("request.uid: expected a string")
    kind = request.object("kind")
    return Request(
        uid=request.text("uid"),
        operation=request.text("operation"),
        group=kind.text("group"),
        kind=kind.text("kind"),
        namespace=request.text("namespace"),
        name=request.text("name"),
        user=request.object("userInfo").text("username"),
        object=_resource(request, "object"),
        old=_resource(request, "oldObject"),
    )


def response(uid: str, verdict: Verdict) -> dict[str, Any]:
    """Return the AdmissionReview that answers the request with this uid."""
    answer: dict[str, Any] = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        answer["status"] = {
            "status": "Failure",
            "code": _INVALID,
            "reason": "Invalid",
            "message": cut("; ".join(verdict.problems), _LONGEST_MESSAGE),
        }
    if verdict.warnings:
        answer["warnings"] = [cut(each, _LONGEST_WARNING) for each in verdict.warnings[:_MOST_WARNINGS]]
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": answer}


def _json(body: bytes | bytearray) -> Any:
    # The error has the whole text, so it must not be the cause of another.
    try:
        review = decode(bytes(body))
        if _SURROGATE.search(body):
            # Half of a pair is no text, and fails wherever it is written.
            json.dumps(review, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return review


def _resource(request: Fields, name: str) -> Mapping[str, Any] | None:
    found = request.object(name)
    if request.values.get(name) is None:
        return None
    for field in ("apiVersion", "kind"):
        found.text(field)
    found.object("spec")
    metadata = found.object("metadata")
    _check_metadata(metadata)
    metadata.values.pop("managedFields", None)
    return found.values


def _check_metadata(metadata: Fields) -> None:
    for field in ("name", "generateName", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        metadata.text(field)
    for field in ("annotations", "labels"):
        metadata.text_map(field)
    metadata.texts("finalizers")
    metadata.objects("ownerReferences")
