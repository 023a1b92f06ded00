"""Looking whose the tenant or connection group is that an external name leads to, at its owner tag.

    look at it              by what was proven, or by status; else the tag is read
    write to it             by what was proven within the hour; else the tag is read
    delete it, move to it   the tag is read, each time
    take it over            the tag is set before anything else, and read again after a pause

Status is a memory: it saves a new process the tags of ten thousand tenants that it does not write to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

import structlog

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import offers
from provider.cloudfront.aws.errors import AwsError, explain
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.ownership import judgement
from provider.cloudfront.ownership.judgement import Ownership
from provider.cloudfront.ownership.proofs import CONFIRM_SECONDS
from provider.cloudfront.safety import guards
from provider.cloudfront.safety.context import Context
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import Observed

__all__ = ["Looked", "before_deletion", "before_writing", "look", "made", "verified", "with_known_tags"]

_log = structlog.get_logger("provider.cloudfront.ownerlook")

_FREE: Final = frozenset({Ownership.GIVEN, Ownership.NOBODYS})
"""Somebody may take it over, or has said so."""

Seen = TypeVar("Seen", bound=Observed)


@dataclass(frozen=True)
class Looked(Generic[Seen]):
    """What is there, and is the managed resource's as far as that matters for looking at it."""

    seen: Seen
    fresh: bool = False
    """Its tags were read in this very look, and it is the managed resource's."""


def with_known_tags(mr: Managed, seen: Seen) -> Seen:
    """With the tags that status has of it, which a Get does not tell."""
    return replace(seen, tags=mr.at_provider.get("tags")) if seen.id == mr.at_provider.get("id") else seen


def look(mr: Managed, seen: Seen, having: Context) -> Looked[Seen] | None:
    """What was seen when it is ours or is only looked at; None when it is not ours and is let go, as the
    managed resource is being deleted.

    Raises:
        NotYet: another resource that has it is being deleted, or its owner tag was set just now.
        ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
    """
    if not judgement.writes(mr) or _proven(mr, seen, having):
        return Looked(seen)
    contested = having.memory.proofs.contested(mr.uid, seen.id)
    if not mr.deleted and not contested and judgement.believed(mr, seen):
        return Looked(seen)
    tagged = replace(seen, tags=_read_tags(mr, seen, having))
    if mr.deleted:
        return Looked(tagged, fresh=True) if _leaves_with(mr, tagged, having) else None
    return Looked(verified(mr, tagged, having), fresh=True)


def verified(mr: Managed, seen: Seen, having: Context) -> Seen:
    """The same, when by its tags, which were just read, it is ours or is given to us.

    Raises:
        NotYet: another resource that has it is being deleted, or its owner tag was set just now.
        ExternalError: it is not ours (AdoptionRefused).
    """
    verdict = _accepted(mr, seen, having)
    if verdict is not Ownership.LOST:
        _check_rival(mr, seen, having)
    if verdict is Ownership.OURS:
        _confirm(mr, seen, having)
    return seen


def made(mr: Managed, seen: Seen, having: Context) -> None:
    """It was made just now, with its owner tag."""
    if not having.rehearsing:
        having.memory.proofs.note(mr.uid, seen)


def before_writing(
    mr: Managed,
    seen: Seen,
    having: Context,
    *,
    afresh: bool = False,
    taking: Callable[[], None] = lambda: None,
) -> Seen:
    """What was seen, once it is proven to be ours; with its tags, where that took reading them.

    Args:
        mr: the managed resource.
        seen: what it leads to.
        having: what its client works with.
        afresh: whatever was proven before.
        taking: is asked before what somebody gives to this resource is taken over; raises where it must not.

    Raises:
        NotYet: its owner tag was set just now, and nothing else is written before it is read again.
        ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
    """
    if seen.tags is None or _marked(mr, seen, having):
        if not afresh and _proven(mr, seen, having):
            return seen
        seen = verified(mr, replace(seen, tags=_read_tags(mr, seen, having)), having)
    if having.rehearsing or _marked(mr, seen, having):
        return seen
    raise _claimed(mr, seen, having, taking)


