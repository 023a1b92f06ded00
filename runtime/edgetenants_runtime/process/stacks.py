"""Where a thread is at this moment."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["stack_of"]

_LINES: Final = 8
_alone = threading.Lock()


def stack_of(thread: threading.Thread) -> list[str]:
    """Return up to eight lines of code that a thread executes, the innermost last, as "file:line function".
    They contain no values. The list is empty if the thread does not run."""
    with _without_garbage_collection():
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the documented way
    if frame is None:
        return []
    return [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_stack(frame)[-_LINES:]]


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Python 3.11 holds a lock of the interpreter while it makes that dictionary. If the collector runs then,
    and an object that it deletes lets another thread run, the process hangs (CPython issue 106883)."""
    with _alone:
        enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if enabled:
                gc.enable()
