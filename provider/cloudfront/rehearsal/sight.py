"""The other managed resources, as far as they can be read.

The provider reads them all. A rehearsal outside the cluster reads what it may, and must not treat the rest as
absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.managed import Managed

__all__ = ["Sight", "namesakes"]

_YOUNGEST: Final = "9999-12-31T23:59:59Z"


def namesakes(mr: Managed, names: frozenset[str], resources: Iterable[Managed]) -> Iterator[Managed]:
    """Yield the other ones of `resources` whose external name or id is one of `names`."""
    for other in resources:
        leads = (other.external_name or other.name) in names or other.at_provider.get("id") in names
        if leads and other.uid != mr.uid:
            yield other


@dataclass
class Sight:
    """The managed resources of a cluster that one rehearsal could read."""

    resources: tuple[Managed, ...] = ()
    unseen: tuple[str, ...] = ()
    """What it could not read, and why."""
    used: bool = field(default=False, init=False)
    """Whether the rehearsal used the other resources, so its result depends on them."""

    @property
    def in_words(self) -> str:
        """What could not be read; "" if everything could."""
        return "; ".join(self.unseen)

    @property
    def rests_on(self) -> str:
        """What the result treats as absent because it could not be read; "" if nothing."""
        return self.in_words if self.used else ""

    def peers(self, mr: Managed, names: frozenset[str]) -> Iterable[Managed]:
        """See dependencies.Peers."""
        self.used = True
        return tuple(namesakes(mr, names, (each for each in self.resources if each.kind == mr.kind)))

    def everyone(self) -> Iterable[Managed]:
        """Return all resources that were read."""
        self.used = True
        return self.resources

    def placed(self, mr: Managed) -> Managed:
        """Return a managed resource with its place among the others: it takes uid and age of the existing
        resource with its name, or else counts as the youngest."""
        live = next((each for each in self.resources if _place(each) == _place(mr)), None)
        known = live.metadata if live else {"creationTimestamp": _YOUNGEST, **mr.metadata}
        fields = {key: known[key] for key in ("uid", "creationTimestamp") if key in known}
        return Managed({**mr.raw, "metadata": {**mr.metadata, **fields}})

    def lacks(self, mr: Managed) -> bool:
        """Whether the resource comes from a cluster, but not from the one that was read."""
        return bool(mr.uid) and all(each.uid != mr.uid for each in self.resources)


def _place(mr: Managed) -> tuple[str, str, str, str]:
    return (mr.api_version.partition("/")[0], mr.kind, mr.namespace, mr.name)
