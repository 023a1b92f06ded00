"""botocore's exceptions, turned into AwsError: none passes the modules that make calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import botocore.exceptions as botocore_errors

from provider.cloudfront.errors import AwsError

__all__ = ["failing"]

_CREDENTIALS = (
    botocore_errors.NoCredentialsError,
    botocore_errors.PartialCredentialsError,
    botocore_errors.CredentialRetrievalError,
    botocore_errors.TokenRetrievalError,
    botocore_errors.UnauthorizedSSOTokenError,
    botocore_errors.NoAuthTokenError,
)


@contextmanager
def failing(operation: str) -> Iterator[None]:
    """Turn whatever botocore raises in the block into AwsError.

    A call to STS that botocore makes by itself, to assume a role, is told as what it is.
    """
    try:
        yield
    except botocore_errors.ClientError as error:
        raise _refused(error) from error
    except botocore_errors.ParamValidationError as error:
        raise AwsError(operation, "ParamValidation", str(error)) from error
    except _CREDENTIALS as error:
        raise AwsError(operation, "Credentials", str(error)) from error
    except botocore_errors.BotoCoreError as error:
        raise AwsError(operation, "Endpoint", str(error)) from error


def _refused(error: botocore_errors.ClientError) -> AwsError:
    body: Mapping[str, Any] = error.response.get("Error", {})
    metadata: Mapping[str, Any] = error.response.get("ResponseMetadata", {})
    return AwsError(
        error.operation_name,
        body.get("Code") or "Unknown",
        body.get("Message") or "no message",
        status=int(metadata.get("HTTPStatusCode") or 0),
        request_id=metadata.get("RequestId") or "",
    )
