"""Which locks of the provider and the runtime a thread holds: none while it makes a call over the network.

`recorded` replaces the locks that these packages create in its block. Locks that exist already, such as those
of modules, are not recorded.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_OURS = ("provider.", "edgetenants_runtime.")
_IN_TESTS = "edgetenants_runtime.testing."
_Lock, _RLock, _Condition = threading.Lock, threading.RLock, threading.Condition
_here = threading.local()


def held() -> list[str]:
    """The places in the code that created the locks that this thread holds."""
    return sorted(+_counts())


def _counts() -> Counter[str]:
    if not hasattr(_here, "held"):
        _here.held = Counter[str]()
    return _here.held  # type: ignore[no-any-return]


class Recorded:
    """A lock that knows which thread holds it."""

    def __init__(self, lock: Any, place: str) -> None:
        self._lock, self._place = lock, place

    def acquire(self, *args: Any, **kwargs: Any) -> bool:
        got = bool(self._lock.acquire(*args, **kwargs))
        _counts()[self._place] += got
        return got

    def release(self) -> None:
        self._lock.release()
        _counts()[self._place] -= 1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def locked(self) -> bool:
        return bool(self._lock.locked())


class Reentrant(Recorded):
    """The lock of a condition, which gives it back while it waits."""

    def _release_save(self) -> Any:
        state = self._lock._release_save()
        count = _counts().pop(self._place)
        return state, count

    def _acquire_restore(self, saved: Any) -> None:
        self._lock._acquire_restore(saved[0])
        _counts()[self._place] = saved[1]

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())


def _recording(make: Any) -> Any:
    def made(*args: Any) -> Any:
        caller = sys._getframe(1)
        module = caller.f_globals.get("__name__", "")
        if not module.startswith(_OURS) or module.startswith(_IN_TESTS):
            return make(*args)
        place = f"{module}.{caller.f_code.co_qualname}"
        return _Condition(Reentrant(_RLock(), place)) if make is _Condition else Recorded(make(), place)

    return made


@contextmanager
def recorded() -> Iterator[None]:
    """Record the locks that are created meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for name, make in (("Lock", _Lock), ("RLock", _RLock), ("Condition", _Condition)):
            patch.setattr(threading, name, _recording(make))
        yield
