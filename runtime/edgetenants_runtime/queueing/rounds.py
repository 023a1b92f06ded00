"""Work beside the reconciles that is done again and again, by the process that may act."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from edgetenants_runtime.bounds import wait

__all__ = ["Round"]

_log = structlog.get_logger("edgetenants_runtime.rounds")


class Round:
    """One job in a thread of its own. Whatever a round raises is logged, and the next one comes."""

    MAY_ACT_SECONDS = 0.2
    """Real seconds between two looks whether this process may act."""
    STUMBLED_SECONDS = 30.0
    """Real seconds after a round that raised."""

    def __init__(self, name: str, job: Callable[[], float], may_act: Callable[[], bool]) -> None:
        """`job` does one round and says how many real seconds the next is away."""
        self._name, self._job, self._may_act = name, job, may_act
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin, as soon as this process may act."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Begin no more rounds; wait up to `timeout` real seconds for one under way. True: it ended."""
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
        except BaseException:  # noqa: BLE001 - whatever one round does, SystemExit too, the next one comes
            _log.exception("a round raised an exception, continuing with the next", round=self._name)
            return self.STUMBLED_SECONDS
