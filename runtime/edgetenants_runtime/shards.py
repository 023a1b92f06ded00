"""Which shard an owner belongs to. On an owner, such as an account of the external system, only one process
works."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

__all__ = ["MOST", "Mine", "everything", "shard_of"]

MOST: Final = 16
"""The greatest number of shards: each has a Lease, which each process reads or renews every two seconds."""

Mine = Callable[[str], bool]
"""Whether this process works on an owner. Cheap."""


def shard_of(owner: str, count: int) -> int:
    """Return the shard, which is the same in every process."""
    return int.from_bytes(hashlib.sha256(owner.encode()).digest()[:8]) % count


def everything(owner: str) -> bool:
    """Implements `Mine` without shards."""
    del owner
    return True
