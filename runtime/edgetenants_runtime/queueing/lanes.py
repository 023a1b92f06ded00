"""A queue that serves its shares in turn, so that no namespace waits for the thousands of objects of
another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

__all__ = ["Lane"]

Key = TypeVar("Key", bound=Hashable)


class Lane(Generic[Key]):
    """Keys in order of arrival within a share, and shares in turn. Every operation is O(1).

    A share that becomes busy queues behind the busy ones: with n busy shares, the only key of a share waits
    for at most n others.
    """

    def __init__(self, share: Callable[[Key], Hashable]) -> None:
        """`share` returns the share of a key; called once, when the key is put in."""
        self._share = share
        self._of: dict[Key, Hashable] = {}
        self._shares: OrderedDict[Hashable, OrderedDict[Key, None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, key: Key) -> bool:
        return key in self._of

    def waiting(self, share: Hashable) -> int:
        """The number of keys of that share."""
        return len(self._shares.get(share, ()))

    def put(self, key: Key) -> None:
        """Add the key. A key that is already waiting keeps its place."""
        if key in self._of:
            return
        share = self._share(key)
        self._of[key] = share
        self._shares.setdefault(share, OrderedDict())[key] = None

    def discard(self, key: Key) -> None:
        """Remove the key, if it is waiting."""
        if key not in self._of:
            return
        share = self._of.pop(key)
        keys = self._shares[share]
        del keys[key]
        if not keys:
            del self._shares[share]

    def pop(self) -> Key:
        """Remove and return the first key of the next share. Raises KeyError if the lane is empty."""
        share, keys = next(iter(self._shares.items()), (None, None))
        if keys is None:
            raise KeyError("the lane is empty")
        key, _ = keys.popitem(last=False)
        del self._of[key]
        if keys:
            self._shares.move_to_end(share)
        else:
            del self._shares[share]
        return key

    def take(self, full: Collection[Hashable]) -> Key | None:
        """Remove and return the first key of the next share that is not `full`; None if there is none. Takes
        as many steps as there are full shares."""
        for share in self._shares:
            if share not in full:
                self._shares.move_to_end(share, last=False)
                return self.pop()
        return None

    def clear(self) -> None:
        """Remove all keys."""
        self._of.clear()
        self._shares.clear()
