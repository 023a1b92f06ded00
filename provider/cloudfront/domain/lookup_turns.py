"""Which namespaces may look up a name now: look-ups that get no reply must not keep all workers waiting."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.domain.text_lookup import LookupFailed

__all__ = ["LookupTurns", "NoTurn"]

_MOST: Final = 4
"""Look-ups at a time; each keeps a worker."""
_MOST_OF_ONE: Final = 2
"""Of one namespace."""
_MOST_SILENT: Final = 5
_DOWN_SECONDS: Final = 10.0
"""How often one look-up of a namespace tries whether there is a reply again, after that many in a row got
none."""
_MOMENT: Final = 1.0
_MOST_KNOWN: Final = 10_000


class NoTurn(Exception):  # noqa: N818 - says what happened
    """A look-up has to wait. This says nothing about the name."""

    def __init__(self, why: str, after: float) -> None:
        """`after`: seconds until it makes sense to try again."""
        super().__init__(why)
        self.after = after


@dataclass(frozen=True)
class _Silence:
    count: int = 0
    """How many look-ups in a row got no reply."""
    until: float = 0.0
    """If these are too many: when the next one may try."""


class LookupTurns:
    """Gives turns. Thread-safe, and never waits.

    Silence is counted by namespace: the dead name servers of one team's domains say nothing about the
    resolvers, and stop only that team's look-ups.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._silences: OrderedDict[str, _Silence] = OrderedDict()

    @contextmanager
    def turn(self, namespace: str) -> Iterator[None]:
        """Hold a turn of the namespace during the block, which is one look-up.

        Raises:
            NoTurn: too many look-ups are under way, or the last ones of the namespace got no reply.
            LookupFailed: as the block raised it.
        """
        self._take(namespace)
        silent = False
        try:
            yield
        except LookupFailed as error:
            silent = error.silent
            raise
        finally:
            self._give(namespace, silent=silent)

    def _take(self, namespace: str) -> None:
        with self._lock:
            if self._busy.total() >= _MOST or self._busy[namespace] >= _MOST_OF_ONE:
                raise NoTurn("other look-ups come first", _MOMENT)
            silence, now = self._silences.get(namespace, _Silence()), self._clock.now()
            if silence.count >= _MOST_SILENT:
                if now < silence.until:
                    raise NoTurn("the last look-ups of this namespace got no reply", silence.until - now)
                self._note(namespace, silence.count)
            self._busy[namespace] += 1

    def _give(self, namespace: str, *, silent: bool) -> None:
        with self._lock:
            self._busy[namespace] -= 1
            if not self._busy[namespace]:
                del self._busy[namespace]
            before = self._silences.pop(namespace, _Silence())
            if silent:
                self._note(namespace, before.count + 1)

    def _note(self, namespace: str, count: int) -> None:
        self._silences[namespace] = _Silence(count, self._clock.now() + _DOWN_SECONDS)
        if len(self._silences) > _MOST_KNOWN:
            self._silences.popitem(last=False)
