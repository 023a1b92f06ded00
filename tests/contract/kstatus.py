"""kstatus of sigs.k8s.io/cli-utils, by which Flux and others tell whether an object is as asked: a program in
Go (tests/kstatus), built once and kept."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sandbox import golang

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "tests" / "kstatus"


@cache
def program() -> Path:
    """The program, rebuilt where its sources or Go have moved. One process builds, others wait."""
    home = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache")).resolve()
    built, stamp = home / "bin" / "kstatus", home / "bin" / ".built-kstatus.json"
    sources = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(MODULE.iterdir()))).hexdigest()
    with golang.only_one(home, print):
        go = golang.find(home)
        if not (built.exists() and golang.is_built(stamp, sources, go)):
            go = go or golang.install(home, MODULE, print)
            built.parent.mkdir(exist_ok=True)
            go.run(MODULE, "go build kstatus", ["build", "-mod=readonly", "-o", str(built), "."], print)
            golang.write_stamp(stamp, sources, go)
    return built


def status_of(obj: Mapping[str, Any]) -> str:
    """The object's status: InProgress, Current, Failed, Terminating."""
    answer = subprocess.run([program()], input=json.dumps(obj), capture_output=True, text=True, check=True)
    return answer.stdout.partition(":")[0]
