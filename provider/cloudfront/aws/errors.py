"""AWS's errors, classified by one table.

Exception
└── AwsError            any refused or failed call: code, AWS's message, request id, class
        │ retries.to_external_error()
        ▼
    edgetenants_runtime.errors.NotYet | ExternalError

No botocore exception leaves `calls.py` and `account/sessions.py`. The codes are those that botocore's model
declares for the operations used, and those that any AWS API may return
(https://docs.aws.amazon.com/cloudfront/latest/APIReference/CommonErrors.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import Frozen
from provider.cloudfront.aws import operations

__all__ = [
    "CODES",
    "ENDLESS",
    "FORBIDDEN",
    "PAUSED",
    "RENEWED",
    "STALE_CREDENTIALS",
    "AwsError",
    "ErrorClass",
    "Verdict",
    "classify",
]


PAUSED: Final = "Paused"
"""The code of a call that the provider itself held back, to give AWS time."""
RENEWED: Final = "CredentialsRenewed"
"""The code of a call that was not made because its credentials may be of another account now."""
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
    "LimitExceededException": Verdict(_C.QUOTA, _R.QUOTA_EXCEEDED),
    "ResourceNotFoundException": Verdict(_C.TERMINAL, _R.MISSING_CERTIFICATE),
    "ValidationException": _INVALID,
    # Declared by the operations of Route 53.
    "InvalidChangeBatch": _MOVED,
    "InvalidInput": _INVALID,
    "NoSuchChange": _OTHER,
    "NoSuchDelegationSet": _OTHER,
    "DelegationSetNotReusable": _OTHER,
    "NoSuchHealthCheck": _OTHER,
    "NoSuchHostedZone": _OTHER,
    "PriorRequestNotComplete": _BUSY,
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
    # Our own: the call was not made, because its credentials may be of another account.
    RENEWED: Verdict(_C.WAIT, _R.AWS_ERROR),
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

_NEVER_SENT: Final = frozenset({PAUSED, RENEWED, FORBIDDEN, "ParamValidation", "Credentials"})
_REFUSALS: Final = frozenset(range(400, 500)) - {408}
_MAYBE_MADE: Final = frozenset({"EntityAlreadyExists", "RequestTimeout"})
"""An object of that name exists, which an earlier call may have created; or AWS got part of the request."""
_SERVER_FAULTS: Final = range(500, 600)


_UNSIGNED: Final = frozenset({"IncompleteSignature", "MissingAuthenticationToken", "SignatureDoesNotMatch"})
_NOT_PERMITTED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_ASKED_WRONGLY: Final = frozenset({Reason.INVALID_SPEC, Reason.PARENT_NOT_FOUND, Reason.MISSING_CERTIFICATE})


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
    def bad_credentials(self) -> bool:
        """AWS does not accept the credentials, or their signature."""
        return self.code in STALE_CREDENTIALS | _UNSIGNED

    @property
    def unowned(self) -> bool:
        """CloudFront does not see yet that the domains point to it."""
        return self.verdict is _UNOWNED

    @property
    def asked_wrongly(self) -> bool:
        """The author of the resource has to correct it."""
        return self.verdict.reason in _ASKED_WRONGLY and not self.bad_credentials

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
    def says_what_is_there(self) -> bool:
        """The answer to a Get: there is no such object, or nothing can have such a name. A refusal without a
        known code may be a proxy's."""
        return self.absent or (self.about_request and self.code in CODES)

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
