"""Bounds on what comes from outside: how long one waits, and how much one writes.

Whatever a person, a client or another program says ends up here before it meets a thread that sleeps or an
API server that refuses. Durations are bounded where they enter (annotations, errors, observations, changes)
and once more in the queue.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = [
    "LONGEST_EVENT",
    "LONGEST_MESSAGE",
    "LONGEST_REQUEST",
    "LONGEST_WAIT",
    "MOST_CONDITIONS",
    "cut",
    "cut_bytes",
    "excerpt",
    "wait",
]

LONGEST_WAIT: Final = 30 * 24 * 3600.0
"""Seconds; whoever asks for more waits for so long. Python's own waits fail at some 292 years."""
_NO_NUMBER: Final = 60.0
"""Seconds for a duration that is not a number."""

LONGEST_MESSAGE: Final = 32_768
"""Characters in the message of a condition: the bound of Kubernetes' own type."""
MOST_CONDITIONS: Final = 32
"""Conditions in a status. An API server stores none that has more than its schema says."""
LONGEST_REQUEST: Final = 256
"""Characters of status.lastHandledReconcileAt."""
LONGEST_EVENT: Final = 1_024
"""Bytes of UTF-8 in the message of an event."""
_EXCERPT: Final = 80
_CUT: Final = "…"


def wait(seconds: float) -> float:
    """That many seconds, from none to LONGEST_WAIT.

    >>> wait(1e300), wait(-1.0), wait(float("nan")), wait(5.0)
    (2592000.0, 0.0, 60.0, 5.0)
    """
    if math.isnan(seconds):
        return _NO_NUMBER
    return max(0.0, min(seconds, LONGEST_WAIT))


def cut(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """The text, with an ellipsis at its end where it was longer than so many characters, and without halves
    of surrogate pairs, which no API server stores as they are.

    >>> cut("too long", 4)
    'too…'
    """
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= longest else whole[: longest - 1] + _CUT


def cut_bytes(text: str, longest: int = LONGEST_EVENT) -> str:
    """The same for a bound in bytes of UTF-8; never cuts a character in two.

    >>> cut_bytes("ünüm", 5)
    'ü…'
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= longest:
        return encoded.decode()
    return encoded[: longest - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


def excerpt(text: str) -> str:
    """The text in quotes, as an error shows what it got."""
    return repr(cut(text, _EXCERPT))
