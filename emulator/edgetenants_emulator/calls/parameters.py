"""A request's parameters for the call log, for any service: by the model's names, without secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.exchange import Request
from edgetenants_emulator.protocol.operations import Operation, service_model

__all__ = ["MASK", "SECRETS", "read"]

MASK = "***"
"""The text that replaces a secret."""
SECRETS = frozenset(
    {
        "Certificate",
        "CertificateBody",
        "CertificateChain",
        "NewPassword",
        "OldPassword",
        "Passphrase",
        "Password",
        "PrivateKey",
        "SAMLAssertion",
        "SecretAccessKey",
        "SecretBinary",
        "SecretString",
        "SessionToken",
        "TokenCode",
        "WebIdentityToken",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
        "X-Amz-Signature",
    }
)
"""The members that contain a secret as text. Structures with such a name are searched."""
_IN_FORM = frozenset({"Action", "Version"})


def read(request: Request, operation: Operation) -> dict[str, Any]:
    """The parameters of a request; empty if it cannot be parsed."""
    try:
        return {name: _masked(value, name) for name, value in _members(request, operation).items()}
    except (ValueError, AwsError):
        return {}


def _members(request: Request, operation: Operation) -> dict[str, Any]:
    model = service_model(operation.service)
    if operation.protocol == "rest-xml" and model and operation.name:
        return restxml.parse(model.operation_model(operation.name), request, operation.labels)
    body = request.body.decode()
    if operation.protocol in ("query", "ec2"):
        given = {**request.query, **dict(parse_qsl(body, keep_blank_values=True))}
        return {name: value for name, value in given.items() if name not in _IN_FORM}
    found = json.loads(body) if body.strip() else {}
    return {**operation.labels, **request.query, **(found if isinstance(found, dict) else {})}


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _masked(inside, key) for key, inside in value.items()}
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    secret = name.rpartition(".")[2] in SECRETS or (isinstance(value, str) and "-----BEGIN" in value)
    return MASK if secret else value
