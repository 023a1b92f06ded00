"""Log lines: whole, of one form, and without secrets."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from edgetenants_runtime import logs
from edgetenants_runtime.logs import LogFormat

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    """Configures logging as asked; answers what was written."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def configured(format_: LogFormat, *, debug: bool = False) -> Callable[[], str]:
        logs.configure(format_, debug=debug)
        return lambda: capsys.readouterr().err

    yield configured
    structlog.configure(**before)
    root.handlers[:], root.level = handlers, level


HIDDEN: list[tuple[str, Any, str]] = [
    ("a field by its name", {"aws_secret_key": "s3cr3t"}, "s3cr3t"),
    ("a nested field", {"config": {"spec": [{"sessionToken": "s3cr3t"}]}}, "s3cr3t"),
    ("bytes", {"data": {"tls.key": b"s3cr3t"}}, "s3cr3t"),
    ("a private key in a text", {"error": f"cannot use {PEM} here"}, "MIIEow"),
    ("a private key that was cut", {"error": PEM[:35]}, "MII"),
    ("a ServiceAccount's token", {"error": f"token {JWT} is invalid"}, "c2lnbmF0dXJl"),
    ("a bearer header", {"error": "header 'Authorization: Bearer abcdef123456'"}, "abcdef123456"),
    ("a line of a credentials file", {"error": "aws_secret_access_key = s3cr3t"}, "s3cr3t"),
    ("AWS' XML or JSON", {"error": '{"SecretAccessKey": "s3cr3t", "a": 1}'}, "s3cr3t"),
    ("a signed URL", {"error": "GET /?X-Amz-Security-Token=s3cr3t&b=1"}, "s3cr3t"),
]


@pytest.mark.parametrize(("fields", "secret"), [case[1:] for case in HIDDEN], ids=[c[0] for c in HIDDEN])
@pytest.mark.parametrize("format_", LogFormat)
def test_secrets_are_hidden_wherever_they_stand(
    said: Any, fields: dict[str, Any], secret: str, format_: LogFormat
) -> None:
    written = said(format_)
    structlog.get_logger().info("x", **fields)
    text = written()
    assert "[hidden]" in text
    assert secret not in text


@pytest.mark.parametrize("format_", LogFormat)
def test_secrets_are_hidden_in_tracebacks(said: Any, format_: LogFormat) -> None:
    written = said(format_)
    try:
        int("aws_secret_access_key = s3cr3t")
    except ValueError:
        structlog.get_logger().exception("x")
    text = written()
    assert "ValueError" in text
    assert "s3cr3t" not in text


ORDINARY = (
    "cannot get secrets crossplane-system/creds: not found",
    "spec.credentials: expected an AWS credentials file with aws_secret_access_key under [default]",
    "the token in status.dnsInstructions was not seen",
    "password policy",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_stay(text: str) -> None:
    assert logs.hide_secrets(None, "info", {"error": text}) == {"error": text}


def test_a_line_has_the_object_and_is_json(said: Any) -> None:
    written = said(LogFormat.JSON)
    with structlog.contextvars.bound_contextvars(kind="Toy", namespace="shop", name="acme"):
        structlog.get_logger().warning("hello", size=1)
    line = json.loads(written())
    assert {k: v for k, v in line.items() if k != "ts"} == {
        "event": "hello",
        "kind": "Toy",
        "namespace": "shop",
        "name": "acme",
        "size": 1,
    } | {"level": "warning"}


def test_libraries_are_told_in_the_same_form_and_never_their_debug_lines(said: Any) -> None:
    written = said(LogFormat.JSON, debug=True)
    library = logging.getLogger("urllib3.connectionpool")
    library.debug("Authorization: Bearer abcdef123456")
    library.warning("Retrying %s", "GET")
    [line] = written().splitlines()
    assert (json.loads(line)["event"], json.loads(line)["logger"]) == ("Retrying GET", library.name)
