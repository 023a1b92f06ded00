"""AWS's errors, classified by one table.

Exception
└── AwsError            any refused or failed call: code, AWS's message, request id, class
        │ to_external_error()
        ▼
    edgetenants_runtime.errors.NotYet | ExternalError

No botocore exception leaves `calls.py` and `account/sessions.py`. The codes are those that botocore's model
declares for the operations used, and those that any AWS API may return
(https://docs.aws.amazon.com/cloudfront/latest/APIReference/CommonErrors.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, Frozen, NotYet, Retry
from provider.cloudfront.aws import operations

__all__ = [
    "CODES",
    "ENDLESS",
    "FORBIDDEN",
    "PAUSED",
    "PERMIT",
    "STALE_CREDENTIALS",
    "AwsError",
    "ErrorClass",
    "Verdict",
    "before_creation",
    "classify",
    "not_ready",
    "to_external_error",
]


PAUSED: Final = "Paused"
"""The code of a call that the provider itself held back, to give AWS time."""
ENDLESS: Final = "EndlessList"
"""The code of a list whose pages lead back or do not end."""
FORBIDDEN: Final = "Forbidden"
"""The code of a call that a rehearsal must not make."""


class ErrorClass(StrEnum):
    """How the provider reacts to an error."""

    CONFLICT = "Conflict"
    """The external resource changed between observation and call: observe again and retry."""
    THROTTLED = "Throttled"
    """AWS is throttling requests or cannot be reached: back off."""
    WAIT = "Wait"
    """Something else must happen first, and nothing is wrong: check again later."""
    QUOTA = "Quota"
    """A quota of the account is used up: retry slowly. The object is never at fault."""
    TERMINAL = "Terminal"
    """Only a change of the spec or in AWS helps: retry at the poll interval."""
    BUG = "Bug"
    """The provider should never have made this request."""


@dataclass(frozen=True)
class Verdict:
    """A row of the table."""

    class_: ErrorClass
    reason: Reason
    """The reason of the Ready condition while the tenant does not serve."""


_C, _R = ErrorClass, Reason
_DENIED: Final = Verdict(_C.TERMINAL, _R.ACCESS_DENIED)
_INVALID: Final = Verdict(_C.TERMINAL, _R.INVALID_SPEC)
_BUSY: Final = Verdict(_C.THROTTLED, _R.THROTTLED)
_DOWN: Final = Verdict(_C.THROTTLED, _R.AWS_ERROR)
_MOVED: Final = Verdict(_C.CONFLICT, _R.AWS_ERROR)
_BROKEN: Final = Verdict(_C.BUG, _R.AWS_ERROR)
_OTHER: Final = Verdict(_C.TERMINAL, _R.AWS_ERROR)
_IN_USE: Final = Verdict(_C.WAIT, _R.AWS_ERROR)
_UNOWNED: Final = Verdict(_C.WAIT, _R.DOMAIN_VALIDATION_PENDING)

CODES: Final[Mapping[str, Verdict]] = {
    # Declared by the tenant, connection group, distribution and tag operations.
    "AccessDenied": _DENIED,
    "CNAMEAlreadyExists": Verdict(_C.TERMINAL, _R.DOMAIN_CONFLICT),
    "CannotDeleteEntityWhileInUse": _IN_USE,
    "EntityAlreadyExists": _MOVED,
    "EntityLimitExceeded": Verdict(_C.QUOTA, _R.QUOTA_EXCEEDED),
    "EntityNotFound": _MOVED,
    "IllegalUpdate": _INVALID,
    "InvalidArgument": _INVALID,
    "InvalidAssociation": _INVALID,
    "InvalidIfMatchVersion": _MOVED,
    "InvalidTagging": _INVALID,
    "NoSuchDistribution": Verdict(_C.TERMINAL, _R.PARENT_NOT_FOUND),
    "NoSuchResource": _MOVED,
    "PreconditionFailed": _MOVED,
    "ResourceInUse": _IN_USE,
    "ResourceNotDisabled": Verdict(_C.WAIT, _R.DISABLING),
    # Declared by the operations of ACM.
    "InvalidArgsException": _BROKEN,
    "InvalidArnException": _INVALID,
    "ResourceNotFoundException": Verdict(_C.TERMINAL, _R.MISSING_CERTIFICATE),
    "ValidationException": _INVALID,
    # Declared by sts:AssumeRole and sts:AssumeRoleWithWebIdentity.
    "ExpiredTokenException": _DENIED,
    "IDPCommunicationError": _DOWN,
    "IDPRejectedClaim": _DENIED,
    "InvalidIdentityToken": _DENIED,
    "MalformedPolicyDocument": _INVALID,
    "PackedPolicyTooLarge": _INVALID,
    "RegionDisabledException": _DENIED,
    # Possible on any call. CloudFront answers "Throttling" with status 400.
    "RequestLimitExceeded": _BUSY,
    "SlowDown": _BUSY,
    "Throttling": _BUSY,
    "ThrottlingException": _BUSY,
    "ThrottledException": _BUSY,
    "TooManyRequests": _BUSY,
    "TooManyRequestsException": _BUSY,
    "InternalError": _DOWN,
    "InternalFailure": _DOWN,
    "RequestTimeout": _DOWN,
    "ServiceUnavailable": _DOWN,
    "AccessDeniedException": _DENIED,
    "ExpiredToken": _DENIED,
    "IncompleteSignature": _DENIED,
    "InvalidAccessKeyId": _DENIED,
    "InvalidClientTokenId": _DENIED,
    "MissingAuthenticationToken": _DENIED,
    "OptInRequired": _DENIED,
    "RequestExpired": _DENIED,
    "SignatureDoesNotMatch": _DENIED,
    "UnauthorizedOperation": _DENIED,
    "UnrecognizedClientException": _DENIED,
    "MalformedXML": _BROKEN,
    "ParamValidation": _BROKEN,
    "ValidationError": _BROKEN,
    # For botocore's own exceptions, which have no code.
    "Credentials": _DENIED,
    "Endpoint": _DOWN,
    "TLS": _OTHER,
    # Our own: the call was not made, because requests are paused or the account's rate is used up.
    PAUSED: Verdict(_C.WAIT, _R.THROTTLED),
    # Our own: a list whose pages lead back or do not end.
    ENDLESS: _OTHER,
    # Our own: a call that writes during a rehearsal.
    FORBIDDEN: _BROKEN,
}
"""Code → class and reason. A test compares it with botocore's model."""

