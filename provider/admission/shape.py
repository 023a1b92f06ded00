"""Refuses reviews of objects that no API server would have accepted, as far as the rules read them.

The API server validates an object before it asks a webhook, but any pod may ask, too. Without this, a review
could cost seconds of CPU, or fail in the middle of a rule.
"""

from __future__ import annotations

from typing import Any, Final

from apis import kinds
from apis.domains import MAX_DOMAINS
from edgetenants_runtime.admission.fields import BadReview, Fields
from edgetenants_runtime.admission.review import Request

__all__ = ["check_claim", "check_managed"]

_KINDS: Final = (
    kinds.DISTRIBUTION_TENANT,
    kinds.CONNECTION_GROUP,
    kinds.LEGACY_DISTRIBUTION_TENANT,
    kinds.LEGACY_CONNECTION_GROUP,
)
_OLD: Final = "request.oldObject"
_NAMES: Final = frozenset(kind.kind for kind in _KINDS)
_VERSIONS: Final = frozenset(kind.api_version for kind in _KINDS)
_MOST_VALUES: Final = 3_000
"""In a spec, with the names of its fields. The CRD allows some 2,200: 500 domains, 300 countries, 50 tags and
50 parameters, in forProvider and in initProvider."""
_LONGEST_VALUE: Final = 4_096
"""Characters in a spec. The longest field of the CRDs has 2,048."""
_LONGEST_DOMAIN: Final = 253
_MOST_KEYS: Final = 64
"""As the CRD allows in status.applied."""


def check_managed(request: Request) -> None:
    """Check the objects of a review of a DistributionTenant or ConnectionGroup.

    Raises:
        BadReview: no API server with the CRDs would send them.
    """
    if request.kind not in _NAMES:
        raise BadReview(f"request.kind.kind: expected {' or '.join(sorted(_NAMES))}")
    for found in _objects(request):
        if found.text("apiVersion") not in _VERSIONS:
            raise BadReview(f"{found.path}.apiVersion: expected {' or '.join(sorted(_VERSIONS))}")
        # The API server may still have to generate the name of a new one.
        if found.path == _OLD and not found.object("metadata").text("name"):
            raise BadReview(f"{_OLD}.metadata.name: expected a name")
        _check_spec(found.object("spec"))
        _check_status(found.object("status"))


def check_claim(request: Request) -> None:
    """Check the objects of a review of a TenantClaim. Raises BadReview, as above."""
    for found in _objects(request):
        found.object("spec").texts("domains", MAX_DOMAINS, _LONGEST_DOMAIN)


def _objects(request: Request) -> list[Fields]:
    both = {"request.object": request.object, _OLD: request.old}
    return [Fields(path, dict(found)) for path, found in both.items() if found is not None]


def _check_spec(spec: Fields) -> None:
    _check_size(spec)
    for name in ("forProvider", "initProvider"):
        spec.object(name).texts("domains", MAX_DOMAINS, _LONGEST_DOMAIN)
    spec.texts("managementPolicies")
    spec.text("deletionPolicy")
    for name in ("name", "kind"):
        spec.object("providerConfigRef").text(name)


def _check_status(status: Fields) -> None:
    for name in ("id", "name", "arn"):
        status.object("atProvider").text(name)
    applied = status.object("applied")
    for name in ("hash", "etag", "owner"):
        applied.text(name)
    for name in ("tagKeys", "parameterKeys"):
        applied.texts(name, _MOST_KEYS)


def _check_size(spec: Fields) -> None:
    waiting: list[Any] = [spec.values]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, str) and len(value) > _LONGEST_VALUE:
            raise BadReview(f"{spec.path}: expected values of at most {_LONGEST_VALUE} characters")
        waiting += _parts(value)
        if count + len(waiting) > _MOST_VALUES:
            raise BadReview(f"{spec.path}: expected at most {_MOST_VALUES} values")


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []
