"""The lock of Debian packages, and what is taken of a package."""

import hashlib
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xpkg import debian, runtime
from xpkg.__main__ import ROOT
from xpkg.errors import PackagingError
from xpkg.image import Entry

SHA = "0" * 64


def test_the_lock_has_exactly_what_the_image_wants() -> None:
    assert sorted(one.name for one in debian.locked(ROOT / runtime.LOCK)) == sorted(runtime.WANTED)


def test_a_lock_is_written_and_read(tmp_path: Path) -> None:
    packages = (debian.Locked("zlib1g", "1:1.2-1", SHA), debian.Locked("libc6", "2.36-9+deb12u1", SHA))
    (tmp_path / "lock").write_text(debian.written(packages))
    assert debian.locked(tmp_path / "lock") == (packages[1], packages[0])


def test_a_wrong_line_of_a_lock_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("# text\nlibc6 2.36\n")
    with pytest.raises(PackagingError, match=r"expected `name=version sha256:…`, got 'libc6 2.36'"):
        debian.locked(tmp_path / "lock")


def test_a_tool_that_is_missing_says_what_to_do_instead() -> None:
    with pytest.raises(PackagingError, match=r"no-such-tool not found: .* --runtime-image"):
        debian.run(["no-such-tool"])


def test_a_tool_that_fails_is_quoted() -> None:
    with pytest.raises(PackagingError, match=r"sh failed \(exit code 3\): wrong"):
        debian.run(["sh", "-c", "echo wrong >&2; exit 3"])


def test_a_version_that_is_no_longer_served_says_how_to_update_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: object) -> bytes:
        if "download" in command:
            raise PackagingError("apt-get failed (exit code 100): E: Version '1' for 'x' was not found")
        return b""

    monkeypatch.setattr(debian, "run", run)
    expected = r"cannot download x:amd64=1: .* was not found\. If Debian .* run `python -m xpkg lock`"
    with pytest.raises(PackagingError, match=expected):
        debian.Repository(tmp_path).fetch([debian.Locked("x", "1", SHA)])


def test_two_processes_with_one_cache_download_a_package_once_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, ran = threading.Lock(), []

    def run(command: list[str], *, cwd: Path | None = None, **_: object) -> bytes:
        assert inside.acquire(blocking=False), "apt-get would fail: another one has its lists"
        time.sleep(0.05)
        ran.append("download" if cwd else "update")
        if cwd:
            (cwd / "x.deb").write_bytes(b"x")
        inside.release()
        return b""

    monkeypatch.setattr(debian, "run", run)
    wanted = [debian.Locked("x", "1", hashlib.sha256(b"x").hexdigest())]
    with ThreadPoolExecutor() as pool:
        files = list(pool.map(lambda _: debian.Repository(tmp_path).fetch(wanted), range(3)))
    assert ran == ["update", "download"]
    assert [file.read_bytes() for [file] in files] == [b"x"] * 3


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A Debian package with files in old and new places."""
    root = tmp_path / "root"
    for path in ("lib/x/lib.so.1", "usr/bin/tool", "usr/share/doc/x/copyright", "usr/share/doc/x/news"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (root / "lib/x/lib.so").symlink_to("lib.so.1")
    (root / "usr/share/doc/y").symlink_to("x")
    (root / "usr/bin/tool").chmod(0o4755)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: x\n"
    )
    made = tmp_path / "x.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", str(root), str(made)], check=True)
    return made


def test_files_are_below_usr_without_documentation_and_without_other_users_rights(package: Path) -> None:
    found = {entry.path: entry for entry in debian.entries(package)}
    assert found == {
        "usr/lib/x/lib.so.1": Entry("usr/lib/x/lib.so.1", b"lib/x/lib.so.1"),
        "usr/lib/x/lib.so": Entry("usr/lib/x/lib.so", link="lib.so.1"),
        "usr/bin/tool": Entry("usr/bin/tool", b"usr/bin/tool", 0o755),
        "usr/share/doc/x/copyright": Entry("usr/share/doc/x/copyright", b"usr/share/doc/x/copyright"),
        "usr/share/doc/y": Entry("usr/share/doc/y", link="x"),
    }
