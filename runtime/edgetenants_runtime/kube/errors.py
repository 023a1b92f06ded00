"""What the API server answers when it refuses.

KubeError           code 0: no answer at all (connection, time-out)
├── NotFound        404: no such object, or the kind is not served
│   └── NotServed   404 that names no object: the kind, or its version, is not served
├── AlreadyExists   409 on a creation
├── Conflict        409: the object has moved on since it was read
├── Gone            410: the resource version or the continue token is too old
├── TooLarge        413, or the same of a whole object in etcd's or a validation's words: no server stores it
├── Forbidden       403: RBAC; the message names the rule that is missing
└── Invalid         422: the object breaks its schema or a rule of it
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
"""What etcd and its client say of an object that is too large, which the API server answers as 500."""
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-f]+")


@dataclass(frozen=True)
class Operation:
    """What was asked of the API server, in RBAC's words."""

    verb: str
    kind: ResourceKind
    subresource: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def resource(self) -> str:
        """The resource as a rule has it, for example `toys/status`."""
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
    """The API server refused or could not be reached. `code` is its HTTP status, 0 without an answer."""

    def __init__(self, operation: Operation, code: int, message: str, *, retry_after: float = 0.0) -> None:
        # Cut: a message may quote the whole object that was sent, and ends up in status and logs.
        self.message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        super().__init__(f"cannot {operation}: {self.message}")
        self.operation = operation
        self.code = code
        self.retry_after = retry_after

    @property
    def transient(self) -> bool:
        """The API server's own trouble: nothing about the request is wrong."""
        return self.code in (0, 408, 429) or self.code >= 500


class NotFound(KubeError):  # noqa: N818
    """No such object, or the kind is not served."""


class NotServed(NotFound):
    """The kind, or its version, is not served."""


class AlreadyExists(KubeError):  # noqa: N818
    """An object of that name exists."""


class Conflict(KubeError):  # noqa: N818
    """The object has moved on since it was read; read again and retry."""


class Gone(KubeError):  # noqa: N818
    """The resource version or the continue token is too old; list again."""


class Forbidden(KubeError):  # noqa: N818
    """RBAC refuses; the message names the missing rule."""

    def __init__(self, operation: Operation, code: int, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(
            operation,
            code,
            f"forbidden; missing RBAC rule: {operation.rule} ({message})",
            retry_after=retry_after,
        )


class TooLarge(KubeError):  # noqa: N818
    """The object is larger than the API server or its store takes; it has to shrink first."""

    @property
    def transient(self) -> bool:
        """Never, although the answer may be 500."""
        return False


class Invalid(KubeError):  # noqa: N818
    """The object breaks its schema; the message names the field."""


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
    """The exception for an answer; `status` is its metav1.Status, or empty where the body was something
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
        # A 403 that no rule would change.
        return KubeError
    return _BY_CODE.get(code, KubeError)


def _is_size(cause: Mapping[str, Any]) -> bool:
    """All data of a ConfigMap, which Kubernetes calls "[]", or of a Secret, and no single field."""
    return cause.get("reason") == "FieldValueTooLong" and cause.get("field") in ("[]", "data")


def why(error: BaseException) -> str:
    """The innermost reason of a failed request, without the memory addresses that make each message
    unique."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return why(reason)
    return _ADDRESS.sub("", f"{type(error).__name__}: {error}")
