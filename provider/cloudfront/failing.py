"""botocore's exceptions, turned into AwsError: none passes the modules that make calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import botocore.exceptions as botocore_errors
from botocore.parsers import ResponseParserError

from provider.cloudfront.errors import AwsError

__all__ = ["failing", "translated"]

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
    # Not of that family: an answer that is no answer of AWS, such as a proxy's page.
    (ResponseParserError, "Endpoint"),
)
"""The first that fits; the last two are every other failure on the way."""
_UNREACHED: Final = (
    botocore_errors.EndpointConnectionError,
    botocore_errors.ConnectTimeoutError,
    botocore_errors.ProxyConnectionError,
)
"""No connection: the request was not sent. After any other failure on the way it may have been."""
_STILL_EXPIRED: Final = "refreshed credentials are still expired"
"""Of botocore, which has no exception of its own for it: a clock that is wrong, mostly."""


@contextmanager
def failing(operation: str) -> Iterator[None]:
    """Turn whatever botocore raises in the block into AwsError.

    A call to STS that botocore makes by itself, to assume a role, is told as what it is.
    """
    try:
        yield
    except Exception as error:
        if (told := translated(operation, error)) is None:
            raise
        raise told from error


def translated(operation: str, error: Exception) -> AwsError | None:
    """The error that an exception of a call is; None for one that is not botocore's, such as a bug."""
    if isinstance(error, AwsError):
        return error
    if isinstance(error, botocore_errors.ClientError):
        return AwsError.of(error.operation_name, error.response)
    if isinstance(error, _UNREACHED):
        return AwsError(operation, "Endpoint", str(error), sent=False)
    code = next((code for kinds, code in _CODES if isinstance(error, kinds)), None)
    if isinstance(error, RuntimeError) and _STILL_EXPIRED in str(error):
        code = "Credentials"
    return AwsError(operation, code, str(error)) if code else None
