"""Messages that any client can cause are logged seldom."""

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.serving.repeats import Repeats


def test_a_message_is_logged_once_a_minute_with_how_many_were_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repeats, clock = Repeats(), FakeClock()
    monkeypatch.setattr(repeats, "_clock", clock)
    assert [repeats.due("a") for _ in range(4)] == [0, None, None, None]
    assert repeats.due("b") == 0
    clock.advance(61)
    assert [repeats.due("a"), repeats.due("a")] == [3, None]
