"""Which tests `make test-affected` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import affected
from tests.affected import BY_NAME, MAIN_JOB, PACKAGES, TESTS

ROOT = Path(__file__).resolve().parents[2]


def of(*files: str) -> list[str]:
    return affected.affected(ROOT, files)


def test_every_named_path_exists() -> None:
    assert [path for path in (*PACKAGES.values(), *TESTS, MAIN_JOB) if not (ROOT / path).exists()] == []


def test_every_package_of_the_import_rules_is_known() -> None:
    import_rules = (ROOT / "pyproject.toml").read_text().partition("root_packages = [")[2].partition("]")[0]
    assert {f'"{name}"' for name in PACKAGES} == set(import_rules.split(", "))


def test_a_module_affects_what_imports_it_through_others() -> None:
    found = of("function/changes/moves.py")
    assert "tests/unit/function/changes/test_other_steps.py" in found
    assert "tests/contract/test_isolation_switches.py" in found
    assert "tests/unit/cli/test_render.py" in found
    assert not [file for file in found if file.startswith(("runtime/", "emulator/", "tests/unit/provider/"))]


def test_the_main_job_stands_for_the_tests_on_a_control_plane() -> None:
    assert [file for file in of("function/fn.py") if file.startswith("tests/integration/")] == [MAIN_JOB]


def test_a_module_that_is_imported_by_name_affects_the_tests_of_the_importer() -> None:
    for importer, package in BY_NAME.items():
        assert (ROOT / package.replace(".", "/")).is_dir(), importer
    assert "tests/unit/cli/test_bad_input.py" in of("cli/output.py")


def test_another_file_affects_the_tests_that_name_it_or_its_folder() -> None:
    found = of("package/composition.yaml")
    assert "tests/unit/cli/test_render.py" in found
    assert MAIN_JOB not in found
    assert "tests/unit/docs/test_plain_english.py" in of("docs/limitations.md")
    assert of("docs/no-test-names-this.md") == of("docs/nor-this.md")


def test_a_module_that_was_removed_affects_no_test_by_itself() -> None:
    assert of("function/changes/removed.py") == [MAIN_JOB]


def test_a_changed_test_runs_and_a_changed_conftest_runs_what_is_below() -> None:
    assert of("tests/unit/test_lanes.py") == ["tests/unit/test_lanes.py"]
    below = of("tests/contract/conftest.py")
    assert below == sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "tests/contract").glob("**/test_*.py")
    )
    assert len(below) > 20


def test_a_file_that_tests_share_affects_those_that_import_it() -> None:
    found = of("tests/unit/provider/world.py")
    assert "tests/contract/test_import.py" in found
    assert "tests/contract/test_credentials.py" not in of("tests/contract/faulty.py")


def test_tests_on_a_control_plane_run_if_they_are_changed_themselves() -> None:
    found = of("tests/integration/stand_ins.py")
    assert "tests/integration/test_golden.py" in found
    assert "tests/integration/test_sandbox.py" not in found
    assert "tests/integration/test_sandbox.py" in of("tests/integration/conftest.py")


def test_dependencies_affect_all_but_the_control_plane() -> None:
    found = of("requirements/dev.lock")
    assert "runtime/tests/test_extras.py" in found
    assert [file for file in found if file.startswith("tests/integration/")] == [MAIN_JOB]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("kept", "edited", "removed", "moved"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("add", ".")
    git("commit", "-m", "base")
    git("checkout", "-b", "change")
    (tmp_path / "committed").write_text("x")
    git("add", ".")
    git("commit", "-m", "change")
    git("checkout", "main")
    (tmp_path / "of main").write_text("x")
    git("add", ".")
    git("commit", "-m", "main went on")
    git("checkout", "change")
    git("mv", "moved", "there")
    git("rm", "removed")
    (tmp_path / "edited").write_text("other\n")
    (tmp_path / "new").write_text("x")
    (tmp_path / "ignored").write_text("x")
    return tmp_path


def test_a_change_is_all_that_differs_from_where_the_branch_began(repository: Path) -> None:
    assert affected.changed(repository, "main") == {"committed", "edited", "removed", "moved", "there", "new"}


def test_an_unknown_revision_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert affected.main(["--since", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert "--since nowhere: expected a branch or commit" in error
    assert "nowhere" in error.partition("commit. ")[2]


def test_each_file_is_printed_on_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"tests/unit/test_lanes.py", "elsewhere/script.py"}
    monkeypatch.setattr(affected, "changed", lambda root, since: files)
    assert affected.main([]) == 0
    told = capsys.readouterr()
    assert told.out == "tests/unit/test_lanes.py\n"
    assert told.err == "2 changed files affect 1 test files\n"


def test_no_change_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make test-affected` hands an empty file to no pytest, which would run all tests."""
    monkeypatch.setattr(affected, "changed", lambda root, since: set())
    assert affected.main([]) == 0
    assert capsys.readouterr().out == ""
