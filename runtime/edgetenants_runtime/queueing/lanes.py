"""A queue that serves its shares in turn, so that no namespace waits for another's thousands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

__all__ = ["Lane"]

Key = TypeVar("Key", bound=Hashable)


class Lane(Generic[Key]):
    """Keys in the order of their arrival within a share, and shares in turn. Every operation is O(1).

    A share that becomes busy queues up behind those that are: with n busy shares, a key that is alone in its
    own waits for at most n others.
    """

    def __init__(self, share: Callable[[Key], Hashable]) -> None:
        """`share` says to whom a key is counted; asked once, when the key is put in."""
        self._share = share
        self._of: dict[Key, Hashable] = {}
        self._shares: OrderedDict[Hashable, OrderedDict[Key, None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, key: Key) -> bool:
        return key in self._of

    def put(self, key: Key) -> None:
        """Add the key; one that waits already keeps its place."""
        if key in self._of:
            return
        share = self._share(key)
        self._of[key] = share
        self._shares.setdefault(share, OrderedDict())[key] = None

    def discard(self, key: Key) -> None:
        """Take the key out, if it waits."""
        if key not in self._of:
            return
        share = self._of.pop(key)
        keys = self._shares[share]
        del keys[key]
        if not keys:
            del self._shares[share]

    def pop(self) -> Key:
        """Take out the first key of the share whose turn it is. Raises KeyError when nothing waits."""
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
        """Take out the first key of the next share that is not `full`; None when no such one waits. Costs as
        many steps as shares are full."""
        for share in self._shares:
            if share not in full:
                self._shares.move_to_end(share, last=False)
                return self.pop()
        return None

    def clear(self) -> None:
        """Take everything out."""
        self._of.clear()
        self._shares.clear()
