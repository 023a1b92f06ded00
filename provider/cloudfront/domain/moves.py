"""Whether a domain may be moved to a tenant from another tenant of this installation (pure).

UpdateDomainAssociation moves a domain from one tenant to another in one step, so that CloudFront serves it
without a gap. The provider moves a domain only if the receiving resource asks for it, with the id of the
tenant that has the domain. If that tenant belongs to another namespace, its resource has to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from edgetenants_runtime import deadline
from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state import identity, leaving
from provider.cloudfront.state.observed import ObservedTenant

__all__ = [
    "GIVE_ANNOTATION",
    "LONGEST",
    "TAKE_ANNOTATION",
    "Mover",
    "gives",
    "gives_records",
    "taken_from",
    "unreadable",
]

TAKE_ANNOTATION: Final = "edgetenants.io/take-domains-from"
"""On the receiving resource: the ids of the tenants whose domains it may take, separated by commas."""
GIVE_ANNOTATION: Final = "edgetenants.io/give-domains-to"
"""On a resource whose tenant has domains: the tenants of other namespaces that may take them, each as
<namespace>/<name in CloudFront>, separated by commas. A name without namespace would agree to the first
namespace that uses it, so it has no effect."""


_MOST_IDS: Final = 200
"""Twice the number of domains that a tenant may have."""
_LONGEST_ID: Final = 128
_LONGEST_ADDRESS: Final = 320
"""A namespace, a slash, and a name in CloudFront."""
LONGEST: Final = {
    TAKE_ANNOTATION: _MOST_IDS * (_LONGEST_ID + len(", ")),
    GIVE_ANNOTATION: _MOST_IDS * (_LONGEST_ADDRESS + len(", ")),
}
"""Characters. The provider reads these annotations of other resources too, so it reads no longer ones."""
_MOST_ASKED: Final = 1_000
"""How often one search asks whether a resource agrees to another. Anyone can create resources by the hundred
that take domains from one another, and each of their lists is long."""


def taken_from(mr: Managed) -> frozenset[str]:
    """The ids of the tenants whose domains this resource may take; none if they are `unreadable`."""
    return _listed(mr, TAKE_ANNOTATION)


def unreadable(mr: Managed) -> str:
    """What is wrong with the ids of the tenants whose domains this resource may take; "" if nothing is."""
    longest, ids = LONGEST[TAKE_ANNOTATION], taken_from(mr)
    if len(mr.annotations.get(TAKE_ANNOTATION, "")) > longest:
        # The runtime keeps no more of it, so its length is unknown here.
        return f"expected at most {longest} characters, got more"
    if len(ids) > _MOST_IDS:
        return f"expected at most {_MOST_IDS} ids, got {len(ids)}"
    long = max(map(len, ids), default=0)
    return (
        f"expected ids of at most {_LONGEST_ID} characters, got one of {long}" if long > _LONGEST_ID else ""
    )


def gives(giver: Managed, mr: Managed) -> bool:
    """Whether a resource agrees to give domains to another one, which takes some. Only one that may write can
    agree: one that only observes a tenant has nothing to give."""
    return gives_records(giver, mr) and not giver.deleted


def gives_records(giver: Managed, mr: Managed) -> bool:
    """Whether a resource agrees to give the DNS records of domains that another one has by now. One that is
    being deleted does, too: its deletion waits for that."""
    return (
        bool(taken_from(mr))
        and giver.kind == mr.kind
        and judgement.writes(giver)
        and _address(mr) in _listed(giver, GIVE_ANNOTATION)
    )


@dataclass(frozen=True)
class Mover:
    """Decides for one managed resource."""

    mr: Managed
    installation: str
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """All managed resources of the kind."""
    hold: Callable[[Managed], str] = lambda _: ""
    """Why the provider may not update the tenant of a managed resource; "" if it may."""

    @property
    def wanted(self) -> bool:
        """The resource asks for moves."""
        return bool(taken_from(self.mr))

    def refusal(self, holder: ObservedTenant, owner: str | None) -> str:
        """Why a domain is not moved from the tenant that has it, and how to proceed; "" if it is moved.

        Args:
            holder: the tenant that has the domain.
            owner: the owner in its tags; None if it has none, or the provider cannot read them.
        """
        ours = f"{self.installation}/DistributionTenant/"
        if owner is None or not owner.startswith(ours):
            return "Release the domain there, or remove it here"
        # Neither a tenant's name in CloudFront nor a namespace may contain a slash.
        namespace, _, _ = owner.removeprefix(ours).partition("/")
        agreed = namespace == identity.namespace_of(self.mr)
        if agreed and (going := next(filter(_goes, self._sources(holder, owner)), None)):
            held = leaving.held_back(self.mr, going)
            return f"That tenant is being deleted, which frees the domain. {held or 'No action is needed'}"
        sources = () if agreed and not self.wanted else self._sources(holder, owner)
        if not agreed and not any(self._lists.gives(source, self.mr) for source in sources):
            return (
                "Release the domain there, remove it here, or move it: set the annotation "
                f"{GIVE_ANNOTATION} of the resource that has it to {_address(self.mr)}"
            )
        if holder.id not in taken_from(self.mr):
            return (
                "Release the domain there, remove it here, or move it: set the annotation "
                f"{TAKE_ANNOTATION} to {holder.id}"
            )
        return self._held(holder, owner) or self._without_end(sources)

    def _sources(self, holder: ObservedTenant, owner: str) -> tuple[Managed, ...]:
        """The resources that own the tenant by its owner tag and may write to it. Without that check, anyone
        who can create a resource could refer to the tenant and agree to anything."""
        return tuple(
            mr
            for mr in self.everyone()
            if judgement.recorded(mr, holder)
            and identity.owner_of(mr, self.installation, holder.name) == owner
            and judgement.writes(mr)
        )

    def _held(self, holder: ObservedTenant, owner: str) -> str:
        """Why the tenant keeps the domain for now: a resource that has the tenant may not change it. Here,
        status is enough: only resources of the owner's namespace count, and they only hold a move back."""
        there = [mr for mr in self.everyone() if self._has(mr, holder, owner)]
        # A resource that only observes a tenant that another one manages says nothing about it.
        for mr in tuple(filter(judgement.writes, there)) or there:
            if cause := self.hold(mr):
                here = identity.namespace_of(mr) == identity.namespace_of(self.mr)
                told = cause if here else "the resource that has it is on hold. Its owners can end that"
                return f"It stays there for now: {told}"
        return ""

    def _has(self, mr: Managed, holder: ObservedTenant, owner: str) -> bool:
        leads = mr.at_provider.get("id") == holder.id or mr.external_name in judgement.names(holder)
        return leads and identity.owner_of(mr, self.installation, holder.name) == owner

    def _without_end(self, sources: Iterable[Managed]) -> str:
        if not self._comes_back(sources):
            return ""
        return (
            "The tenants would take it from each other without end: remove the annotation "
            f"{TAKE_ANNOTATION} from one of them"
        )

    def _comes_back(self, sources: Iterable[Managed]) -> bool:
        """Whether the domain would move on from here and back again: the giving resource takes domains from
        this one, or from one that does, and so on, in any namespaces. Only moves count to which the giving
        resource agrees. Otherwise any resource could state the id of a tenant, to keep a domain from
        moving. A search that is too long for an answer keeps no domain from moving either."""
        own, lists = _id(self.mr), self._lists
        takers, ahead, asked = dict(lists.takers), list(sources), 0
        while ahead:
            deadline.check("the search for moves without end")
            receiver = ahead.pop()
            taken = lists.read(receiver, TAKE_ANNOTATION)
            if own in taken and lists.agrees(self.mr, receiver):
                return True
            for id_ in sorted(taken & takers.keys()):
                others = takers.pop(id_)
                asked += len(others)
                if asked > _MOST_ASKED:
                    return False
                agreed = {mr.uid for mr in others if lists.agrees(mr, receiver)}
                ahead += (mr for mr in others if mr.uid in agreed)
                takers[id_] = [mr for mr in others if mr.uid not in agreed]
        return False

    @cached_property
    def _lists(self) -> _Lists:
        return _Lists(self.mr, self.everyone())


