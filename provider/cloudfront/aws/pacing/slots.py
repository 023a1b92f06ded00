"""The order in which the waiting calls of an account get the slots that its rate permits.

    priority   that of the reconcile, as in the runtime's queue: change, deletion, drift, poll. A lower one
               that was passed over a number of times in a row is next (`WorkQueue.PASSED_OVER`).
    namespace  within a priority, the one that had the fewest of the last slots; of several, the one whose
               last slot is longest ago; of those without any, the one whose call came first

So a namespace that makes calls all the time leaves the next slots to one that seldom makes any, and over a
longer time both have as many. None of the last slots is a namespace's after so many of others. So its first
waiting call waits for at most that many slots of its priority, and one for each call that waits already.

Not thread-safe: the account's Pace holds the lock.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.queueing.queue import Priority, WorkQueue
from edgetenants_runtime.queueing.urgency import Urgency

__all__ = ["Call", "Slots"]

_LAST: Final = 32
"""The number of slots of a priority that count. With sixteen workers, the first call of a namespace waits for
at most 32 + 15 others: less than ten seconds at the default rate (`LONGEST_WAIT`). With four busy namespaces,
another one has eight slots before them, and a new tenant needs about six."""


@dataclass(eq=False)
class Call:
    """A call that waits."""

    urgency: Urgency
    namespace: str
    told: threading.Condition
    """Notified when the call gets its slot, and when it has to watch the time."""
    has_slot: bool = False

    @property
    def priority(self) -> Priority:
        """That of its reconcile."""
        return self.urgency.priority


@dataclass
class _Last:
    """The last slots of one priority."""

    slots: deque[str] = field(default_factory=deque)
    """Namespaces."""
    each: Counter[str] = field(default_factory=Counter)
    at: dict[str, int] = field(default_factory=dict)
    """The number of each one's last slot."""
    number: int = 0

    def add(self, namespace: str) -> None:
        self.number += 1
        self.slots.append(namespace)
        self.each[namespace] += 1
        self.at[namespace] = self.number
        if len(self.slots) <= _LAST:
            return
        gone = self.slots.popleft()
        self.each[gone] -= 1
        if not self.each[gone]:
            del self.each[gone], self.at[gone]

    def rank(self, namespace: str) -> tuple[int, int]:
        """The lowest goes first."""
        return self.each[namespace], self.at.get(namespace, 0)


class Slots:
    """The waiting calls to one service in one account, and who had the last slots."""

    def __init__(self) -> None:
        self._calls: dict[Call, None] = {}
        """In the order in which they came. Each one has a thread, so they are as few as the workers."""
        self._last = {priority: _Last() for priority in Priority}
        self._passed_over = dict.fromkeys(Priority, 0)
        self.watch: Call | None = None
        """The one whose thread hands out the next slot."""

    def __len__(self) -> int:
        """The number of waiting calls."""
        return len(self._calls)

    def put(self, call: Call) -> None:
        """The call waits."""
        self._calls[call] = None

    def leave(self, call: Call) -> None:
        """The call waits no more, with a slot or without. If it had to watch, another one does."""
        self._calls.pop(call, None)
        if self.watch is call:
            self.watch = next(iter(self._calls), None)
            self.look()

    def look(self) -> None:
        """Wake the call that watches: the time of the next slot has changed."""
        if self.watch is not None:
            self.watch.told.notify()

    def had(self, priority: Priority, namespace: str) -> None:
        """A call had a slot without waiting."""
        self._last[priority].add(namespace)

    def next(self) -> Call:
        """Return the call that gets a slot; it waits no more. There must be one."""
        priority = self._next_priority({call.priority for call in self._calls})
        last = self._last[priority]
        mine = (call for call in self._calls if call.priority is priority)
        # Of equal ones, the one that came first.
        call = min(mine, key=lambda each: last.rank(each.namespace))
        del self._calls[call]
        last.add(call.namespace)
        return call

    def before(self, priority: Priority, namespace: str) -> int:
        """Return about how many of the calls that wait now get a slot before another one."""
        waiting = Counter(call.namespace for call in self._calls if call.priority is priority)
        mine = waiting.pop(namespace, 0)
        same = mine + sum(min(count, mine + 1) for count in waiting.values())
        higher = sum(1 for call in self._calls if call.priority > priority)
        return same + min(higher, (same + 1) * WorkQueue.PASSED_OVER.get(priority, 0))

    def latest(self, priority: Priority, namespace: str) -> int:
        """Return which slot from now on a call has at the latest, by about the calls that wait now."""
        before = self.before(priority, namespace) + 1
        return before * (WorkQueue.PASSED_OVER.get(priority, 0) + 1)

    def _next_priority(self, waiting: set[Priority]) -> Priority:
        overdue = [p for p, most in WorkQueue.PASSED_OVER.items() if self._passed_over[p] >= most]
        chosen = min((p for p in overdue if p in waiting), default=max(waiting))
        for priority in Priority:
            passed = priority in waiting and priority is not chosen
            self._passed_over[priority] = self._passed_over[priority] + 1 if passed else 0
        return chosen
