"""Bounds on external input: how long to wait, and how much to write.

Values from users, clients and other programs pass through here before a thread sleeps for them or the API
server could reject them. Durations are bounded where they enter (annotations, errors, observations, changes)
and again in the queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

__all__ = [
    "LONGEST_ANNOTATION",
    "LONGEST_EVENT",
    "LONGEST_MESSAGE",
    "LONGEST_REQUEST",
    "LONGEST_WAIT",
    "MOST_CONDITIONS",
    "cut",
    "cut_bytes",
    "excerpt",
    "named",
    "wait",
]

LONGEST_WAIT: Final = 30 * 24 * 3600.0
"""Seconds; longer waits are reduced to this. Python's own waits fail at some 292 years."""
_NO_NUMBER: Final = 60.0
"""Seconds used for a duration that is not a number."""

LONGEST_ANNOTATION: Final = 2_048
"""Characters of an annotation that are read, unless its kind declares another number: those of an ARN, the
longest external name."""
LONGEST_MESSAGE: Final = 8_192
"""Characters in the message of a condition. Kubernetes' own type has 32,768, which anyone who may write
a status can use in each condition, and the provider keeps them in memory."""
MOST_CONDITIONS: Final = 20
"""Conditions in a status. The API server rejects a status with more than its schema allows."""
LONGEST_REQUEST: Final = 256
"""Characters of status.lastHandledReconcileAt."""
LONGEST_EVENT: Final = 1_024
"""Bytes of UTF-8 in the message of an event."""
_EXCERPT: Final = 80
_CUT: Final = "…"


def wait(seconds: float) -> float:
    """The seconds, limited to the range from 0 to LONGEST_WAIT.

    >>> wait(1e300), wait(-1.0), wait(float("nan")), wait(5.0)
    (2592000.0, 0.0, 60.0, 5.0)
    """
    if math.isnan(seconds):
        return _NO_NUMBER
    return max(0.0, min(seconds, LONGEST_WAIT))


def cut(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """The text, truncated with an ellipsis to `longest` characters, and without lone surrogates, which the
    API server does not store.

    >>> cut("too long", 4)
    'too…'
    """
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= longest else whole[: longest - 1] + _CUT


def named(names: Sequence[str], most: int = 5) -> str:
    """A list of names, such as domains, that is short enough for a message.

    >>> named(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def cut_bytes(text: str, longest: int = LONGEST_EVENT) -> str:
    """The same for a limit in bytes of UTF-8; never splits a character.

    >>> cut_bytes("ünüm", 5)
    'ü…'
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= longest:
        return encoded.decode()
    return encoded[: longest - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


def excerpt(text: str) -> str:
    """The text in quotes, truncated, for error messages."""
    return repr(cut(text, _EXCERPT))
