"""The runtime images, without building them: tests/integration/test_packages.py runs them."""

from pathlib import Path

import pytest

from xpkg import __main__ as command
from xpkg.__main__ import ROOT
from xpkg.image import Entry, Image, file, layer
from xpkg.runtime import WANTED, unpack, without


def test_build_tools_are_left_out_with_their_hashes() -> None:
    lock = "# text\na==1 \\\n    --hash=sha256:1\nhatchling==2 \\\n    --hash=sha256:2\n    # via x\nb==3\n"
    assert without(lock, ("hatchling",)) == "# text\na==1 \\\n    --hash=sha256:1\nb==3\n"


def test_the_image_has_no_shell_and_no_package_manager() -> None:
    assert not {"dash", "bash", "busybox", "coreutils", "apt", "dpkg", "perl-base"} & set(WANTED)


def test_files_are_unpacked_through_the_links_to_folders(tmp_path: Path) -> None:
    unpack(tmp_path, [file("usr/lib/x", "x"), Entry("lib", link="usr/lib")])
    assert (tmp_path / "lib/x").read_text() == "x"


def test_a_given_image_is_used_instead_of_debian(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image((layer([file("bin/x", "x")]),), {"User": "2000"}).save(tmp_path / "image.tar")
    given = f"function-edgetenants={tmp_path / 'image.tar'}"
    arguments = ["build", "function-edgetenants", "--output", str(tmp_path), "--runtime-image", given]
    assert command.main(arguments) == 0
    path, _, digest = capsys.readouterr().out.strip().partition(": ")
    assert Path(path).is_file()
    assert digest.startswith("sha256:")


@pytest.mark.parametrize("given", ["x", "configuration-edgetenants=x", "provider-edgetenants="])
def test_a_wrong_image_option_lists_what_is_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    assert command.main(["build", "--output", str(tmp_path), "--runtime-image", given]) == 1
    expected = f"expected provider-edgetenants=FILE, function-edgetenants=FILE; got {given!r}"
    assert expected in capsys.readouterr().err


def test_the_dockerfile_and_the_builder_run_the_same_programs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "USER 2000:2000" in dockerfile
    assert 'ENTRYPOINT ["/venv/bin/edgetenants-provider"]' in dockerfile
    project = (ROOT / "pyproject.toml").read_text()
    for source in command.PACKAGES.values():
        if source.module:
            assert f'"{source.module}:main"' in project
