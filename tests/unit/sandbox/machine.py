"""A machine on which the control plane is built by a Go that only writes down what it is asked."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import build

GO_MOD = """module edgetenants.io/sandbox/controlplane

require (
	github.com/crossplane/crossplane/v2 v2.3.4 // indirect
	k8s.io/api v0.35.7
	k8s.io/apiextensions-apiserver v0.35.7
	k8s.io/apimachinery v0.35.7
	k8s.io/apiserver v0.35.7
	k8s.io/kube-openapi v0.0.0-20260127142750-a19766b6e2d4
)
"""

CLI_GO_MOD = """module edgetenants.io/sandbox/crossplane-cli

require (
	github.com/crossplane/cli/v2 v2.5.0 // indirect
)
"""
V1_GO_MOD = """module edgetenants.io/sandbox/crossplane-v1

require (
	github.com/crossplane/crossplane v1.20.11 // indirect
)
"""
PYTHON = sys.executable

FAKE_GO = """#!{python} -IS
import json, os, pathlib, sys, time
args = sys.argv[1:]
state = pathlib.Path({state!r})
keep = {{name: os.environ.get(name, "") for name in ("GOTOOLCHAIN", "CGO_ENABLED", "GOPROXY", "GOGC")}}
with (state / "calls").open("a") as log:
    log.write(json.dumps({{"args": args, "env": keep}}) + "\\n")
if (state / "fail").exists() and any((state / "fail").read_text().strip() in arg for arg in args):
    print("\\n".join(f"line {{n}}" for n in range(100)))
    print("undefined: something", file=sys.stderr)
    sys.exit(2)
if args[0] == "env":
    print("{version}")
elif args[0] == "tool":
    folder = pathlib.Path(args[args.index("--output-dir") + 1])
    (folder / args[args.index("--output-file") + 1]).write_text("package openapi\\n")
elif args[0] == "build":
    print("\\n".join(f"package/{{n}}" for n in range(7)), file=sys.stderr, flush=True)
    time.sleep(float((state / "slow").read_text()) if (state / "slow").exists() else 0)
    into = args.index("-o") + 1
    for package in args[into + 1:]:
        (pathlib.Path(args[into]) / package.rpartition("/")[2]).write_text(package)
elif args[0] == "mod":
    print(json.dumps({{"Dir": str(state / "apiserver")}}))
elif args[0] == "list" and "-deps" in args:
    print("\\n".join(f"package/{{n}}" for n in range(9)))
elif args[0] == "list":
    print(state / "crossplane")
elif args[0] == "run" and args[-1] != "check":
    print((state / "definitions").read_text())
"""


@dataclass
class Machine:
    """A module with one source, a cache, and a Go that only writes down what it is asked."""

    root: Path
    said: list[str] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def module(self) -> Path:
        return self.root / "module"

    @property
    def cli_module(self) -> Path:
        return self.root / "cli"

    @property
    def v1_module(self) -> Path:
        return self.root / "v1"

    def build_cli(self) -> Path:
        return build.build_cli(self.cache, self.said.append)

    def build_for_packages(self) -> build.PackageTools:
        return build.build_for_packages(self.cache, self.said.append)

    def build_v1(self) -> build.Binaries:
        """The last core of v1, beside a control plane that no one has built."""
        nowhere = build.Binaries(*(self.root / "nowhere" for _ in range(5)))
        return build.build_crossplane_v1(self.cache, nowhere, self.said.append)

    def build(self) -> build.Binaries:
        return build.build(self.cache, self.said.append)

    def go(self, version: str = "go1.26.8", *, into: Path | None = None) -> None:
        binary = (into or self.root / "path") / "go"
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.write_text(FAKE_GO.format(python=PYTHON, state=str(self.root), version=version))
        binary.chmod(0o755)
        (binary.parent.parent / "VERSION").write_text(f"{version}\ntime 2026-01-01T00:00:00Z\n")

    def calls(self, *, of: str = "") -> list[list[str]]:
        log = self.root / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [
            call["args"]
            for call in map(json.loads, lines)
            if call["args"][0] == of or (not of and call["args"][0] != "env")
        ]

    def built(self) -> list[str]:
        """The packages of the programs that were built, in order."""
        return [package for call in self.calls(of="build") for package in packages(call)]

    def forget(self) -> None:
        (self.root / "calls").unlink(missing_ok=True)
        self.said.clear()


def flag(args: list[str], name: str) -> str:
    return args[args.index(name) + 1]


def packages(args: list[str]) -> list[str]:
    """What `go build` is to build."""
    return args[args.index("-o") + 2 :]
