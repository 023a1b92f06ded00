"""The errors of API server requests.

KubeError           code 0: no response (connection error, timeout)
├── NotFound        404: no such object, or the kind is not served
│   └── NotServed   404 without the name of an object: the kind, or its version, is not served
├── AlreadyExists   409 on a creation
├── Conflict        409: the object has changed since it was read
├── Gone            410: the resource version or the continue token is too old
├── TooLarge        413, or an error of etcd or of validation that means the same for a whole object
├── Forbidden       403: RBAC, and the message names the missing rule; or a quota or an admission policy
└── Invalid         422: the object violates its schema or a validation rule
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgetenants_runtime.managed import ResourceKind

__all__ = [
    "AlreadyExists",
    "Conflict",
    "Forbidden",
    "Gone",
    "Invalid",
    "KubeError",
    "NotFound",
    "NotServed",
    "Operation",
    "TooLarge",
    "refusal",
    "why",
]

_LONGEST_MESSAGE = 512
_TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")
"""Messages of etcd and its client about a too large object, which the API server returns with status 500."""
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-f]+")


@dataclass(frozen=True)
class Operation:
    """An API server request, in RBAC terms."""

    verb: str
    kind: ResourceKind
    subresource: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def resource(self) -> str:
        """The resource as in an RBAC rule, for example `toys/status`."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def rule(self) -> str:
        """The RBAC rule that permits it."""
        return f'apiGroups: ["{self.kind.group}"], resources: ["{self.resource}"], verbs: ["{self.verb}"]'

    def __str__(self) -> str:
        group = f".{self.kind.group}" if self.kind.group else ""
        where = f"{self.namespace}/" if self.namespace else ""
        target = f" {where}{self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{group}{target}"


class KubeError(Exception):
    """The API server rejected the request or was unreachable. `code` is the HTTP status, 0 without a
    response."""

    def __init__(self, operation: Operation, code: int, message: str, *, retry_after: float = 0.0) -> None:
        # Truncated: a message may quote the whole object, and is written to status and logs.
        self.message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        super().__init__(f"cannot {operation}: {self.message}")
        self.operation = operation
        self.code = code
        self.retry_after = retry_after

    @property
    def transient(self) -> bool:
        """A problem of the API server, not of the request."""
        return self.code in (0, 408, 429) or self.code >= 500


class NotFound(KubeError):  # noqa: N818
    """No such object, or the kind is not served."""


class NotServed(NotFound):
    """The kind, or its version, is not served."""


class AlreadyExists(KubeError):  # noqa: N818
    """An object of that name exists."""


class Conflict(KubeError):  # noqa: N818
    """The object has changed since it was read; read it again and retry."""


class Gone(KubeError):  # noqa: N818
    """The resource version or the continue token is too old; list again."""


class Forbidden(KubeError):  # noqa: N818
    """RBAC forbids it, and the message names the missing rule; or a quota or an admission policy does."""

    def __init__(self, operation: Operation, code: int, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(
            operation,
            code,
            f"forbidden; {_forbidden(operation, message)}",
            retry_after=retry_after,
        )


def _forbidden(operation: Operation, message: str) -> str:
    """What to do: a quota or an admission policy answers 403 as RBAC does."""
    if _BY_ADMISSION.search(message):
        return message
    return f"missing RBAC rule: {operation.rule} ({message})"


_BY_ADMISSION: Final = re.compile(r"exceeded quota|denied (the )?request")


class TooLarge(KubeError):  # noqa: N818
    """The object is larger than the API server or etcd accepts; it must be made smaller."""

    @property
    def transient(self) -> bool:
        """Never, although the status may be 500."""
        return False


class Invalid(KubeError):  # noqa: N818
    """The object violates its schema; the message names the field."""


_BY_CODE: Mapping[int, type[KubeError]] = {
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    422: Invalid,
}


def refusal(
    operation: Operation, code: int, status: Mapping[str, Any], *, retry_after: float = 0.0
) -> KubeError:
    """The exception for a response; `status` is its metav1.Status, or empty if the body was something
    else."""
    message = str(status.get("message") or f"HTTP {code}")
    return _class(code, status)(operation, code, message, retry_after=retry_after)


def _class(code: int, status: Mapping[str, Any]) -> type[KubeError]:
    if code >= 500 and any(words in str(status.get("message")) for words in _TOO_LARGE):
        return TooLarge
    if status.get("reason") == "AlreadyExists":
        return AlreadyExists
    if code == 404 and not (status.get("details") or {}).get("name"):
        return NotServed
    causes = (status.get("details") or {}).get("causes") or ()
    if code == 422 and any(_is_size(cause) for cause in causes):
        return TooLarge
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        # A 403 that no RBAC rule can fix.
        return KubeError
    return _BY_CODE.get(code, KubeError)


def _is_size(cause: Mapping[str, Any]) -> bool:
    """It is about all data of a ConfigMap, which Kubernetes calls "[]", or of a Secret, not about one
    field."""
    return cause.get("reason") == "FieldValueTooLong" and cause.get("field") in ("[]", "data")


def why(error: BaseException) -> str:
    """The root cause of a failed request, without memory addresses, which make each message unique."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return why(reason)
    return _ADDRESS.sub("", f"{type(error).__name__}: {error}")
