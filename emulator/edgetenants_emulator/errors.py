"""The errors that CloudFront answers, with their HTTP status.

    AwsError            answered to the caller in AWS's own shape
    ConnectionDropped   nothing is answered: the connection ends with a reset

Codes and statuses are those of botocore's model of CloudFront 2020-05-31; the last group stands in no model.
Those that only a distribution's configuration brings are in `configuration.config_errors`.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["STATUS", "AwsError", "ConnectionDropped", "ErrorCode"]


class ErrorCode(StrEnum):
    """What went wrong, in AWS's word."""

    ACCESS_DENIED = "AccessDenied"
    """The resource belongs to another account."""
    BATCH_TOO_LARGE = "BatchTooLarge"
    """An invalidation has too many paths."""
    CANNOT_DELETE_ENTITY_WHILE_IN_USE = "CannotDeleteEntityWhileInUse"
    """A connection group still has tenants, or is the account's default."""
    CNAME_ALREADY_EXISTS = "CNAMEAlreadyExists"
    """A domain is taken by another tenant or distribution, in whatever account."""
    DISTRIBUTION_ALREADY_EXISTS = "DistributionAlreadyExists"
    """The caller reference was used before."""
    DISTRIBUTION_NOT_DISABLED = "DistributionNotDisabled"
    """A distribution is to be deleted but still enabled, or its disabling has not reached every edge."""
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists"
    """The account has another resource of that name."""
    ENTITY_LIMIT_EXCEEDED = "EntityLimitExceeded"
    """A quota of the account is used up."""
    ENTITY_NOT_FOUND = "EntityNotFound"
    """The tenant, connection group, or what a request refers to does not exist."""
    ILLEGAL_DELETE = "IllegalDelete"
    """An Anycast list is to be deleted that is still being deployed."""
    ILLEGAL_UPDATE = "IllegalUpdate"
    """An update tries to change what cannot be changed, or leaves out what it must send."""
    INCONSISTENT_QUANTITIES = "InconsistentQuantities"
    """A Quantity is not the number of its Items."""
    INVALID_ARGUMENT = "InvalidArgument"
    """A member of the request breaks a rule; the message says which."""
    INVALID_ASSOCIATION = "InvalidAssociation"
    """A tenant was to be put under a distribution that takes no tenants."""
    INVALID_IF_MATCH_VERSION = "InvalidIfMatchVersion"
    """If-Match is missing or is no version at all."""
    INVALID_TAGGING = "InvalidTagging"
    """A tag breaks the rules for tags."""
    INVALID_VIEWER_CERTIFICATE = "InvalidViewerCertificate"
    """The certificate of a distribution is not there, not issued or not in us-east-1."""
    MISSING_BODY = "MissingBody"
    """The operation needs a body and has none."""
    NO_SUCH_DISTRIBUTION = "NoSuchDistribution"
    """There is no distribution of that id."""
    NO_SUCH_INVALIDATION = "NoSuchInvalidation"
    """The tenant has no invalidation of that id."""
    NO_SUCH_RESOURCE = "NoSuchResource"
    """There is no resource of that ARN."""
    PRECONDITION_FAILED = "PreconditionFailed"
    """If-Match is a version that the resource no longer has."""
    RESOURCE_IN_USE = "ResourceInUse"
    """Other resources depend on it."""
    RESOURCE_NOT_DISABLED = "ResourceNotDisabled"
    """A tenant or group is to be deleted but still enabled, or its disabling has not reached every edge."""
    TOO_MANY_DISTRIBUTIONS = "TooManyDistributions"
    """The account's quota of multi-tenant distributions is used up."""
    TOO_MANY_INVALIDATIONS_IN_PROGRESS = "TooManyInvalidationsInProgress"
    """The paths in progress are too many."""
    UNSUPPORTED_OPERATION = "UnsupportedOperation"
    """The emulator does not have this part of an operation."""

    INTERNAL_ERROR = "InternalError"
    """A bug of the emulator or of moto."""
    INCOMPLETE_SIGNATURE = "IncompleteSignature"
    """The Authorization header is none of AWS's."""
    MALFORMED_HTTP_REQUEST = "MalformedHttpRequestException"
    """The request cannot be read, for its head or the length of its body."""
    MALFORMED_XML = "MalformedXML"
    """The body is no XML, or no XML for this operation."""
    MISSING_AUTHENTICATION_TOKEN = "MissingAuthenticationToken"  # noqa: S105
    """The request carries no credentials."""
    NOT_IMPLEMENTED = "NotImplemented"
    """AWS has this operation, the emulator has it not."""
    REQUEST_ABORTED = "RequestAbortedException"
    """The client ended the connection before its request."""
    REQUEST_TIMEOUT = "RequestTimeoutException"
    """The request did not arrive in time."""
    REQUEST_TOO_LARGE = "RequestEntityTooLargeException"
    """The body is above the limit."""
    SERVICE_UNAVAILABLE = "ServiceUnavailable"
    """What an injected fault answers when nothing else was asked for."""
    THROTTLING = "Throttling"
    """The account makes too many requests."""
    UNKNOWN_OPERATION = "UnknownOperationException"
    """AWS has no such operation."""


