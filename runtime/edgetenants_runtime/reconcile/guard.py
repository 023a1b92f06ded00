"""Wraps external clients: decides whether an external write may start, and updates metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from edgetenants_runtime import deadline, leading
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.external import (
    Change,
    Connector,
    Disconnects,
    ExternalClient,
    Observation,
    RecordsDeletions,
    TellsOfReferences,
    TellsOfWaiting,
)
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed

__all__ = ["GuardedConnector", "Sightings"]


class Sightings(Protocol):
    """Records what external clients observed and did."""

    def up_to_date(self, mr: Managed) -> None:
        """The external resource is up to date."""
        ...

    def repaired(self, mr: Managed) -> None:
        """The external resource was not up to date and has been updated."""
        ...


class GuardedConnector:
    """A connector whose clients start no write while `may_act` is False or after the reconcile's deadline."""

    def __init__(self, connector: Connector, may_act: Callable[[], bool], sightings: Sightings) -> None:
        """`may_act` is called before each create, update and delete: it must be cheap."""
        self._connector, self._may_act, self._sightings = connector, may_act, sightings

    def connect(self, mr: Managed) -> ExternalClient:
        """See `Connector.connect`."""
        return _Guarded(self._connector.connect(mr), self._writing, self._sightings)

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        """See `TellsOfWaiting.waiting`."""
        if isinstance(self._connector, TellsOfWaiting):
            return self._connector.waiting(mr, cause)
        return ()

    def unresolved(self, mr: Managed, cause: str, told: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """See `TellsOfReferences.unresolved`."""
        if isinstance(self._connector, TellsOfReferences):
            return self._connector.unresolved(mr, cause, told)
        return ()

    def deletion_record(self, mr: Managed) -> Mapping[str, Any]:
        """See `RecordsDeletions.deletion_record`."""
        if isinstance(self._connector, RecordsDeletions):
            return self._connector.deletion_record(mr)
        return {}

    @contextmanager
    def _writing(self, write: str) -> Iterator[None]:
        if not self._may_act():
            raise StandDown(write, made_nothing=True)
        deadline.check(write, made_nothing=True)
        with leading.within(self._may_act):
            yield


class _Guarded:
    """An external client; see `GuardedConnector`."""

    def __init__(
        self,
        client: ExternalClient,
        writing: Callable[[str], AbstractContextManager[None]],
        sightings: Sightings,
    ) -> None:
        self._client, self._writing, self._sightings = client, writing, sightings

    def observe(self, mr: Managed) -> Observation:
        seen = self._client.observe(mr)
        if seen.exists and seen.up_to_date:
            self._sightings.up_to_date(mr)
        return seen

    def create(self, mr: Managed, seen: Observation) -> Change:
        with self._writing("the creation"):
            return self._client.create(mr, seen)

    def update(self, mr: Managed, seen: Observation) -> Change:
        with self._writing("the update"):
            change = self._client.update(mr, seen)
        self._sightings.repaired(mr)
        return change

    def disconnect(self) -> None:
        if isinstance(self._client, Disconnects):
            self._client.disconnect()

    def delete(self, mr: Managed, seen: Observation) -> Change:
        with self._writing("the deletion"):
            return self._client.delete(mr, seen)
