"""The AdmissionReview of admission.k8s.io/v1 (k8s.io/api/admission/v1/types.go), as far as a validating
webhook needs it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgetenants_runtime.bounds import cut

__all__ = ["API_VERSION", "BadReview", "Request", "Verdict", "parse", "response"]

API_VERSION: Final = "admission.k8s.io/v1"
_INVALID: Final = 422
"""Kubernetes' code for an object that breaks a rule. Crossplane core continues with the other resources of a
composite after it (internal/controller/apiextensions/composite/composition_functions.go)."""
_LONGEST_WARNING: Final = 256
"""Characters. The API server cuts off longer warnings (apiserver pkg/endpoints/handlers, warning.go)."""
_MOST_WARNINGS: Final = 10
_LONGEST_MESSAGE: Final = 4096
"""Characters of a denial. A spec may have a thousand invalid entries."""


class BadReview(ValueError):  # noqa: N818 - says what is bad
    """The body is not an AdmissionReview; the message says what was expected."""


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


def parse(body: bytes) -> Request:
    """Read the body of a call.

    Raises:
        BadReview: it is not an AdmissionReview.
    """
    try:
        review = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadReview("expected an AdmissionReview in JSON") from error
    if not isinstance(review, dict) or review.get("apiVersion") != API_VERSION:
        raise BadReview(f"apiVersion: expected {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("request.uid: expected a string")
    kind = _mapping(request, "kind") or {}
    return Request(
        uid=request["uid"],
        operation=_text(request, "operation"),
        group=_text(kind, "group"),
        kind=_text(kind, "kind"),
        namespace=_text(request, "namespace"),
        name=_text(request, "name"),
        user=_text(_mapping(request, "userInfo") or {}, "username"),
        object=_mapping(request, "object"),
        old=_mapping(request, "oldObject"),
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


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _mapping(found: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = found.get(name)
    if value is not None and not isinstance(value, dict):
        raise BadReview(f"{name}: expected an object")
    return value