def before_deletion(mr: Managed, looked: Looked[Seen], having: Context) -> bool:
    """It is ours by its owner tag, which is read now unless this very look did; False when it is gone.

    Raises:
        NotYet: it is another's by now, and the next look lets it go.
        ExternalError: it cannot be told whose it is.
    """
    seen = looked.seen
    try:
        tags = seen.tags if looked.fresh else having.cloudfront.tags(seen.arn)
    except AwsError as error:
        if error.absent:
            return False
        raise _unreadable(mr, seen, error) from error
    if looked.fresh or _leaves_with(mr, replace(seen, tags=tags), having):
        return True
    words = f"{identity.noun(mr)} {seen.name} ({seen.id}) has another owner by now, and is left as it is"
    raise NotYet(words, after=1.0)


def _claimed(mr: Managed, seen: Seen, having: Context, taking: Callable[[], None]) -> NotYet:
    """Set the owner tag and nothing else, one resource at a time; what there is to wait for then."""
    it = f"{identity.noun(mr)} {seen.name} ({seen.id})"
    if not having.memory.proofs.reserve(seen.id, mr.uid):
        return NotYet(f"{it} is being taken over by another resource", after=CONFIRM_SECONDS)
    with _reserved(mr, seen, having):
        now = replace(seen, tags=having.cloudfront.tags(seen.arn))
        verdict = _accepted(mr, now, having)
        if verdict is Ownership.GIVEN:
            taking()
        if verdict is not Ownership.OURS:
            having.cloudfront.tag(seen.arn, {identity.OWNER_TAG: _owner(mr, seen, having)})
    # From now on: setting it may have taken long.
    having.memory.proofs.reserve(seen.id, mr.uid)
    _log.info("set the owner tag", resource=it, owner=_owner(mr, seen, having))
    words = f"{it} is being taken over: its owner tag is set, and read again before anything else is written"
    return NotYet(words, after=CONFIRM_SECONDS)


@contextmanager
def _reserved(mr: Managed, seen: Seen, having: Context) -> Iterator[None]:
    """Where the owner tag was certainly not set, the next resource may try at once."""
    try:
        yield
    except AwsError as error:
        if error.made_nothing:
            having.memory.proofs.release(seen.id, mr.uid)
        raise _explained(mr, error, f"set the owner tag of {identity.noun(mr)} {seen.name}") from error
    except ExternalError:
        having.memory.proofs.release(seen.id, mr.uid)
        raise


def _confirm(mr: Managed, seen: Seen, having: Context) -> None:
    """The owner tag is ours; where we set it just now, somebody else may be setting it, too."""
    seconds = having.memory.proofs.unconfirmed(mr.uid, seen.id)
    if seconds:
        it = f"{identity.noun(mr)} {seen.name} ({seen.id})"
        words = f"{it} is being taken over: its owner tag is read again before anything else is written"
        raise NotYet(words, after=seconds)
    having.memory.proofs.note(mr.uid, seen)


def _leaves_with(mr: Managed, seen: Seen, having: Context) -> bool:
    """It is deleted with its managed resource. What lost its owner tag is, too, where this process, its other
    tags or somebody's word say that it was ours; in doubt nothing is deleted, and nothing let go."""
    verdict, known = _judge(mr, seen, having), judgement.recorded(mr, seen)
    if verdict is Ownership.OURS:
        if _rival(mr, seen, having) is not None:
            return False
        _confirm(mr, seen, having)
        return True
    if known and verdict is Ownership.NOBODYS:
        raise guards.adoption_refused(mr, seen, verdict, None, having.installation)
    if verdict is Ownership.LOST or (known and verdict is Ownership.GIVEN):
        return True
    if known:
        guards.check_leaving(mr, seen, (seen.tags or {}).get(identity.OWNER_TAG, ""))
    having.memory.proofs.drop(mr.uid)
    return False


def _proven(mr: Managed, seen: Seen, having: Context) -> bool:
    """It was proven lately to be ours, and to be nobody else's."""
    proofs = having.memory.proofs
    return proofs.holds(mr.uid, seen.id) and not proofs.contested(mr.uid, seen.id)


