"""What a store of customers is: rows, read completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

__all__ = ["Conditional", "Positioned", "Reading", "Row", "Store", "StoreError", "StoreReason", "Value"]

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
"""A value, as JSON has them."""


class StoreReason(StrEnum):
    """Why a read failed."""

    UNREACHABLE = "Unreachable"
    """The store does not answer."""
    ACCESS_DENIED = "AccessDenied"
    """The store refuses the credentials or the right to read."""
    INVALID_CONFIGURATION = "InvalidConfiguration"
    """The store cannot be read as configured, such as a table that does not exist."""
    INVALID_DATA = "InvalidData"
    """The store's contents are not in the expected form."""
    INCOMPLETE = "Incomplete"
    """The read began and did not reach the end."""


@dataclass(frozen=True)
class Row:
    """One customer."""

    columns: Mapping[str, Value]
    version: str | None = None
    """The store's own version of the row, for later write-back."""
    unfit: Mapping[str, str] = field(default_factory=dict)
    """Columns whose value has no exact form in JSON: what was expected instead. `columns` lacks them."""
    place: str = ""
    """Where it is in the store, such as `line 3`, for messages about a row without a key."""


class StoreError(Exception):
    """A read failed. Never contains row contents or secrets."""

    def __init__(self, reason: StoreReason, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class Reading(Protocol):
    """Iterating yields rows; ending without an exception means that the read was complete."""

    def __iter__(self) -> Iterator[Row]: ...


class Store(Protocol):
    """One configured store."""

    def read(self) -> AbstractContextManager[Reading]:
        """Read all rows. Raises StoreError at any point."""
        ...

    def close(self) -> None:
        """Release what the store holds."""
        ...


@runtime_checkable
class Positioned(Reading, Protocol):
    """A reading that knows which state of the store it reads."""

    @property
    def position(self) -> str | None:
        """Names the state that this reading sees, where the store can tell. The store's module says how to
        compare two of them. None before the end of the reading, if the store tells only then."""
        ...


@runtime_checkable
class Conditional(Store, Protocol):
    """A store that can say cheaply that nothing changed."""

    def read_since(self, position: str) -> AbstractContextManager[Positioned | None]:
        """Read all rows, or yield None if they are those of the complete reading with this position.

        Only who still has the result of that reading passes its position: the store keeps no rows. Raises
        StoreError at any point.
        """
        ...