STATUS: dict[ErrorCode, int] = {
    ErrorCode.ACCESS_DENIED: 403,
    ErrorCode.BATCH_TOO_LARGE: 413,
    ErrorCode.CANNOT_DELETE_ENTITY_WHILE_IN_USE: 409,
    ErrorCode.CNAME_ALREADY_EXISTS: 409,
    ErrorCode.DISTRIBUTION_ALREADY_EXISTS: 409,
    ErrorCode.DISTRIBUTION_NOT_DISABLED: 409,
    ErrorCode.ENTITY_ALREADY_EXISTS: 409,
    ErrorCode.ENTITY_LIMIT_EXCEEDED: 400,
    ErrorCode.ENTITY_NOT_FOUND: 404,
    ErrorCode.ILLEGAL_DELETE: 400,
    ErrorCode.ILLEGAL_UPDATE: 400,
    ErrorCode.INCONSISTENT_QUANTITIES: 400,
    ErrorCode.INVALID_ARGUMENT: 400,
    ErrorCode.INVALID_ASSOCIATION: 409,
    ErrorCode.INVALID_IF_MATCH_VERSION: 400,
    ErrorCode.INVALID_TAGGING: 400,
    ErrorCode.INVALID_VIEWER_CERTIFICATE: 400,
    ErrorCode.MISSING_BODY: 400,
    ErrorCode.NO_SUCH_DISTRIBUTION: 404,
    ErrorCode.NO_SUCH_INVALIDATION: 404,
    ErrorCode.NO_SUCH_RESOURCE: 404,
    ErrorCode.PRECONDITION_FAILED: 412,
    ErrorCode.RESOURCE_IN_USE: 409,
    ErrorCode.RESOURCE_NOT_DISABLED: 409,
    ErrorCode.TOO_MANY_DISTRIBUTIONS: 400,
    ErrorCode.TOO_MANY_INVALIDATIONS_IN_PROGRESS: 400,
    ErrorCode.UNSUPPORTED_OPERATION: 400,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.INCOMPLETE_SIGNATURE: 400,
    ErrorCode.MALFORMED_HTTP_REQUEST: 400,
    ErrorCode.MALFORMED_XML: 400,
    ErrorCode.MISSING_AUTHENTICATION_TOKEN: 403,
    # Not one of 500, 502, 503 and 504, which SDKs retry: trying again does not help.
    ErrorCode.NOT_IMPLEMENTED: 501,
    ErrorCode.REQUEST_ABORTED: 400,
    ErrorCode.REQUEST_TIMEOUT: 408,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
    ErrorCode.THROTTLING: 400,
    ErrorCode.UNKNOWN_OPERATION: 404,
}


class AwsError(Exception):
    """An error answered to the caller; `code` may be any word when a fault was asked for."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.status = status if status is not None else STATUS[ErrorCode(code)]


class ConnectionDropped(Exception):  # noqa: N818
    """The connection ends with a reset and without an answer."""