def _check_rival(mr: Managed, seen: Seen, having: Context) -> None:
    other = _rival(mr, seen, having)
    if other is not None:
        having.memory.proofs.drop(mr.uid)
        guards.refuse_beside(mr, seen, other)


def _rival(mr: Managed, seen: Seen, having: Context) -> Managed | None:
    """The other of its identity that has it. Who is proven to have it counts more than who says so in its
    status; of two that were proven to have it at the same moment, the older."""
    proofs = having.memory.proofs
    peers: tuple[Managed, ...] = tuple(having.peers(mr, judgement.names(seen)))
    # One that only looks by now proves nothing anew, so that the others would stay contested for ever.
    writing = frozenset(peer.uid for peer in peers if judgement.writes(peer))
    proofs.keep_only(seen.id, writing | {mr.uid})
    proven = [peer for peer in peers if judgement.alike(mr, peer) and proofs.held(peer.uid, seen.id)]
    if proofs.held(mr.uid, seen.id):
        return next((peer for peer in proven if judgement.is_older(peer, mr)), None)
    if proven or judgement.recorded(mr, seen):
        return next(iter(proven), None)
    return judgement.rival(mr, seen, peers)


def _judge(mr: Managed, seen: Seen, having: Context) -> Ownership:
    held = having.memory.proofs.held(mr.uid, seen.id)
    return judgement.judge(mr, seen, seen.tags or {}, having.installation, held=held)


def _accepted(mr: Managed, seen: Seen, having: Context) -> Ownership:
    """Whose it is by its tags, which were just read, when it may be written to."""
    verdict, owner = _judge(mr, seen, having), (seen.tags or {}).get(identity.OWNER_TAG)
    if verdict in _FREE and _is_held(mr, seen, having):
        verdict = Ownership.HELD
    if verdict in (Ownership.OURS, Ownership.GIVEN, Ownership.LOST):
        return verdict
    having.memory.proofs.drop(mr.uid)
    if having.memory.is_news(mr.uid, "owner", (seen.id, owner)):
        _log.warning("it exists and is not ours", resource=seen.name, resource_id=seen.id, owner=owner)
    if verdict in _FREE:
        _check_offer(mr, seen, having)
    raise guards.adoption_refused(mr, seen, verdict, owner, having.installation)


def _check_offer(mr: Managed, seen: Seen, having: Context) -> None:
    """Its adoption is about to be offered."""
    other = _rival(mr, seen, having)
    if other is not None and not other.deleted:
        guards.refuse_beside(mr, seen, other)
    offers.check(mr, seen, having)


def _is_held(mr: Managed, seen: Seen, having: Context) -> bool:
    """Another live resource was proven to have it, and only its tags are gone: somebody removed them. In its
    own namespace one that only looks by now has let go of it; elsewhere nobody says so for it."""
    own, proofs = identity.namespace_of(mr), having.memory.proofs
    peers = having.peers(mr, judgement.names(seen))
    keeping = (peer for peer in peers if judgement.writes(peer) or identity.namespace_of(peer) != own)
    return any(proofs.held(peer.uid, seen.id) for peer in keeping)


def _marked(mr: Managed, seen: Seen, having: Context) -> bool:
    return (seen.tags or {}).get(identity.OWNER_TAG) == _owner(mr, seen, having)


def _owner(mr: Managed, seen: Seen, having: Context) -> str:
    return identity.owner_of(mr, having.installation, seen.name)


def _read_tags(mr: Managed, seen: Seen, having: Context) -> dict[str, str]:
    try:
        return having.cloudfront.tags(seen.arn)
    except AwsError as error:
        raise _unreadable(mr, seen, error) from error


def _unreadable(mr: Managed, seen: Seen, error: AwsError) -> ExternalError | NotYet:
    return _explained(mr, error, f"read tags of {identity.noun(mr)} {seen.name}")


def _explained(mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
    return explain(error, what, serving=conditions.was_ready(mr))
