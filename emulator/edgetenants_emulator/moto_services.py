"""Forwards what the emulator does not implement to moto: other CloudFront operations, ACM, STS, Route 53,
…"""

from __future__ import annotations

import io
import json
import threading
from typing import Any
from urllib.parse import unquote

from moto.cloudfront.responses import CloudFrontResponse
from moto.core.base_backend import BackendDict
from moto.core.utils import camelcase_to_underscores
from moto.iam.models import get_account_id_from
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.protocol.operations import Operation, service_model
from edgetenants_emulator.state.world import DEFAULT_ACCOUNT

__all__ = ["Accounts", "MotoServices", "check_has", "error_code"]


class Accounts:
    """The account of an access key.

    twelve digits                                that account
    created by IAM or STS here (AssumeRole, …)   the account of its user or role
    any other key                                the default account
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, access_key: str) -> str:
        """The account of an access key id."""
        if len(access_key) == 12 and access_key.isascii() and access_key.isdecimal():
            return access_key
        found = self._known.get(access_key)
        if found is None:
            found = self._known[access_key] = _account_in_moto(access_key)
        return found

    def forget(self) -> None:
        """Clear the cache, because IAM or STS may have created a key."""
        self._known.clear()


class MotoServices:
    """moto's server, as a function from request to response."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._app: Any = DomainDispatcherApplication(create_backend_app)

    def forward(self, request: Request, operation: Operation, account: str) -> Response:
        """moto's response. Raises AwsError NotImplemented with the operation's name if moto does not
        implement it, and InternalError if moto crashes."""
        with self._lock:
            try:
                response = self._call(_environ(request, account))
            except NotImplementedError as error:
                raise not_implemented(operation) from error
            except KeyError as error:
                raise _missed(operation, error) from error
            except Exception as error:  # report moto's bugs to the caller, with the operation's name
                raise _failed(operation, error) from error
        # Flask's default page: moto does not have this path.
        if response.status == 404 and response.headers.get("Content-Type", "").startswith("text/html"):
            raise not_implemented(operation)
        return response

    def reset(self) -> None:
        """Reset all of moto's backends in this process."""
        with self._lock:
            BackendDict.reset()

    def _call(self, environ: dict[str, Any]) -> Response:
        started: dict[str, Any] = {}

        def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> None:
            started.update(status=int(status.split(maxsplit=1)[0]), headers=dict(headers))

        parts = self._app(environ, start_response)
        try:
            body = b"".join(parts)
        finally:
            close = getattr(parts, "close", None)
            if close:
                close()
        return Response(started["status"], started["headers"], body)


def check_has(operation: Operation) -> None:
    """Check that moto has a CloudFront operation. Raises AwsError NotImplemented."""
    known = bool(operation.name) and hasattr(CloudFrontResponse, camelcase_to_underscores(operation.name))
    if not known:
        raise not_implemented(operation)


def not_implemented(operation: Operation) -> AwsError:
    """The error for an AWS operation that the emulator does not implement."""
    what = operation.name or "this request"
    message = f"This emulator does not implement {what} of {operation.service or 'an unknown service'}."
    return AwsError(ErrorCode.NOT_IMPLEMENTED, message)


def error_code(response: Response) -> str:
    """The code of moto's error response, in any protocol; empty if it has none."""
    text = response.body.decode(errors="replace")
    if "<Code>" in text:
        return text.partition("<Code>")[2].partition("</Code>")[0]
    try:
        return str(json.loads(text).get("__type", "")).rpartition("#")[2]
    except (ValueError, AttributeError):
        return ""


def _missed(operation: Operation, error: KeyError) -> AwsError:
    """The declared not-found error for a KeyError of moto about a part of the path."""
    model = service_model(operation.service)
    if model and operation.name and error.args[:1] and error.args[0] in operation.labels.values():
        for shape in model.operation_model(operation.name).error_shapes:
            if shape.metadata.get("error", {}).get("httpStatusCode") == 404:
                return AwsError(shape.name, f"The resource {error.args[0]} does not exist.", 404)
    return _failed(operation, error)


def _failed(operation: Operation, error: Exception) -> AwsError:
    message = f"moto failed at {operation.name or 'an unknown operation'}: {error!r}"
    return AwsError(ErrorCode.INTERNAL_ERROR, message)


def _account_in_moto(access_key: str) -> str:
    return get_account_id_from(access_key) or DEFAULT_ACCOUNT


def _environ(request: Request, account: str) -> dict[str, Any]:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(request.path, "latin-1"),
        "RAW_URI": request.path + ("?" + request.query_string if request.query_string else ""),
        "REQUEST_URI": request.path + ("?" + request.query_string if request.query_string else ""),
        "QUERY_STRING": request.query_string,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(request.body)),
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        if name not in ("content-length", "content-type"):
            environ["HTTP_" + name.upper().replace("-", "_")] = value
    environ["HTTP_X_MOTO_ACCOUNT_ID"] = account
    return environ
