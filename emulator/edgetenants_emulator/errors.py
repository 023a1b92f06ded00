"""CloudFront's errors, with their HTTP status.

    AwsError            becomes an error response in AWS's format
    ConnectionDropped   no response: the connection is reset

Codes and statuses are from botocore's model of CloudFront 2020-05-31; those of the last group are not in the
model. Errors that only a distribution's configuration can cause are in `configuration.config_errors`.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["STATUS", "AwsError", "ConnectionDropped", "ErrorCode"]


class ErrorCode(StrEnum):
    """AWS's error codes."""

    ACCESS_DENIED = "AccessDenied"
    """The resource belongs to another account."""
    BATCH_TOO_LARGE = "BatchTooLarge"
    """An invalidation has too many paths."""
    CANNOT_DELETE_ENTITY_WHILE_IN_USE = "CannotDeleteEntityWhileInUse"
    """A connection group still has tenants, or is the account's default."""
    CNAME_ALREADY_EXISTS = "CNAMEAlreadyExists"
    """Another tenant or distribution, in any account, has the domain."""
    DISTRIBUTION_ALREADY_EXISTS = "DistributionAlreadyExists"
    """The caller reference was used before."""
    DISTRIBUTION_NOT_DISABLED = "DistributionNotDisabled"
    """The distribution to delete is still enabled, or its disabling is still being deployed."""
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists"
    """The account has another resource of that name."""
    ENTITY_LIMIT_EXCEEDED = "EntityLimitExceeded"
    """A quota of the account is used up."""
    ENTITY_NOT_FOUND = "EntityNotFound"
    """The tenant, connection group, or what a request refers to does not exist."""
    ILLEGAL_DELETE = "IllegalDelete"
    """The Anycast list to delete is still being deployed."""
    ILLEGAL_UPDATE = "IllegalUpdate"
    """An update changes an immutable member, or omits a required one."""
    INCONSISTENT_QUANTITIES = "InconsistentQuantities"
    """A Quantity is not the number of its Items."""
    INVALID_ARGUMENT = "InvalidArgument"
    """A member of the request is invalid; the message says which."""
    INVALID_ASSOCIATION = "InvalidAssociation"
    """The tenant's distribution is not multi-tenant."""
    INVALID_IF_MATCH_VERSION = "InvalidIfMatchVersion"
    """If-Match is missing or is not a version."""
    INVALID_TAGGING = "InvalidTagging"
    """A tag is invalid."""
    INVALID_VIEWER_CERTIFICATE = "InvalidViewerCertificate"
    """The distribution's certificate does not exist, is not issued or is not in us-east-1."""
    MISSING_BODY = "MissingBody"
    """The request has no body, but the operation requires one."""
    NO_SUCH_DISTRIBUTION = "NoSuchDistribution"
    """The distribution does not exist."""
    NO_SUCH_INVALIDATION = "NoSuchInvalidation"
    """The invalidation does not exist."""
    NO_SUCH_RESOURCE = "NoSuchResource"
    """The resource with that ARN does not exist."""
    PRECONDITION_FAILED = "PreconditionFailed"
    """If-Match is not the current version of the resource."""
    RESOURCE_IN_USE = "ResourceInUse"
    """Other resources depend on it."""
    RESOURCE_NOT_DISABLED = "ResourceNotDisabled"
    """The tenant or group to delete is still enabled, or its disabling is still being deployed."""
    TOO_MANY_DISTRIBUTIONS = "TooManyDistributions"
    """The account's quota of multi-tenant distributions is used up."""
    TOO_MANY_INVALIDATIONS_IN_PROGRESS = "TooManyInvalidationsInProgress"
    """Too many paths are in progress."""
    UNSUPPORTED_OPERATION = "UnsupportedOperation"
    """The emulator does not support this part of an operation."""

    INTERNAL_ERROR = "InternalError"
    """A bug of the emulator or of moto."""
    INCOMPLETE_SIGNATURE = "IncompleteSignature"
    """The Authorization header is not in AWS's format."""
    MALFORMED_HTTP_REQUEST = "MalformedHttpRequestException"
    """The request's head, or the length of its body, is invalid."""
    MALFORMED_XML = "MalformedXML"
    """The body is not XML, or not valid for this operation."""
    MISSING_AUTHENTICATION_TOKEN = "MissingAuthenticationToken"  # noqa: S105
    """The request has no credentials."""
    NOT_IMPLEMENTED = "NotImplemented"
    """The emulator does not implement this AWS operation."""
    REQUEST_ABORTED = "RequestAbortedException"
    """The client closed the connection before the end of its request."""
    REQUEST_TIMEOUT = "RequestTimeoutException"
    """The request did not arrive in time."""
    REQUEST_TOO_LARGE = "RequestEntityTooLargeException"
    """The body exceeds the limit."""
    SERVICE_UNAVAILABLE = "ServiceUnavailable"
    """The default error of an injected fault."""
    THROTTLING = "Throttling"
    """The account sends too many requests."""
    UNKNOWN_OPERATION = "UnknownOperationException"
    """AWS does not have this operation."""


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
    # Not 500, 502, 503 or 504, which SDKs retry, because a retry does not help.
    ErrorCode.NOT_IMPLEMENTED: 501,
    ErrorCode.REQUEST_ABORTED: 400,
    ErrorCode.REQUEST_TIMEOUT: 408,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
    ErrorCode.THROTTLING: 400,
    ErrorCode.UNKNOWN_OPERATION: 404,
}


class AwsError(Exception):
    """An error response. `code` is usually an ErrorCode; injected faults may set any string."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.status = status if status is not None else STATUS[ErrorCode(code)]


class ConnectionDropped(Exception):  # noqa: N818
    """The connection is reset without a response."""
