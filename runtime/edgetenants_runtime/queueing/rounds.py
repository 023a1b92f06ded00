"""Periodic jobs besides the reconciles, run while this process may act."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from edgetenants_runtime.bounds import wait

__all__ = ["Round"]

_log = structlog.get_logger("edgetenants_runtime.rounds")


class Round:
    """One periodic job in its own thread. An exception is logged, and the job continues with the next
    round."""

    MAY_ACT_SECONDS = 0.2
    """Real seconds between two checks whether this process may act."""
    STUMBLED_SECONDS = 30.0
    """Real seconds to wait after a round that raised an exception."""

    def __init__(self, name: str, job: Callable[[], float], may_act: Callable[[], bool]) -> None:
        """`job` runs one round and returns the real seconds until the next."""
        self._name, self._job, self._may_act = name, job, may_act
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start, as soon as this process may act."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Start no more rounds; wait up to `timeout` real seconds for a running one. True: it ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._stopping.wait(wait(self._once()))

    def _once(self) -> float:
        try:
            return self._job() if self._may_act() else self.MAY_ACT_SECONDS
        except BaseException:  # noqa: BLE001 - no exception may stop the job, not even SystemExit
            _log.exception("a round raised an exception, continuing with the next", round=self._name)
            return self.STUMBLED_SECONDS
