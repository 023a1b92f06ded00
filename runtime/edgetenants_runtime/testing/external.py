"""An external system in memory, and a recorder of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.testing.journal import Journal

__all__ = ["FakeExternal", "FakeRecorder"]


class FakeExternal:
    """An external system of toys by external name, and its connector."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.toys: dict[str, int] = {}
        self.created = 0
        self.refusing: dict[str, list[Exception]] = {}
        """Exceptions for the next calls of connect, observe, create, update or delete; `check` is what the
        client finds before it creates."""
        self.observation = Observation(exists=True, conditions=(available(),))
        """The observation of an existing toy; `exists` and `up_to_date` are filled in."""
        self.absent = Observation(exists=False)
        """The observation if there is no toy. With a `creation_record`, a creation is announced."""
        self.change = Change()
        """The result of create, update and delete."""

    def connect(self, mr: Managed) -> FakeExternal:
        """As `Connector.connect`."""
        del mr
        self._refuse_as_told("connect")
        return self

    def observe(self, mr: Managed) -> Observation:
        """As `ExternalClient.observe`."""
        self._call("observe", mr, lambda: None)
        name = mr.external_name or ""
        if name not in self.toys:
            return self.absent
        return replace(self.observation, up_to_date=self.toys[name] == mr.for_provider.get("size"))

    def create(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.create`."""
        self._refuse_as_told("check")
        seen.announce()
        self._call("create", mr, lambda: self._make(mr))
        return self.change

    def update(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.update`."""
        del seen
        self._call("update", mr, lambda: self.toys.update({mr.external_name or "": mr.for_provider["size"]}))
        return self.change

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.delete`."""
        del seen
        self._call("delete", mr, lambda: self.toys.pop(mr.external_name or "", None))
        return self.change

    def _make(self, mr: Managed) -> None:
        name = self.change.external_name or mr.external_name or ""
        if name not in self.toys:
            self.created += 1
        self.toys[name] = mr.for_provider["size"]

    def _call(self, method: str, mr: Managed, effect: Callable[[], object]) -> None:
        def act() -> None:
            self._refuse_as_told(method)
            effect()

        self._journal.act(f"external {method} {mr.external_name}", act)

    def _refuse_as_told(self, method: str) -> None:
        refusals = self.refusing.get(method)
        if refusals:
            raise refusals.pop(0)


class FakeRecorder:
    """Records events in the journal, and their messages in `messages`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.messages: list[str] = []

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """As `Recorder.event`."""
        del mr
        self._journal.act(f"event {type_} {reason}", lambda: self.messages.append(message))