class _Lists:
    """What the resources list in their annotations. Each list is read once in a reconcile, and only the part
    that names a resource which takes domains is kept."""

    def __init__(self, own: Managed, everyone: Iterable[Managed]) -> None:
        self.takers: dict[str, list[Managed]] = {}
        """The resources that take domains, by the ids of their tenants."""
        addresses = {_address(own)}
        for mr in everyone:
            if TAKE_ANNOTATION in mr.annotations and _id(mr):
                self.takers.setdefault(_id(mr), []).append(mr)
                addresses.add(_address(mr))
        ids = {_id(own), *self.takers}
        self._known = {TAKE_ANNOTATION: ids, GIVE_ANNOTATION: addresses}
        self._read: dict[tuple[str, str], frozenset[str]] = {}

    def read(self, mr: Managed, annotation: str) -> frozenset[str]:
        """What the resource lists in the annotation."""
        what = (mr.uid, annotation)
        if what not in self._read:
            self._read[what] = _listed(mr, annotation).intersection(self._known[annotation])
        return self._read[what]

    def gives(self, giver: Managed, receiver: Managed) -> bool:
        """The giver names the receiver."""
        # A resource that is being deleted cannot agree any more: another may have taken its place.
        return not giver.deleted and _address(receiver) in self.read(giver, GIVE_ANNOTATION)

    def agrees(self, giver: Managed, receiver: Managed) -> bool:
        """The receiver may take domains of the giver: they are of one namespace, or the giver says so."""
        same = identity.namespace_of(giver) == identity.namespace_of(receiver)
        return same or self.gives(giver, receiver)


def _address(mr: Managed) -> str:
    return f"{identity.namespace_of(mr)}/{mr.external_name}"


def _id(mr: Managed) -> str:
    """The id of its tenant, as its status says; "" if it says none. No list names that."""
    id_ = mr.at_provider.get("id")
    return id_ if isinstance(id_, str) else ""


def _goes(mr: Managed) -> bool:
    """Its tenant is deleted with it."""
    return mr.deleted and leaving.deletes(mr)


def _listed(mr: Managed, annotation: str) -> frozenset[str]:
    text = mr.annotations.get(annotation, "")
    if len(text) > LONGEST[annotation]:
        return frozenset()
    return frozenset(filter(None, (part.strip() for part in text.split(","))))
