"""The token of a web identity, read from its file as each session begins: Kubernetes renews it there."""

from __future__ import annotations

from collections.abc import Callable

from botocore.exceptions import CredentialRetrievalError
from botocore.utils import FileWebIdentityTokenLoader

from edgetenants_runtime.errors import ExternalError, Retry

__all__ = ["reader"]

_PATH = "spec.webIdentity.tokenPath"


def reader(path: str | None) -> Callable[[], str]:
    """Reads the file; what it raises is botocore's, as for credentials of any other kind.

    Raises:
        ExternalError: there is no path.
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