STALE_CREDENTIALS: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "Credentials",
    }
)
"""Codes after which the provider loads the credentials again: they expired or were revoked."""

_NOT_OWNED: Final = re.compile("verify domain name ownership", re.IGNORECASE)
"""CloudFront returns InvalidArgument for a domain that does not point to it yet; these words identify it."""

_NEVER_SENT: Final = frozenset({PAUSED, FORBIDDEN, "ParamValidation", "Credentials"})
_REFUSALS: Final = frozenset(range(400, 500)) - {408}
_MAYBE_MADE: Final = frozenset({"EntityAlreadyExists", "RequestTimeout"})
"""An object of that name exists, which an earlier call may have created; or AWS got part of the request."""
_SERVER_FAULTS: Final = range(500, 600)
_VALIDATION_SECONDS: Final = 300.0
_QUOTA_SECONDS: Final = 600.0
_ROLL_OUT_SECONDS: Final = 5.0
_IN_USE_SECONDS: Final = 60.0


class AwsError(Frozen):
    """A call to AWS failed or was refused."""

    def __init__(  # noqa: PLR0913 - the parts of an answer, by name
        self,
        operation: str,
        code: str,
        words: str,
        *,
        status: int = 0,
        request_id: str = "",
        after: float | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(f"{operation}: {code}: {words}")
        self.operation = operation
        """Such as CreateDistributionTenant."""
        self.code = code
        self.words = words
        """AWS's own message."""
        self.status = status
        """The HTTP status; 0 if there was no response."""
        self.request_id = request_id
        self.after = after
        """Seconds until a retry makes sense, on the injected clock; None if unknown."""
        self.sent = sent and code not in _NEVER_SENT
        """The request may have reached AWS."""
        self.verdict = classify(code, words, status)

    @classmethod
    def of(cls, operation: str, answer: Mapping[str, Any]) -> AwsError:
        """Return the error in a response of AWS, as botocore parses it."""
        body: Mapping[str, Any] = answer.get("Error", {})
        metadata: Mapping[str, Any] = answer.get("ResponseMetadata", {})
        return cls(
            operation,
            body.get("Code") or "Unknown",
            body.get("Message") or "no message",
            status=int(metadata.get("HTTPStatusCode") or 0),
            request_id=metadata.get("RequestId") or "",
        )

    def copied(self) -> AwsError:
        """Return a copy for another worker to raise."""
        return AwsError(
            self.operation,
            self.code,
            self.words,
            status=self.status,
            request_id=self.request_id,
            after=self.after,
            sent=self.sent,
        )

    @property
    def throttled(self) -> bool:
        """AWS throttled the call."""
        return self.verdict is _BUSY

    @property
    def made_nothing(self) -> bool:
        """For a call that creates: AWS clearly refused it, or did not receive it.

        A missing response, an unreadable one and 5xx are uncertain: the call may have taken effect, or may do
        so later, because AWS continues after the client disconnects.
        """
        if not self.sent or not operations.writes(self.operation):
            # An earlier call failed, such as the one for a role's credentials.
            return True
        return self.status in _REFUSALS and self.code not in _MAYBE_MADE

    @property
    def not_permitted(self) -> bool:
        """The IAM policy of the credentials lacks the permission for this call."""
        return self.code in _NOT_PERMITTED

    @property
    def asked_wrongly(self) -> bool:
        """The author of the resource has to correct it."""
        return self.verdict.reason in _ASKED_WRONGLY and self.code not in STALE_CREDENTIALS | _UNSIGNED

    @property
    def conflict(self) -> bool:
        """The tenant changed since the provider observed it."""
        return self.code in ("PreconditionFailed", "InvalidIfMatchVersion")

    @property
    def about_request(self) -> bool:
        """AWS refuses the content of the request and may accept other content: the cause is not the
        credentials, the time or the version."""
        other = self.throttled or self.conflict or self.verdict.reason == Reason.ACCESS_DENIED
        return self.sent and self.status in _REFUSALS and not other

    @property
    def absent(self) -> bool:
        """The object does not exist."""
        return self.code in (
            "EntityNotFound",
            "NoSuchResource",
            "NoSuchDistribution",
            "ResourceNotFoundException",
        )


def classify(code: str, words: str, status: int = 0) -> Verdict:
    """Return the table's row for an error; for an unknown code, the HTTP status decides."""
    if code == "InvalidArgument" and _NOT_OWNED.search(words):
        return _UNOWNED
    if code in CODES:
        return CODES[code]
    if status == 429:
        return _BUSY
    return _DOWN if status in _SERVER_FAULTS else _OTHER


def to_external_error(
    error: AwsError,
    what: str,
    *,
    serving: bool,
    meanwhile: tuple[Condition, ...] = (),
    creating: bool = False,
    advice: str = "",
) -> ExternalError | NotYet:
    """Return the error for the runtime: `<what>: <code>: <AWS's message>. <the next action>`, with the
    request id as an attribute.

    Args:
        error: the error from AWS.
        what: the attempted action, such as `create tenant shop.acme`.
        serving: the tenant serves anyway, so Ready stays as it is.
        meanwhile: other conditions that are known after the failure.
        creating: the call creates, so it matters whether it created something.
        advice: the next action, if the caller knows a better one.
    """
    message = _told(error, what, advice or _advice(error))
    conditions = meanwhile if serving else (*meanwhile, not_ready(error.verdict.reason, message))
    match error.verdict.class_:
        case ErrorClass.WAIT:
            made_nothing = not creating or error.made_nothing
            return NotYet(message, after=_wait_of(error), conditions=conditions, made_nothing=made_nothing)
        case ErrorClass.QUOTA:
            retry = Retry.after(_QUOTA_SECONDS)
        case ErrorClass.TERMINAL:
            retry = Retry.poll()
        case _:
            retry = Retry.backoff()
    return ExternalError(
        message,
        conditions=conditions,
        retry=retry,
        request_id=error.request_id,
        made_nothing=creating and error.made_nothing,
    )


_RENEW: Final = "Renew the credentials to which spec.credentials of the ProviderConfig refers"
_UNSIGNED: Final = frozenset({"IncompleteSignature", "MissingAuthenticationToken", "SignatureDoesNotMatch"})
_NOT_PERMITTED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_ASKED_WRONGLY: Final = frozenset({Reason.INVALID_SPEC, Reason.PARENT_NOT_FOUND, Reason.MISSING_CERTIFICATE})
PERMIT: Final = "Permit it in the IAM policy of these credentials (docs/iam.md)"
_CORRECT: Final = "Correct the resource; the provider retries as soon as it changes"
_AGAIN: Final = "The provider retries"
_ASK_FOR_MORE: Final = (
    "A quota of the AWS account is used up: the account's owner must request an increase from AWS, or remove "
    "what is not needed. The provider retries every ten minutes"
)
_ANOTHER_CLIENT: Final = (
    "Another client changed it at the same time. The provider retries. If this persists, another provider of "
    "this installation or another tool also writes to it: stop one of the two"
)
_MAKE_RECORDS: Final = (
    "CloudFront does not see yet that the domains point to it. Create the records of status.dnsInstructions; "
    "the provider retries every five minutes"
)


def _advice(error: AwsError) -> str:
    """Return the next action, as far as the error alone shows it."""
    if error.code in STALE_CREDENTIALS | _UNSIGNED:
        return _RENEW
    if error.conflict:
        return _ANOTHER_CLIENT
    if error.not_permitted:
        return PERMIT
    if error.verdict.class_ is ErrorClass.QUOTA:
        return _ASK_FOR_MORE
    return _CORRECT if error.asked_wrongly else _AGAIN


def _told(error: AwsError, what: str, advice: str) -> str:
    if error.verdict is _UNOWNED:
        # AWS reports an invalid argument, but the cause is a missing DNS record.
        return f"{what}: {_MAKE_RECORDS}. AWS: {error.code}: {error.words}"
    told = f"{what}: {error.code}: {error.words}"
    return f"{told.rstrip('.')}. {advice}"


@contextmanager
def before_creation() -> Iterator[None]:
    """Mark errors of the block as raised before anything was created."""
    try:
        yield
    except ExternalError as error:
        raise error.but(made_nothing=True) from error


def _wait_of(error: AwsError) -> float:
    if error.after is not None:
        return error.after
    match error.verdict.reason:
        case Reason.DOMAIN_VALIDATION_PENDING:
            return _VALIDATION_SECONDS
        case Reason.DISABLING:
            return _ROLL_OUT_SECONDS
        case _:
            return _IN_USE_SECONDS


def not_ready(reason: Reason, message: str) -> Condition:
    """Return Ready False with that reason."""
    return Condition(
        type=ConditionType.READY, status=ConditionStatus.FALSE, reason=reason.value, message=message
    )
