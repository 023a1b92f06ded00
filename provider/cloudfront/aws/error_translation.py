"""Turns botocore's exceptions into AwsError: none leaves the modules that make calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Final

import botocore.exceptions as botocore_errors
from botocore.parsers import ResponseParserError

from provider.cloudfront.aws.errors import AwsError

__all__ = ["as_aws_errors", "reading", "translated", "unreadable"]

_CREDENTIALS = (
    botocore_errors.NoCredentialsError,
    botocore_errors.PartialCredentialsError,
    botocore_errors.CredentialRetrievalError,
    botocore_errors.TokenRetrievalError,
    botocore_errors.UnauthorizedSSOTokenError,
    botocore_errors.NoAuthTokenError,
)


_CODES: Final = (
    (botocore_errors.ParamValidationError, "ParamValidation"),
    (botocore_errors.SSLError, "TLS"),
    (_CREDENTIALS, "Credentials"),
    (botocore_errors.BotoCoreError, "Endpoint"),
    # Not a BotoCoreError: a response that is not from AWS, such as a proxy's page.
    (ResponseParserError, "Endpoint"),
)
"""The first match counts; the last two cover every other failure on the way."""
_UNREACHED: Final = (
    botocore_errors.EndpointConnectionError,
    botocore_errors.ConnectTimeoutError,
    botocore_errors.ProxyConnectionError,
)
"""No connection: the request was not sent. After any other failure on the way, it may have been."""
_READERS: Final = frozenset({"botocore.parsers", "botocore.credentials"})
"""Modules that read responses, and may raise any exception if one has an unexpected shape."""
_PACKAGES: Final = ("botocore.", "provider.", "edgetenants_runtime.")
_STILL_EXPIRED: Final = "refreshed credentials are still expired"
"""botocore's message, for which it has no exception class; the usual cause is a wrong clock."""


@contextmanager
def as_aws_errors(operation: str) -> Iterator[None]:
    """Turn every exception of botocore in the block into AwsError.

    If botocore itself calls STS to assume a role, the error names that call.
    """
    try:
        yield
    except Exception as error:
        if (told := translated(operation, error)) is None:
            raise
        raise told from error


@contextmanager
def reading(operation: str) -> Iterator[None]:
    """Raise AwsError if the block cannot read a member of a response: a provider config may name any
    endpoint, and a missing member is that endpoint's fault."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise unreadable(operation, repr(error)) from error


def translated(operation: str, error: Exception) -> AwsError | None:
    """Return the AwsError for an exception of a call; None if it is not botocore's, such as a bug."""
    if isinstance(error, AwsError):
        return error
    if isinstance(error, botocore_errors.ClientError):
        return AwsError.of(error.operation_name, error.response)
    if isinstance(error, _UNREACHED):
        return AwsError(operation, "Endpoint", str(error), sent=False)
    code = next((code for kinds, code in _CODES if isinstance(error, kinds)), None)
    if isinstance(error, RuntimeError) and _STILL_EXPIRED in str(error):
        code = "Credentials"
    if code:
        return AwsError(operation, code, str(error))
    return unreadable(operation, repr(error)) if _raised_by(error) in _READERS else None


def unreadable(operation: str, why: str) -> AwsError:
    """Return the AwsError for a response that AWS would not give."""
    return AwsError(operation, "Endpoint", f"the response does not look like one of AWS: {why}")


def _raised_by(error: Exception) -> str:
    """Return the innermost module of botocore or ours that the exception passed; botocore calls ours, too."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return next(iter([name for name in frames if name.startswith(_PACKAGES)][::-1]), "")
