"""An external system whose resources belong to managed resources, with configurable delays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.histories.actions import Setting
from edgetenants_runtime.histories.calls import Calls
from edgetenants_runtime.managed import Managed

__all__ = ["RECORD", "Outside", "Thing"]

RECORD = {"example.org/creating-in": "here"}
"""The client's record of a creation."""


@dataclass
class Thing:
    """One external resource."""

    name: str
    owner: str
    """Name of the managed resource that it was created for."""
    uid: str
    """Uid of that managed resource."""
    size: int
    shows_at: datetime
    goes_at: datetime | None = None


class Outside:
    """External resources by name, and a correct client for them: repeatable, and never changing resources of
    another owner."""

    def __init__(
        self,
        setting: Setting,
        calls: Calls,
        now: Callable[[], datetime],
        judge: Callable[[str, Managed], None],
    ) -> None:
        """`judge` is called for each write before it takes effect."""
        self._setting, self._calls, self._now, self._judge = setting, calls, now, judge
        self._things: dict[str, Thing] = {}
        self._made = 0

    def of(self, mr: str) -> list[Thing]:
        """The existing resources that were created for managed resources of that name."""
        return [thing for thing in self._there() if thing.owner == mr]

    def of_uid(self, uid: str) -> list[Thing]:
        """The existing resources that were created for the managed resource with that uid."""
        return [thing for thing in self._there() if thing.uid == uid]

    def named(self, name: str | None) -> Thing | None:
        """The external resource of that name."""
        return next((thing for thing in self._there() if thing.name == name), None)

    def vanish(self, thing: Thing) -> None:
        """Remove it."""
        self._things.pop(thing.name, None)

    def connect(self, mr: Managed) -> Outside:
        """As `Connector.connect`."""
        return self._calls.reach(f"connect {mr.name}", lambda: self)

    def observe(self, mr: Managed) -> Observation:
        """As `ExternalClient.observe`."""
        thing = self._calls.reach(f"observe {mr.external_name}", lambda: self._visible(mr))
        if thing is None or (thing.owner != mr.name and mr.deleted):
            return Observation(exists=False, creation_record=RECORD if self._setting.records else {})
        if thing.owner != mr.name:
            raise ExternalError(f"{thing.name} belongs to another", retry=Retry.poll())
        return Observation(
            exists=True,
            up_to_date=thing.size == mr.for_provider["size"],
            conditions=(available(),),
            at_provider={"size": thing.size},
            late_initialized={} if "colour" in mr.for_provider else {"colour": "red"},
            connection_details={"name": thing.name.encode()},
        )

    def create(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.create`."""
        seen.announce()
        try:
            thing = self._calls.reach(f"create {mr.external_name}", lambda: self._create(mr), writes=True)
        except BaseException:
            self._still_runs(mr)
            raise
        name = thing.name if self._setting.generated else None
        return Change(external_name=name, connection_details={"name": thing.name.encode()})

    def update(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.update`."""
        del seen
        self._calls.reach(f"update {mr.external_name}", lambda: self._update(mr), writes=True)
        return Change(at_provider={"size": mr.for_provider["size"]})

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.delete`."""
        del seen
        self._calls.reach(f"delete {mr.external_name}", lambda: self._delete(mr), writes=True)
        return Change()

    def _there(self) -> list[Thing]:
        now = self._now()
        self._things = {n: t for n, t in self._things.items() if t.goes_at is None or t.goes_at > now}
        return list(self._things.values())

    def _visible(self, mr: Managed) -> Thing | None:
        thing = self.named(mr.external_name)
        return thing if thing and thing.shows_at <= self._now() else None

    def _create(self, mr: Managed) -> Thing:
        self._judge("create", mr)
        known = self.named(mr.external_name)
        if known is not None and known.owner != mr.name:
            raise ExternalError(f"{known.name} is taken", retry=Retry.poll(), made_nothing=True)
        shows = self._now() + timedelta(seconds=self._setting.shows_after)
        if known is not None and not self._setting.generated:
            # An answer that says so comes after the creation took effect.
            known.shows_at = min(known.shows_at, shows)
            return known
        self._made += 1
        name = f"toy-{self._made}" if self._setting.generated else mr.external_name or ""
        self._things[name] = Thing(name, mr.name, mr.uid, mr.for_provider["size"], shows)
        return self._things[name]

    def _still_runs(self, mr: Managed) -> None:
        """No client waits for the response any more, but the creation still takes effect."""
        lands = self._now() + timedelta(seconds=self._setting.lands_after)
        for thing in self.of_uid(mr.uid):
            thing.shows_at = max(thing.shows_at, lands)

    def _update(self, mr: Managed) -> None:
        self._judge("update", mr)
        thing = self.named(mr.external_name)
        if thing is not None:
            thing.size = mr.for_provider["size"]

    def _delete(self, mr: Managed) -> None:
        self._judge("delete", mr)
        thing = self.named(mr.external_name)
        if thing is not None and thing.goes_at is None:
            thing.goes_at = self._now() + timedelta(seconds=self._setting.goes_after)
            self._there()
