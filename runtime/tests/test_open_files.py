"""The limit of open files."""

from resource import RLIM_INFINITY

import pytest

from edgetenants_runtime import open_files


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1024, 524_288), (65_536, 524_288)),
        ((1024, 4096), (4096, 4096)),
        ((1024, RLIM_INFINITY), (65_536, RLIM_INFINITY)),
        ((1_048_576, 1_048_576), None),
    ],
)
def test_the_process_takes_as_many_open_files_as_it_may_have(
    monkeypatch: pytest.MonkeyPatch, before: tuple[int, int], after: tuple[int, int] | None
) -> None:
    taken = []
    monkeypatch.setattr(open_files.resource, "getrlimit", lambda _: before)
    monkeypatch.setattr(open_files.resource, "setrlimit", lambda _, limits: taken.append(limits))
    open_files.raise_limit()
    assert taken == ([after] if after else [])
