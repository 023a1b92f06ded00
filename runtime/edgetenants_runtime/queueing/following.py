"""How long what follows a change keeps the priority of the change.

    user's change ─► course of that key ─► requeues, retries and polls with its priority ─► settled: ended
    change of ours ─┘                    └► after an hour, or too many of them: as polls

A resource that never settles (its requests always fail, or it is always being rolled out) would otherwise go
before the polls of all others for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.queueing.queue import Priority

__all__ = ["LONGEST_COURSE", "Course", "Following"]

Key = TypeVar("Key", bound=Hashable)

LONGEST_COURSE: Final = 3600.0
"""Seconds for which what follows a change has its priority."""
_MOST: Final = 60
"""Requeues with that priority: one a minute for as long, or more often for a shorter time."""


@dataclass(eq=False)
class Course:
    """What follows one change of one key."""

    priority: Priority
    """That of the change."""
    began: float
    """When the change was made, on the injected clock."""
    made: bool = False
    """The provider has changed the external resource since."""
    followed: int = 0
    """The requeues that have had the priority."""


class Following(Generic[Key]):
    """The changes that have not settled. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        """`clock` is that of the external system."""
        self._clock = clock
        self._lock = threading.Lock()
        self._courses: dict[Key, Course] = {}

    def asked(self, key: Key, priority: Priority) -> None:
        """A user, or another client, asked for something else: a new course begins."""
        with self._lock:
            self._courses[key] = Course(priority, self._clock.now())

    def made(self, key: Key, priority: Priority) -> None:
        """The provider itself has changed the external resource, or has tried to.

        A course that has only waited so far, such as for a referenced object, starts again with its priority.
        All further changes belong to it, until an hour later another one begins: so a resource that is
        changed again and again has a bounded number of requeues an hour with the priority."""
        now = self._clock.now()
        with self._lock:
            course = self._courses.get(key)
            if course is None or now - course.began >= LONGEST_COURSE:
                self._courses[key] = Course(priority, now, made=True)
            elif not course.made:
                self._courses[key] = Course(course.priority, now, made=True)

    def course(self, key: Key) -> Course | None:
        """The course under way, to pass to `settled`; None if there is none."""
        with self._lock:
            return self._courses.get(key)

    def settled(self, key: Key, course: Course | None) -> None:
        """The resource is as desired, and nothing follows. `course` is that of the beginning of the
        reconcile: one that was started since goes on."""
        with self._lock:
            if self._courses.get(key) is course:
                self._courses.pop(key, None)

    def priority(self, key: Key) -> Priority:
        """The priority of the next requeue of the key, which is counted."""
        now = self._clock.now()
        with self._lock:
            course = self._courses.get(key)
            if course is None or now - course.began >= LONGEST_COURSE or course.followed >= _MOST:
                return Priority.POLL
            course.followed += 1
            return course.priority

    def forget(self, key: Key) -> None:
        """The object was deleted."""
        with self._lock:
            self._courses.pop(key, None)
