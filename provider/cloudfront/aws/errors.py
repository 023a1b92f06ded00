"""AWS's errors, classified once by a table.

Exception
└── AwsError            any refusal or failure of a call: code, AWS's words, request id, class
        │ explain()
        ▼
    edgetenants_runtime.errors.NotYet | ExternalError

No botocore exception passes `calls.py` and `account/sessions.py`. Codes are those that botocore's model
declares for the operations used, with those that any AWS API may answer
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
    "explain",
    "not_ready",
]


PAUSED: Final = "Paused"
"""The code of a call that was held back here, to give AWS time."""
ENDLESS: Final = "EndlessList"
"""The code of a list whose pages lead back or do not end."""
FORBIDDEN: Final = "Forbidden"
"""The code of a call that a rehearsal must not make."""


class ErrorClass(StrEnum):
    """What an error asks of us."""

    CONFLICT = "Conflict"
    """The world moved between look and call: look again and retry."""
    THROTTLED = "Throttled"
    """AWS, or the way to it, takes no requests for the moment: back off."""
    WAIT = "Wait"
    """Something outside must happen first, without anybody's fault: look again after a while."""
    QUOTA = "Quota"
    """A quota of the account is used up: retry slowly; never the object's fault."""
    TERMINAL = "Terminal"
    """Only a change of the spec or of the world helps: retried at the poll interval."""
    BUG = "Bug"
    """The request should never have been made so."""


@dataclass(frozen=True)
class Verdict:
    """A row of the table."""

    class_: ErrorClass
    reason: Reason
    """Of the Ready condition, while the tenant does not serve."""


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
    # Made of botocore's own exceptions, which have no code.
    "Credentials": _DENIED,
    "Endpoint": _DOWN,
    "TLS": _OTHER,
    # Made here: the call was not made, as the account's requests are paused or its rate is used up.
    PAUSED: Verdict(_C.WAIT, _R.THROTTLED),
    # Made here: a list whose pages lead back or do not end.
    ENDLESS: _OTHER,
    # Made here: a call that writes, where nothing may be written.
    FORBIDDEN: _BROKEN,
}
"""Code → class and reason. A test holds it against botocore's model."""

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
"""Codes after which the credentials are loaded anew: they ran out, or were taken back."""

_NOT_OWNED: Final = re.compile("verify domain name ownership", re.IGNORECASE)
"""CloudFront answers InvalidArgument for a domain that does not lead to it yet, told apart by these words."""

_NEVER_SENT: Final = frozenset({PAUSED, FORBIDDEN, "ParamValidation", "Credentials"})
_REFUSALS: Final = frozenset(range(400, 500)) - {408}
_MAYBE_MADE: Final = frozenset({"EntityAlreadyExists", "RequestTimeout"})
"""Something of that name is there, which an earlier call may have made; the request came in part."""
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
        """AWS's own."""
        self.status = status
        """Of HTTP; 0 where there was no answer."""
        self.request_id = request_id
        self.after = after
        """Seconds of the injected clock after which it is worth another try; None where that is not known."""
        self.sent = sent and code not in _NEVER_SENT
        """The request may have reached AWS."""
        self.verdict = classify(code, words, status)

    @classmethod
    def of(cls, operation: str, answer: Mapping[str, Any]) -> AwsError:
        """The error in an answer of AWS, as botocore parses it."""
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
        """The same, for another worker to raise."""
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
        """AWS says that requests come too fast."""
        return self.verdict is _BUSY

    @property
    def made_nothing(self) -> bool:
        """Of a call that creates: AWS clearly refused it, or it never got there.

        Uncertain are no answer, one that cannot be read, and 5xx: the call may have had its effect, or have
        it yet, as AWS goes on when nobody listens any more.
        """
        if not self.sent or not operations.writes(self.operation):
            # What failed is a call before it, such as that for a role's credentials.
            return True
        return self.status in _REFUSALS and self.code not in _MAYBE_MADE

    @property
    def not_permitted(self) -> bool:
        """The IAM policy of the credentials lacks the permission for this call."""
        return self.code in _NOT_PERMITTED

    @property
    def asked_wrongly(self) -> bool:
        """Whoever wrote the resource has to correct it."""
        return self.verdict.reason in _ASKED_WRONGLY and self.code not in STALE_CREDENTIALS | _UNSIGNED

    @property
    def conflict(self) -> bool:
        """The tenant moved since it was looked at."""
        return self.code in ("PreconditionFailed", "InvalidIfMatchVersion")

    @property
    def about_request(self) -> bool:
        """AWS refuses what it is asked for, and may take something else: neither the credentials, nor the
        time, nor the version that was named."""
        other = self.throttled or self.conflict or self.verdict.reason == Reason.ACCESS_DENIED
        return self.sent and self.status in _REFUSALS and not other

    @property
    def absent(self) -> bool:
        """What was named does not exist."""
        return self.code in (
            "EntityNotFound",
            "NoSuchResource",
            "NoSuchDistribution",
            "ResourceNotFoundException",
        )


