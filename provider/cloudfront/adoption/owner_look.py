"""Checks the owner tag of the tenant or connection group that an external name leads to.

    observe it              a proof or the status suffices; else read the tag
    write to it             a proof of the last ten seconds suffices; else read the tag
    delete it, move to it   read the tag each time
    adopt it                set the tag before any other write, and read it again after a pause

Status saves a new process from reading the tags of ten thousand tenants that it does not write to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Generic, TypeVar

import structlog

from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import offers
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import to_external_error
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.lifecycle.actions import ROLL_OUT_SECONDS
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.ownership import judgement
from provider.cloudfront.ownership.judgement import Ownership
from provider.cloudfront.ownership.proofs import CONFIRM_SECONDS, OwnerProofs
from provider.cloudfront.safety import guards
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView, Dependencies, Peers
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import Observed, account_of

__all__ = [
    "Looked",
    "before_deletion",
    "before_writing",
    "is_taken_over",
    "look",
    "made",
    "owns",
    "verified",
    "with_known_tags",
]

_log = structlog.get_logger("provider.cloudfront.ownerlook")

_FREE: Final = frozenset({Ownership.GIVEN, Ownership.NOBODYS})
"""Results that allow an adoption."""

Seen = TypeVar("Seen", bound=Observed)


@dataclass(frozen=True)
class Looked(Generic[Seen]):
    """An external resource that the managed resource may observe."""

    seen: Seen
    fresh: bool = False
    """This reconcile has read its tags, and the managed resource owns it."""


def with_known_tags(mr: Managed, seen: Seen) -> Seen:
    """Add the tags from status, as a Get does not return them."""
    return replace(seen, tags=mr.at_provider.get("tags")) if seen.id == mr.at_provider.get("id") else seen


def look(mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView) -> Looked[Seen] | None:
    """The observed external resource, if it is ours or only observed. None if it is not ours and the managed
    resource is being deleted: it stays in AWS.

    Raises:
        NotYet: another resource that has it is being deleted, or its owner tag was just set.
        ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
    """
    if not judgement.writes(mr) or _proven(mr, seen, account.memory.proofs):
        return Looked(seen)
    contested = account.memory.proofs.contested(mr.uid, seen.id)
    if not mr.deleted and not contested and judgement.believed(mr, seen):
        return Looked(seen)
    tagged = replace(seen, tags=_read_tags(mr, seen, account.cloudfront))
    if mr.deleted:
        return Looked(tagged, fresh=True) if _leaves_with(mr, tagged, account, cluster) else None
    return Looked(verified(mr, tagged, account, cluster), fresh=True)


def verified(mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView) -> Seen:
    """Return `seen`, if its tags, which were just read, show that it is ours or that we may adopt it.

    Raises:
        NotYet: another resource that has it is being deleted, or its owner tag was just set.
        ExternalError: it is not ours (AdoptionRefused).
    """
    verdict = _accepted(mr, seen, account, cluster)
    if verdict is not Ownership.LOST:
        _check_rival(mr, seen, account.memory, cluster.peers)
    if verdict is Ownership.OURS:
        _confirm(mr, seen, account.memory)
    return seen


def owns(mr: Managed, get: Callable[[], Seen], account: AccountAccess, cluster: ClusterView) -> bool:
    """Whether AWS has what `get` returns, enabled, and it is ours. True also if AWS does not say."""
    try:
        seen = get()
        if not seen.enabled:
            return False
        seen = replace(seen, tags=account.cloudfront.tags(seen.arn))
    except AwsError as error:
        return not error.says_what_is_there
    if _judge(mr, seen, account) not in (Ownership.OURS, Ownership.LOST):
        return False
    # Its tag is also that of another resource in the namespace that has its name.
    named = [peer for peer in cluster.peers(mr, judgement.names(seen)) if judgement.alike(mr, peer)]
    return not any(peer.external_name in judgement.names(seen) for peer in named)


def made(mr: Managed, seen: Seen, proofs: OwnerProofs, *, rehearsing: bool) -> None:
    """Note a proof: it was just created with its owner tag."""
    if not rehearsing:
        proofs.note(mr.uid, seen)


def before_writing(
    mr: Managed,
    seen: Seen,
    deps: Dependencies,
    *,
    afresh: bool = False,
    taking: Callable[[], None] = lambda: None,
) -> Seen:
    """Return `seen` once it is proven to be ours, with its tags if the proof required reading them.

    Args:
        mr: the managed resource.
        seen: its external resource.
        deps: the dependencies of its client.
        afresh: read the tag, whatever was proven before.
        taking: is called before an adoption that a user requested; raises if it is not allowed.

    Raises:
        NotYet: its owner tag was just set. It is read again before any other write.
        ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
    """
    account, cluster = deps.account, deps.cluster
    if seen.tags is None or _marked(mr, seen, account.installation):
        if not afresh and _proven(mr, seen, account.memory.proofs):
            return seen
        tags = _read_tags(mr, seen, account.cloudfront)
        seen = verified(mr, replace(seen, tags=tags), account, cluster)
    if deps.policy.rehearsing or _marked(mr, seen, account.installation):
        return seen
    raise _claimed(mr, seen, account, cluster, taking)


def before_deletion(mr: Managed, looked: Looked[Seen], account: AccountAccess, cluster: ClusterView) -> bool:
    """Check by the owner tag that it is ours, reading the tag unless this reconcile has; False if it is gone.

    Raises:
        NotYet: it has another owner now; the next reconcile leaves it in AWS.
        ExternalError: its owner cannot be determined.
    """
    seen = looked.seen
    try:
        tags = seen.tags if looked.fresh else account.cloudfront.tags(seen.arn)
    except AwsError as error:
        if error.absent:
            return False
        raise _unreadable(mr, seen, error) from error
    if looked.fresh or _leaves_with(mr, replace(seen, tags=tags), account, cluster):
        return True
    words = f"{identity.noun(mr)} {seen.name} ({seen.id}) now has another owner and is not deleted"
    raise NotYet(words, after=1.0)


def _claimed(
    mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView, taking: Callable[[], None]
) -> NotYet:
    """Set the owner tag and nothing else, for one resource at a time. Returns the error to wait with."""
    proofs, owner = account.memory.proofs, _owner(mr, seen, account.installation)
    it = f"{identity.noun(mr)} {seen.name} ({seen.id})"
    after = account.memory.adoptions.pause(mr.uid, (seen.id, ""), CONFIRM_SECONDS)
    _release_of_those_gone(mr, seen, proofs, cluster.peers)
    if not proofs.reserve(seen.id, mr.uid):
        return NotYet(f"{it} is being adopted by another resource", after=after)
    with _reserved(mr, seen, proofs):
        now = replace(seen, tags=account.cloudfront.tags(seen.arn))
        verdict = _accepted(mr, now, account, cluster)
        if verdict is Ownership.GIVEN:
            taking()
        if verdict is not Ownership.OURS:
            account.cloudfront.tag(seen.arn, {identity.OWNER_TAG: owner})
    # The pause starts now, as setting the tag may have taken long.
    proofs.tagged(seen.id, mr.uid)
    _log.info("set the owner tag", resource=it, owner=owner)
    words = f"{it} is being adopted: its owner tag is set, and is read again before any other write"
    return NotYet(words, after=after)


def _release_of_those_gone(mr: Managed, seen: Seen, proofs: OwnerProofs, find_peers: Peers) -> None:
    """Release the reservation of a resource that was deleted or only observes now."""
    claimant = proofs.claimant(seen.id)
    if claimant in ("", mr.uid):
        return
    peers = find_peers(mr, judgement.names(seen))
    if not any(peer.uid == claimant and judgement.writes(peer) for peer in peers):
        proofs.release(seen.id, claimant)


@contextmanager
def _reserved(mr: Managed, seen: Seen, proofs: OwnerProofs) -> Iterator[None]:
    """If the owner tag was certainly not set, release the reservation, so that others may try."""
    try:
        yield
    except AwsError as error:
        if error.made_nothing:
            proofs.release(seen.id, mr.uid)
        raise _explained(mr, error, f"set the owner tag of {identity.noun(mr)} {seen.name}") from error
    except (ExternalError, NotYet):
        # Raised before the tag was sent.
        proofs.release(seen.id, mr.uid)
        raise


def _confirm(mr: Managed, seen: Seen, memory: AccountMemory) -> None:
    """Note a proof, as the owner tag is ours. If we just set it, wait: someone else may be setting it too."""
    memory.adoptions.forget(mr.uid)
    seconds = memory.proofs.unconfirmed(mr.uid, seen.id)
    if seconds:
        it = f"{identity.noun(mr)} {seen.name} ({seen.id})"
        words = f"{it} is being adopted: its owner tag is read again before any other write"
        raise NotYet(words, after=seconds)
    memory.proofs.note(mr.uid, seen)


def _leaves_with(mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView) -> bool:
    """Whether it is deleted with its managed resource. Without an owner tag, it is deleted only if this
    process, its other tags or a user's annotation show that it was ours. In doubt, the provider neither
    deletes it nor removes the managed resource."""
    verdict, known = _judge(mr, seen, account), judgement.recorded(mr, seen)
    if verdict is Ownership.OURS:
        other = _rival(mr, seen, account.memory.proofs, cluster.peers)
        if other is not None and account.memory.proofs.successor(seen.id, other.uid) != mr.uid:
            return False
        if _is_anothers(mr, seen, account, cluster.peers):
            return False
        _confirm(mr, seen, account.memory)
        account.memory.handed_over.forget(mr.uid)
        return True
    if known and verdict is Ownership.NOBODYS:
        raise guards.adoption_refused(mr, seen, verdict, None, account.installation)
    leaves_with = verdict is Ownership.LOST or (known and verdict is Ownership.GIVEN)
    if known and not leaves_with:
        guards.check_leaving(mr, seen, (seen.tags or {}).get(identity.OWNER_TAG, ""))
    if leaves_with or known or judgement.may_exist(mr):
        _look_again(mr, seen, verdict, account.memory)
    if not leaves_with:
        account.memory.proofs.drop(mr.uid)
    return leaves_with


def _is_anothers(mr: Managed, seen: Seen, account: AccountAccess, find_peers: Peers) -> bool:
    """Whether another resource of the same identity created it, after that of `mr` was gone. Its status may
    not say so yet: the provider may have died right after the creation."""
    tags = seen.tags or {}
    named = partial(judgement.named, tags=tags, installation=account.installation, name=seen.name)
    if account.memory.proofs.held(mr.uid, seen.id) or named(mr):
        return False
    peers = find_peers(mr, judgement.names(seen))
    alike = (peer for peer in peers if not peer.deleted and judgement.alike(mr, peer))
    # One that has another tenant does not take this one.
    return any(named(peer) and peer.at_provider.get("id") in (None, "", seen.id) for peer in alike)


def _look_again(mr: Managed, seen: Seen, verdict: Ownership, memory: AccountMemory) -> None:
    """Require the same tags twice. One answer without our owner tag is no proof: tags may lag behind."""
    left = memory.handed_over.left(mr.uid, f"{seen.id} {verdict.name}")
    if left:
        it = f"{identity.noun(mr)} {seen.name} ({seen.id})"
        tagged = (seen.tags or {}).get(identity.OWNER_TAG)
        words = "has another owner by its tag" if tagged else "has no owner tag"
        raise NotYet(f"{it} {words}; the provider reads its tags again before it goes on", after=left)


def _proven(mr: Managed, seen: Seen, proofs: OwnerProofs) -> bool:
    """A recent proof shows that it is ours, and no other resource has one."""
    return proofs.holds(mr.uid, seen.id) and not proofs.contested(mr.uid, seen.id)


def _check_rival(mr: Managed, seen: Seen, memory: AccountMemory, peers: Peers) -> None:
    other = _rival(mr, seen, memory.proofs, peers)
    if other is not None and not _takes_over(mr, seen, other, memory.proofs):
        memory.proofs.drop(mr.uid)
        guards.refuse_beside(mr, seen, other, _until_gone(mr, other, memory))


def _until_gone(mr: Managed, other: Managed, memory: AccountMemory) -> float:
    """The seconds until the provider checks again whether the other one has deleted it. A deletion on hold
    may take weeks."""
    ready = other.condition(ConditionType.READY)
    shown = (other.uid, ready.reason if ready else "")
    return memory.adoptions.pause(mr.uid, shown, guards.PREDECESSOR_SECONDS, steady=ROLL_OUT_SECONDS)


def _takes_over(mr: Managed, seen: Seen, other: Managed, proofs: OwnerProofs) -> bool:
    """The other one is being deleted and leaves it to this one, which has the same owner tag."""
    return other.deleted and proofs.accept(seen.id, other.uid, mr.uid)


def is_taken_over(mr: Managed, seen: Observed, proofs: OwnerProofs, find_peers: Peers) -> bool:
    """Whether a successor has accepted what this resource leaves to it. The successor has a proof of the same
    account and the finalizer, so it is not deleted without its external resource."""
    successor = proofs.successor(seen.id, mr.uid)
    if not successor or not proofs.held(successor, seen.id):
        return False
    peers = find_peers(mr, judgement.names(seen))
    return any(peer.uid == successor and FINALIZER in peer.finalizers for peer in peers)


def _rival(mr: Managed, seen: Seen, proofs: OwnerProofs, find_peers: Peers) -> Managed | None:
    """The other resource with the same identity that has it. A proof takes precedence over status; of two
    proofs from the same moment, that of the older resource does."""
    peers: tuple[Managed, ...] = tuple(find_peers(mr, judgement.names(seen)))
    # A peer that only observes now renews no proof, so its old one would contest the others forever.
    writing = frozenset(peer.uid for peer in peers if _may_write(peer))
    proofs.keep_only(seen.id, writing | {mr.uid})
    proven = [peer for peer in peers if judgement.alike(mr, peer) and proofs.held(peer.uid, seen.id)]
    if proofs.held(mr.uid, seen.id):
        return next((peer for peer in proven if judgement.is_older(peer, mr)), None)
    if proven:
        return proven[0]
    if judgement.recorded(mr, seen):
        return _later_holder(mr, seen, peers) if mr.deleted else None
    return judgement.rival(mr, seen, peers)


def _later_holder(mr: Managed, seen: Seen, peers: Iterable[Managed]) -> Managed | None:
    """The resource that took over from one that is being deleted, if only status says so, as after a restart:
    a tenant that stays in AWS is better than one that is deleted while a resource needs it."""
    alike = (peer for peer in peers if not peer.deleted and judgement.alike(mr, peer) and _may_write(peer))
    return next((peer for peer in alike if judgement.believed(peer, seen)), None)


def _may_write(peer: Managed) -> bool:
    return judgement.writes(peer) and not judgement.lets_go(peer)


def _judge(mr: Managed, seen: Seen, account: AccountAccess) -> Ownership:
    held = account.memory.proofs.held(mr.uid, seen.id)
    return judgement.ownership_of(mr, seen, seen.tags or {}, account.installation, held=held)


def _accepted(mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView) -> Ownership:
    """Who owns it by its tags, which were just read. Raises unless it may be written to."""
    verdict, owner = _judge(mr, seen, account), (seen.tags or {}).get(identity.OWNER_TAG)
    if verdict in _FREE and _is_held(mr, seen, account.memory.proofs, cluster.peers):
        verdict = Ownership.HELD
    if verdict in (Ownership.OURS, Ownership.GIVEN, Ownership.LOST):
        return verdict
    account.memory.proofs.drop(mr.uid)
    account.memory.sightings.forget(mr.uid)
    if account.memory.log_changes.is_new(mr.uid, "owner", (seen.id, owner)):
        whose = {"account": account_of(seen.arn), "owner": owner}
        _log.warning("it exists and is not ours", resource=seen.name, resource_id=seen.id, **whose)
    if verdict in _FREE:
        _check_offer(mr, seen, account, cluster)
    raise guards.adoption_refused(mr, seen, verdict, owner, account.installation)


def _check_offer(mr: Managed, seen: Seen, account: AccountAccess, cluster: ClusterView) -> None:
    """Check whether to offer its adoption; raises if not."""
    other = _rival(mr, seen, account.memory.proofs, cluster.peers)
    if other is not None and not other.deleted:
        guards.refuse_beside(mr, seen, other, owned=False)
    offers.check(mr, seen, account, cluster)


def _is_held(mr: Managed, seen: Seen, proofs: OwnerProofs, find_peers: Peers) -> bool:
    """Another existing resource has a proof, and only the tags were removed. In the same namespace, a
    resource that only observes now has given it up; in another namespace, that does not count."""
    own = identity.namespace_of(mr)
    peers = find_peers(mr, judgement.names(seen))
    keeping = (peer for peer in peers if _may_write(peer) or identity.namespace_of(peer) != own)
    return any(proofs.held(peer.uid, seen.id) for peer in keeping)


def _marked(mr: Managed, seen: Seen, installation: str) -> bool:
    return (seen.tags or {}).get(identity.OWNER_TAG) == _owner(mr, seen, installation)


def _owner(mr: Managed, seen: Seen, installation: str) -> str:
    return identity.owner_of(mr, installation, seen.name)


def _read_tags(mr: Managed, seen: Seen, cloudfront: CloudFront) -> dict[str, str]:
    try:
        return cloudfront.tags(seen.arn)
    except AwsError as error:
        raise _unreadable(mr, seen, error) from error


def _unreadable(mr: Managed, seen: Seen, error: AwsError) -> ExternalError | NotYet:
    return _explained(mr, error, f"read tags of {identity.noun(mr)} {seen.name}")


def _explained(mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
    return to_external_error(error, what, serving=conditions.was_ready(mr))
