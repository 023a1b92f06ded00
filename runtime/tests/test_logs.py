"""Log lines: whole, of one form, and without secrets."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from edgetenants_runtime import ExternalError, logs
from edgetenants_runtime.logs import LogFormat
from edgetenants_runtime.testing import World, toy

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


@pytest.mark.timeout(5)
@pytest.mark.parametrize("word", ["eyJ", "-eyJ", "-eyJaaaaaaa", "password", "-----BEGIN "])
def test_a_text_of_others_takes_no_time(word: str) -> None:
    text = word * (500_000 // len(word))
    assert logs.hide_secrets(None, "info", {"error": text})["error"] == text


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


# A provider whose author has thought of nothing.

RUNS = """
import sys
from edgetenants_runtime import ManagedKind, SystemClock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.manager import Manager

class Bug:
    def connect(self, mr):
        credentials = "AKIA-s3cr3t"
        raise KeyError("bug")

# configured
manager = Manager(KubeClient.from_kubeconfig(sys.argv[1]), SystemClock())
TOYS = ManagedKind("toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True)
controller = manager.manage(TOYS, Bug())
stumbled = controller._instruments.reconciles.ended
controller._instruments.reconciles.ended = lambda *told: (stumbled(*told), manager.request_stop())
sys.exit(manager.run())
"""


THEIR_OWN = "import structlog; structlog.configure(processors=[structlog.processors.KeyValueRenderer()])"


def ran(api: Any, tmp_path: Path, configured: str) -> subprocess.CompletedProcess[str]:
    """What a provider prints that meets a bug of its author's."""
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [toy()]})]
    script = RUNS.replace("# configured", configured)
    command = [sys.executable, "-c", script, str(tmp_path / "kubeconfig")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.usefixtures("client")
def test_a_provider_that_configures_no_logs_prints_no_locals(api: Any, tmp_path: Path) -> None:
    done = ran(api, tmp_path, "")
    assert "s3cr3t" not in done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert "KeyError" in next(line["exception"] for line in lines if line["event"] == "reconcile failed")


@pytest.mark.usefixtures("client")
def test_a_provider_that_configures_its_own_keeps_them(api: Any, tmp_path: Path) -> None:
    done = ran(api, tmp_path, THEIR_OWN)
    assert "event='reconcile failed'" in done.stdout
    assert done.stderr == ""


def test_a_failure_that_goes_on_is_logged_once_and_briefly() -> None:
    """Who touches a failing resource again and again would fill the log."""
    world = World(toy())
    first, second = ExternalError("no " * 9000), ExternalError("another")
    world.external.refusing["observe"] = [first, first, first, second, first]
    with capture_logs() as logged:
        for _ in range(5):
            world.reconcile()
    lines = [line for line in logged if line["event"] == "reconcile failed"]
    assert [line["log_level"] for line in lines] == ["warning", "debug", "debug", "warning", "warning"]
    assert max(len(line["error"]) for line in lines) == 4096
