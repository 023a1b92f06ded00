"""The README's commands and its quickstart run as they stand there, on another port."""

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
CURL = re.compile(r"^\$ (curl -s .*?)(?: {2,}#.*)?$", re.MULTILINE)
LINES = CURL.findall(README)
ADDRESS = re.compile(r"(localhost|127\.0\.0\.1):4599")
MANAGED = {"ValidationTokenHost": "self-hosted", "PrimaryDomainName": "shop.example.org"}


def run(line: str, url: str) -> tuple[int, str]:
    """Status and body of what a line of the README asks."""
    here = ADDRESS.sub(url.removeprefix("http://"), line)
    asked = [*("bash", "-c"), f"{here} -w '\\n%{{http_code}}'"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


@pytest.fixture
def ready(emulator, aws):
    """An emulator with what the lines talk of: the tenant acme, with a managed certificate."""
    aws.tenant("acme", Domains=[{"Domain": "shop.example.org"}], ManagedCertificateRequest=MANAGED)
    return emulator


def test_the_lines_are_found():
    assert len(LINES) == README.count("$ curl") > 12


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_answered(ready, line):
    status, body = run(line, ready.url)
    assert status in (200, 201, 204), body


def test_the_quickstart_runs(emulator):
    seed, step, state, calls = LINES[:4]
    (script,) = re.findall(r"`demo\.py`.*?```python\n(.*?)```", README, re.DOTALL)
    assert run(seed, emulator.url)[0] in (200, 201)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ADDRESS.sub(emulator.url.removeprefix("http://"), script), "demo.py", "exec"), {})
    assert printed.getvalue().strip() == script.rpartition("# ")[2].strip()
    assert run(step, emulator.url)[0] == 200
    assert '"Deployed"' in run(state, emulator.url)[1]
    assert "CreateDistributionTenant" in run(calls, emulator.url)[1]
