"""The built files, read and built by Crossplane's own CLI."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.build import build_cli
from tests.integration.conftest import CACHE
from xpkg.__main__ import ROOT, main, package
from xpkg.contents import PACKAGES, Source
from xpkg.image import Image


@pytest.fixture(scope="module")
def cli() -> Path:
    return build_cli(CACHE, lambda line: print(line, flush=True))


def run(cli: Path, *arguments: str | Path) -> str:
    done = subprocess.run([cli, "xpkg", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def extracted(cli: Path, file: Path) -> dict[tuple[str, str], Any]:
    """The objects of a package as the CLI extracts them, without empty status."""
    out = file.with_suffix(".gz")
    run(cli, "extract", "--from-xpkg", file, "-o", out)
    found = [d for d in yaml.safe_load_all(gzip.decompress(out.read_bytes())) if d]
    for each in found:
        each.pop("status", None)
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def staged(folder: Path, source: Source) -> Path:
    """A folder as `crossplane xpkg build` wants it."""
    folder.mkdir()
    shutil.copy(ROOT / source.meta, folder / "crossplane.yaml")
    for path in source.objects:
        files = sorted((ROOT / path).glob("*.yaml")) if (ROOT / path).is_dir() else [ROOT / path]
        for file in files:
            shutil.copy(file, folder / f"{path.replace('/', '-')}-{file.name}")
    return folder


@pytest.mark.parametrize("name", PACKAGES)
def test_crossplanes_builder_makes_the_same_objects_of_the_same_files(
    cli: Path, tmp_path: Path, name: str
) -> None:
    ours, theirs = tmp_path / "ours.xpkg", tmp_path / "theirs.xpkg"
    package(ROOT, PACKAGES[name], Image(())).save(ours)
    no_examples = tmp_path / "none"
    run(cli, "build", "-f", staged(tmp_path / "staged", PACKAGES[name]), "-e", no_examples, "-o", theirs)
    assert extracted(cli, ours) == extracted(cli, theirs)


def test_a_configuration_is_the_same_bytes_twice(tmp_path: Path) -> None:
    def build(folder: str) -> bytes:
        assert main(["build", "configuration-edgetenants", "--output", str(tmp_path / folder)]) == 0
        [file] = (tmp_path / folder).iterdir()
        return file.read_bytes()

    assert build("one") == build("two")


def test_a_package_with_its_runtime_is_the_same_bytes_when_everything_is_made_again(tmp_path: Path) -> None:
    """The package and its SBOM, with caches of its own for all but the downloads."""

    def build(folder: str) -> list[bytes]:
        cache = tmp_path / folder / "cache"
        cache.mkdir(parents=True)
        (cache / "debian").symlink_to((CACHE / "debian").absolute())
        output = tmp_path / folder / "out"
        assert main(["--cache", str(cache), "build", "function-edgetenants", "--output", str(output)]) == 0
        found = {file.suffix: file.read_bytes() for file in output.iterdir()}
        assert set(found) == {".xpkg", ".json"}
        return found

    assert build("one") == build("two")
