"""Bounds of a read of a server that sends its rows as they come."""

from __future__ import annotations

from dataclasses import dataclass

from sources.stores.values import MAX_ROWS

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds of a read, in seconds.

    Attributes:
        connect: until the connection stands.
        silence: how long the server may send nothing, as while it computes the first row; a database also
            waits at most as long for a lock.
        read: of the whole read.
        rows: how many there may be.
    """

    connect: float = 10.0
    silence: float = 60.0
    read: float = 900.0
    rows: int = MAX_ROWS
