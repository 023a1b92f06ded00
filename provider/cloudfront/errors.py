"""AWS's errors, classified once by a table.

Exception
└── AwsError            any refusal or failure of a call: code, AWS's words, request id, class
        │ explain()
        ▼
    edgetenants_runtime.errors.NotYet | ExternalError

No botocore exception passes `calls.py` and `aws.py`. Codes are those that botocore's model declares for the
operations used, with those that any AWS API may answer
(https://docs.aws.amazon.com/cloudfront/latest/APIReference/CommonErrors.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet, Retry

__all__ = ["CODES", "AwsError", "ErrorClass", "Verdict", "classify", "explain", "not_ready"]


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
_UNOWNED: Final = Verdict(_C.WAIT, _R.DOMAIN_VALIDATION_PENDING)

CODES: Final[Mapping[str, Verdict]] = {
    # Declared by the tenant, connection group, distribution and tag operations.
    "AccessDenied": _DENIED,
    "CannotDeleteEntityWhileInUse": Verdict(_C.WAIT, _R.DISABLING),
    "CNAMEAlreadyExists": Verdict(_C.TERMINAL, _R.DOMAIN_CONFLICT),
    "EntityAlreadyExists": _MOVED,
    "EntityLimitExceeded": Verdict(_C.QUOTA, _R.QUOTA_EXCEEDED),
    "EntityNotFound": _MOVED,
    "InvalidArgument": _INVALID,
    "InvalidAssociation": _INVALID,
    "InvalidIfMatchVersion": _MOVED,
    "InvalidTagging": _INVALID,
    "NoSuchDistribution": Verdict(_C.TERMINAL, _R.PARENT_NOT_FOUND),
    "NoSuchResource": _MOVED,
    "PreconditionFailed": _MOVED,
    "ResourceInUse": _INVALID,
    "ResourceNotDisabled": Verdict(_C.WAIT, _R.DISABLING),
    # Declared by acm:DescribeCertificate.
    "InvalidArnException": _INVALID,
    "ResourceNotFoundException": _INVALID,
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
}
"""Code → class and reason. A test holds it against botocore's model."""

_NOT_OWNED: Final = re.compile("verify domain name ownership", re.IGNORECASE)
"""CloudFront answers InvalidArgument for a domain that does not lead to it yet, told apart by these words."""

_SERVER_FAULTS: Final = range(500, 600)
_VALIDATION_SECONDS: Final = 300.0
_QUOTA_SECONDS: Final = 600.0
_DISABLING_SECONDS: Final = 5.0


class AwsError(Exception):
    """A call to AWS failed or was refused."""

    def __init__(
        self, operation: str, code: str, words: str, *, status: int = 0, request_id: str = ""
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
        self.verdict = classify(code, words, status)

    @property
    def conflict(self) -> bool:
        """The tenant moved since it was looked at."""
        return self.code in ("PreconditionFailed", "InvalidIfMatchVersion")

    @property
    def absent(self) -> bool:
        """What was named does not exist."""
        return self.code in ("EntityNotFound", "NoSuchResource", "NoSuchDistribution")


def classify(code: str, words: str, status: int = 0) -> Verdict:
    """The table's row for an error. An unknown code goes by its HTTP status."""
    if code == "InvalidArgument" and _NOT_OWNED.search(words):
        return _UNOWNED
    if code in CODES:
        return CODES[code]
    if status == 429:
        return _BUSY
    return _DOWN if status in _SERVER_FAULTS else _OTHER


def explain(error: AwsError, what: str, *, serving: bool) -> ExternalError | NotYet:
    """The error for the runtime: `<what>: <code>: <AWS's words>`, with the request id apart.

    Args:
        error: what AWS answered.
        what: what was tried, such as `create tenant shop.acme`.
        serving: the tenant serves all the same, so that Ready is left alone.
    """
    message = f"{what}: {error.code}: {error.words}"
    conditions = () if serving else (not_ready(error.verdict.reason, message),)
    match error.verdict.class_:
        case ErrorClass.WAIT:
            pending = error.verdict.reason is Reason.DOMAIN_VALIDATION_PENDING
            after = _VALIDATION_SECONDS if pending else _DISABLING_SECONDS
            return NotYet(message, after=after, conditions=conditions)
        case ErrorClass.QUOTA:
            retry = Retry.after(_QUOTA_SECONDS)
        case ErrorClass.TERMINAL:
            retry = Retry.poll()
        case _:
            retry = Retry.backoff()
    return ExternalError(message, conditions=conditions, retry=retry, request_id=error.request_id)


def not_ready(reason: Reason, message: str) -> Condition:
    """Ready False for that reason."""
    return Condition(
        type=ConditionType.READY, status=ConditionStatus.FALSE, reason=reason.value, message=message
    )
