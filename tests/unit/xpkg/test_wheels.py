"""What a lock of wheels names, and what pip reports."""

import json
from pathlib import Path

import pytest

from xpkg.errors import PackagingError
from xpkg.wheels import Wheel, installed, names


def test_a_lock_names_what_an_image_has(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text(
        "# text\n"
        "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n    # via b\n"
        "b-c==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:3\n"
        "d==3 ; platform_system != 'Windows'\n"
    )
    assert names(lock) == ("a", "d")


def test_a_wrong_line_of_a_lock_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("--index-url x\n")
    with pytest.raises(PackagingError, match=r"expected `name==version`, got '--index-url x'"):
        names(tmp_path / "lock")


def test_a_report_of_pip_has_name_version_hash_and_licence(tmp_path: Path) -> None:
    def entry(name: str, **metadata: str) -> object:
        archive = {"hashes": {"sha256": name * 64}}
        return {
            "metadata": {"name": name, "version": "1", **metadata},
            "download_info": {"url": "file:///x", "archive_info": archive},
        }

    report = {"install": [entry("b"), entry("a", license_expression="MIT")]}
    (tmp_path / "report").write_text(json.dumps(report))
    assert installed(tmp_path / "report") == (
        Wheel("a", "1", "a" * 64, "MIT"),
        Wheel("b", "1", "b" * 64, None),
    )
