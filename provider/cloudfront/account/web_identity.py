"""The token of a web identity, read from its file at the start of each session: Kubernetes renews it
there."""

from __future__ import annotations

from collections.abc import Callable

from botocore.exceptions import CredentialRetrievalError
from botocore.utils import FileWebIdentityTokenLoader

from edgetenants_runtime.errors import ExternalError, Retry

__all__ = ["reader"]

_PATH = "spec.webIdentity.tokenPath"


def reader(path: str | None) -> Callable[[], str]:
    """Return a function that reads the file; it raises botocore's exceptions, as for all other credentials.

    Raises:
        ExternalError: the path is missing.
    """
    if not path:
        raise ExternalError(
            f"{_PATH}: expected a path, as AWS_WEB_IDENTITY_TOKEN_FILE is not set", retry=Retry.poll()
        )
    load = FileWebIdentityTokenLoader(path)

    def read() -> str:
        try:
            return str(load())
        except OSError as error:
            raise CredentialRetrievalError(provider=_PATH, error_msg=error) from error

    return read
