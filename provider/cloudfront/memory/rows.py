"""Rows of lists that several callers of one account have read.

Each caller's lists count for its own resources only, so each caller has an inventory. But most callers see
the same rows, and a row takes a kilobyte.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from weakref import WeakValueDictionary

from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["SharedRows"]


class SharedRows:
    """The last rows of an account's tenants, as long as an inventory has them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: WeakValueDictionary[str, ObservedTenant] = WeakValueDictionary()
        """By id."""

    def of(self, rows: Iterable[ObservedTenant]) -> tuple[ObservedTenant, ...]:
        """Return equal rows, those of other callers where there are such."""
        with self._lock:
            return tuple(map(self._one, rows))

    def _one(self, row: ObservedTenant) -> ObservedTenant:
        known = self._rows.get(row.id)
        if known is not None and known == row:
            return known
        self._rows[row.id] = row
        return row