def classify(code: str, words: str, status: int = 0) -> Verdict:
    """The table's row for an error. An unknown code goes by its HTTP status."""
    if code == "InvalidArgument" and _NOT_OWNED.search(words):
        return _UNOWNED
    if code in CODES:
        return CODES[code]
    if status == 429:
        return _BUSY
    return _DOWN if status in _SERVER_FAULTS else _OTHER


def explain(
    error: AwsError,
    what: str,
    *,
    serving: bool,
    meanwhile: tuple[Condition, ...] = (),
    creating: bool = False,
    advice: str = "",
) -> ExternalError | NotYet:
    """The error for the runtime: `<what>: <code>: <AWS's words>. <the next action>`, with the request id
    apart.

    Args:
        error: what AWS answered.
        what: what was tried, such as `create tenant shop.acme`.
        serving: the tenant serves all the same, so that Ready is left alone.
        meanwhile: what else is known after the failure.
        creating: the call was to create, so that it matters whether it made something.
        advice: the next action, where the caller knows it better.
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


_RENEW: Final = "Renew the credentials where spec.credentials of the ProviderConfig says that they are"
_UNSIGNED: Final = frozenset({"IncompleteSignature", "MissingAuthenticationToken", "SignatureDoesNotMatch"})
_NOT_PERMITTED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_ASKED_WRONGLY: Final = frozenset({Reason.INVALID_SPEC, Reason.PARENT_NOT_FOUND, Reason.MISSING_CERTIFICATE})
PERMIT: Final = "Permit it in the IAM policy of these credentials (docs/iam.md)"
_CORRECT: Final = "Correct the resource; a change is tried at once"
_AGAIN: Final = "Tried again by itself"
_ASK_FOR_MORE: Final = (
    "A quota of the AWS account is used up: whoever owns the account asks AWS for more, or removes what is "
    "not needed. Tried again every ten minutes"
)
_SOMEBODY_ELSE: Final = (
    "Somebody else changed it at the same moment. Tried again by itself; if it goes on, another provider of "
    "this installation or another tool writes to it, too: stop one of the two"
)
_MAKE_RECORDS: Final = (
    "CloudFront does not see yet that the domains lead to it. Make the records of status.dnsInstructions; "
    "tried again every five minutes"
)


def _advice(error: AwsError) -> str:
    """What to do next, as far as the error alone tells."""
    if error.code in STALE_CREDENTIALS | _UNSIGNED:
        return _RENEW
    if error.conflict:
        return _SOMEBODY_ELSE
    if error.not_permitted:
        return PERMIT
    if error.verdict.class_ is ErrorClass.QUOTA:
        return _ASK_FOR_MORE
    return _CORRECT if error.asked_wrongly else _AGAIN


def _told(error: AwsError, what: str, advice: str) -> str:
    if error.verdict is _UNOWNED:
        # AWS speaks of an invalid argument, which it is not: what is missing is a DNS record.
        return f"{what}: {_MAKE_RECORDS}. AWS: {error.code}: {error.words}"
    told = f"{what}: {error.code}: {error.words}"
    return f"{told.rstrip('.')}. {advice}"


@contextmanager
def before_creation() -> Iterator[None]:
    """What fails in the block fails before anything is created."""
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
    """Ready False for that reason."""
    return Condition(
        type=ConditionType.READY, status=ConditionStatus.FALSE, reason=reason.value, message=message
    )
