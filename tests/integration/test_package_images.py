"""The images of provider and function, file by file, as they are built for the packages."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from packaging.utils import canonicalize_name

from tests.integration.conftest import CACHE
from xpkg import debian, runtime
from xpkg.__main__ import ROOT, main
from xpkg.image import loaded

SITE = "usr/lib/python3/dist-packages"


@dataclass(frozen=True)
class Built:
    """A package that was built: its file, and what its image has."""

    name: str
    file: Path
    members: Mapping[str, tarfile.TarInfo]
    contents: Mapping[str, bytes]

    @property
    def sbom(self) -> Any:
        return json.loads(self.contents[f"usr/share/sbom/{self.name}.cdx.json"])

    def components(self, purl: str) -> dict[str, Any]:
        return {c["name"]: c for c in self.sbom["components"] if c.get("purl", "").startswith(purl)}

    def resolved(self, path: str) -> str:
        """A path without links in it."""
        at = PurePosixPath()
        for part in PurePosixPath(path).parts:
            member = self.members.get(str(at / part))
            linked = member is not None and member.issym()
            at = at / member.linkname if linked and member is not None else at / part
        return str(at)


@pytest.fixture(scope="module", params=["provider-edgetenants", "function-edgetenants"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    output = tmp_path_factory.mktemp("packages")
    assert main(["--cache", str(CACHE), "build", request.param, "--output", str(output)]) == 0
    [file] = output.glob("*.xpkg")
    found = list(_members(file))
    return Built(
        request.param,
        file,
        {member.name: member for member, _ in found},
        {member.name: content for member, content in found if member.isfile()},
    )


def _members(file: Path) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    for layer in loaded(file).layers:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer.blob))) as tar:
            for member in tar:
                found = tar.extractfile(member) if member.isfile() else None
                yield member, found.read() if found else b""


def test_python_is_the_only_program(built: Built) -> None:
    """No shell, no package manager, nothing else that a process could start by name."""
    programs = {path for path in built.members if re.search(r"(^|/)s?bin/.", path)}
    assert programs == {"usr/bin/python3.11"}


def test_no_script_asks_for_a_shell(built: Built) -> None:
    first_lines = {path: content.partition(b"\n")[0] for path, content in built.contents.items()}
    scripts = {path for path, line in first_lines.items() if re.match(rb"#!.*(sh|perl)\b", line)}
    assert scripts == set()


def test_nothing_installs_packages(built: Built) -> None:
    installers = re.compile(r"(^|/)(pip|ensurepip|setuptools|apt|dpkg)(/|$)")
    assert {path for path in built.members if installers.search(path)} == set()


def test_nothing_has_the_rights_of_another_user_and_nobody_may_write(built: Built) -> None:
    modes = {member.mode for member in built.members.values() if not member.issym()}
    assert modes == {0o644, 0o755}
    assert {(member.uid, member.gid) for member in built.members.values()} == {(0, 0)}
    assert {member.type for member in built.members.values()} <= {
        tarfile.REGTYPE,
        tarfile.DIRTYPE,
        tarfile.SYMTYPE,
    }


def test_it_runs_as_crossplanes_user(built: Built) -> None:
    assert loaded(built.file).settings["User"] == "2000:2000"


def test_the_image_has_our_licence(built: Built) -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    for name in ("edgetenants", "edgetenants_runtime"):
        [found] = [
            p for p in built.contents if re.fullmatch(rf"{SITE}/{name}-[\d.]+\.dist-info/.*/LICENSE", p)
        ]
        assert built.contents[found] == licence


def test_each_debian_package_has_its_copyright_file(built: Built) -> None:
    packages = [one.name for one in debian.locked(ROOT / runtime.LOCK)]
    missing = {
        name
        for name in packages
        if not built.contents.get(built.resolved(f"usr/share/doc/{name}") + "/copyright")
    }
    assert missing == set()


def test_the_sbom_is_valid_and_stands_beside_the_package_and_is_printed(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    # Takes a second, and every process of `make test` imports every test file.
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    inside = built.contents[f"usr/share/sbom/{built.name}.cdx.json"]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(inside.decode()) is None
    assert built.file.with_suffix(".cdx.json").read_bytes() == inside
    capsys.readouterr()
    assert main(["sbom", str(built.file)]) == 0
    assert capsys.readouterr().out.encode() == inside


def test_the_sbom_has_the_debian_packages_of_the_lock(built: Built) -> None:
    locked = {one.name: (one.version, one.sha256) for one in debian.locked(ROOT / runtime.LOCK)}
    assert {
        name: (one["version"], one["hashes"][0]["content"])
        for name, one in built.components("pkg:deb/debian/").items()
    } == locked


def test_the_sbom_has_each_python_package_of_the_image(built: Built) -> None:
    installed = [re.fullmatch(rf"{SITE}/(.+)-([^-]+)\.dist-info/METADATA", path) for path in built.contents]
    found = {(canonicalize_name(match[1]), match[2]) for match in installed if match}
    listed = {
        (canonicalize_name(one["name"]), one["version"]) for one in built.components("pkg:pypi/").values()
    }
    ours = {(one["name"], one["version"]) for one in built.sbom["components"] if "purl" not in one}
    assert {name for name, _ in ours} == {"debian", "edgetenants", "edgetenants-runtime"}
    assert listed | ours - {("debian", "12")} == found


def test_the_hashes_of_wheels_are_those_of_the_lock_and_each_has_a_licence(built: Built) -> None:
    lock = (ROOT / "requirements" / f"{built.name.partition('-')[0]}.lock").read_text()
    for one in built.components("pkg:pypi/").values():
        [block] = re.findall(
            rf"^{re.escape(canonicalize_name(one['name']))}=={re.escape(one['version'])} .*(?:\n .*)*",
            lock,
            re.MULTILINE,
        )
        assert f"--hash=sha256:{one['hashes'][0]['content']}" in block
        assert one["licenses"], one
