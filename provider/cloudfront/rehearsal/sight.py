"""The other managed resources, as far as they can be seen.

The provider sees them all. A rehearsal outside a cluster sees what it may read of one, and what it could not
see it must not take for absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.managed import Managed

__all__ = ["Sight", "namesakes"]

_YOUNGEST: Final = "9999-12-31T23:59:59Z"


def namesakes(mr: Managed, names: frozenset[str], resources: Iterable[Managed]) -> Iterator[Managed]:
    """The others of `resources` whose external name is one of these, or that hold that id."""
    for other in resources:
        leads = (other.external_name or other.name) in names or other.at_provider.get("id") in names
        if leads and other.uid != mr.uid:
            yield other


@dataclass
class Sight:
    """What one rehearsal sees of the managed resources of a cluster."""

    resources: tuple[Managed, ...] = ()
    unseen: tuple[str, ...] = ()
    """What could not be seen, and why."""
    used: bool = field(default=False, init=False)
    """Somebody asked for the others, so that what was found depends on them."""

    @property
    def in_words(self) -> str:
        """What could not be seen; "" where everything was."""
        return "; ".join(self.unseen)

    @property
    def rests_on(self) -> str:
        """What was taken for absent because it could not be seen; "" where nothing was."""
        return self.in_words if self.used else ""

    def peers(self, mr: Managed, names: frozenset[str]) -> Iterable[Managed]:
        """See context.Peers."""
        self.used = True
        return tuple(namesakes(mr, names, (each for each in self.resources if each.kind == mr.kind)))

    def everyone(self) -> Iterable[Managed]:
        """All that were seen."""
        self.used = True
        return self.resources

    def placed(self, mr: Managed) -> Managed:
        """A managed resource as it stands among the others: it is the one of its name, if there is one, and
        else it would be the youngest."""
        live = next((each for each in self.resources if _place(each) == _place(mr)), None)
        known = live.metadata if live else {"creationTimestamp": _YOUNGEST, **mr.metadata}
        fields = {key: known[key] for key in ("uid", "creationTimestamp") if key in known}
        return Managed({**mr.raw, "metadata": {**mr.metadata, **fields}})

    def lacks(self, mr: Managed) -> bool:
        """It comes from a cluster, and is not in the one that was seen."""
        return bool(mr.uid) and all(each.uid != mr.uid for each in self.resources)


def _place(mr: Managed) -> tuple[str, str, str, str]:
    return (mr.api_version.partition("/")[0], mr.kind, mr.namespace, mr.name)
