"""Guards that stop the provider before it writes; each message says how to proceed (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final, NoReturn

import structlog

from apis.conditions import NOT_DONE, InSyncReason, TenantConditionType
from apis.conditions import TenantReadyReason as Reason
from apis.drift import DriftPolicy
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.clock import parse_rfc3339
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.meta import MalformedAnnotation, creation
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import not_ready, to_external_error
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.memory.vanishing import Census, Loss, Verdict, limit, take_census
from provider.cloudfront.ownership import disclosure, judgement
from provider.cloudfront.ownership.judgement import Ownership, Resource
from provider.cloudfront.ownership.proofs import Proof
from provider.cloudfront.safety import advice, name_keys
from provider.cloudfront.safety.dependencies import AccountAccess, Dependencies
from provider.cloudfront.safety.kept_domains import KeptDomains
from provider.cloudfront.state import creating, identity, leaving
from provider.cloudfront.state.identity import namespace_of, noun
from provider.cloudfront.state.observed import account_of

__all__ = [
    "CONFIRM_ANNOTATION",
    "DELETION_PROTECTED",
    "DRY_RUN_ANNOTATION",
    "PREDECESSOR_SECONDS",
    "adoption_refused",
    "check_default_group",
    "check_frozen",
    "check_gone",
    "check_identity",
    "check_import",
    "check_leaving",
    "check_protection",
    "check_restored",
    "check_vanished",
    "contended",
    "invalid",
    "is_confirmed",
    "is_dry_run",
    "is_held",
    "is_protected",
    "leads_nowhere",
    "out_of_sync",
    "refuse_beside",
    "renamed",
    "token_of",
    "unprotected",
    "with_contention",
]

_log = structlog.get_logger("provider.cloudfront.guards")

DRY_RUN_ANNOTATION: Final = "edgetenants.io/dry-run"
CONFIRM_ANNOTATION: Final = "edgetenants.io/confirm"
DELETION_PROTECTED: Final = "deletionProtected"
"""A field of status. Anyone who may write it may confirm as well, so a false value proves nothing."""
_LONGEST_NAME: Final = 2048
"""Characters of the longest ARN."""
_LIFTS: Final = "Writes resume when that setting is removed"
_SENT: Final = "to which its creation was sent"
_PROTECTION: Final = "deletionProtection"
_HELD_SECONDS: Final = 60.0
_RESTORE: Final = timedelta(hours=1)
"""Kubernetes' garbage collector deletes what has no owner within minutes of its creation."""
_CLOCK_SKEW: Final = timedelta(minutes=5)
"""The API server's clock may be ahead of the provider's by less than this."""
PREDECESSOR_SECONDS: Final = 5.0


def check_identity(mr: Managed, account: AccountAccess, owns: Callable[[str], bool]) -> None:
    """Check that the managed resource still refers to the external resource that it was last seen to manage.

    Ready stays True only if more than status says that it serves: a proof, or a look.

    Args:
        mr: the managed resource.
        account: the account of its credentials.
        owns: looks whether it owns what has that id.

    Raises:
        ExternalError: its external name was changed, or its credentials belong to another account.
        NotYet: the same for a creation that may have made it, and the managed resource is being deleted.
    """
    proof, caller = account.memory.proofs.of(mr.uid), account.id
    known = str(proof.id if proof else mr.at_provider.get("id"))
    home = judgement.foreign_account(mr, caller, proof)
    if (former := judgement.renamed(mr, proof)) is not None:
        serves = was_ready(mr) and (_is_known(mr, account, proof) if home or proof else owns(known))
        raise _refused(Reason.VALIDATION_FAILED, renamed(mr, former, known), serving=serves)
    if home:
        raise _refused(
            Reason.ACCOUNT_MISMATCH,
            f"spec.providerConfigRef: the credentials of {account.config} belong to AWS account {caller}, "
            f"but the {noun(mr)} is in account {home}; the provider changes nothing. Use credentials of "
            f"account {home}",
            serving=was_ready(mr) and _is_known(mr, account, proof),
        )
    if proof is None:
        _check_creation_account(mr, account)


def _is_known(mr: Managed, account: AccountAccess, proof: Proof | None) -> bool:
    """Whether this process has proven or observed what status says, in whatever account."""
    arn = mr.at_provider.get("arn") or ""
    return proof is not None or account.memory.sightings.has(mr.uid, arn)


def _check_creation_account(mr: Managed, account: AccountAccess) -> None:
    """Check that the credentials belong to the account in which a creation may have made it.

    If the process dies during a creation, status does not say yet that the external resource exists. In
    another account, it would be created once more, or its deletion would end, and nothing would delete it.
    """
    home = creating.account_of_creation(mr)
    if not home or account.id in (None, home) or not judgement.writes(mr):
        return
    words = (
        f"spec.providerConfigRef: the credentials of {account.config} belong to AWS account {account.id}, "
        f"but {noun(mr)} {mr.external_name} may exist in account {home}, {_SENT}; the "
        f"provider changes nothing. Use credentials of account {home}"
    )
    if not mr.deleted:
        words = f"{words}. If it does not exist there, remove the annotation {creating.CREATING_IN}"
        # Status has no ARN: no process has observed it.
        raise _refused(Reason.ACCOUNT_MISMATCH, words)
    if not is_confirmed(mr):
        words = (
            f"{words}, and the provider deletes it. If it does not exist there, or the account is closed, "
            f"set the annotation {CONFIRM_ANNOTATION} to {token_of(mr)}, and only this resource is deleted"
        )
        raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))


def renamed(mr: Managed, former: str, id_: str) -> str:
    """Return what to do about an external name that was changed after the creation or adoption."""
    return (
        f"metadata.annotations[{EXTERNAL_NAME}]: {mr.external_name} is not the {noun(mr)} {former} "
        f"({id_}) that this resource manages; the provider creates and changes nothing. Set it "
        f"back to {former}; or to release that {noun(mr)}, delete this resource with managementPolicies "
        "that lack Delete, and create another"
    )


def leads_nowhere(mr: Managed) -> bool:
    """Whether a managed resource that is being deleted has an external name longer than any name, id or ARN.
    The provider releases it: no external resource can exist, and AWS would only refuse the request.

    Raises:
        ExternalError: the name is too long, and the managed resource is not being deleted.
    """
    length = len(str(mr.external_name))
    if length <= _LONGEST_NAME or mr.deleted:
        return length > _LONGEST_NAME
    raise _refused(
        Reason.VALIDATION_FAILED,
        f"{advice.name_field(mr)}: expected a name of at most 128 characters, an id or an ARN, "
        f"got {length} characters. Shorten it",
    )


def check_import(mr: Managed) -> None:
    """Refuse to create an external resource by id or ARN: an external name of that form must exist already.

    Raises:
        ExternalError: the external name is an id or ARN, and no such resource exists.
    """
    name = str(mr.external_name)
    if judgement.names_by_id(mr) and not mr.deleted:
        raise _refused(
            Reason.VALIDATION_FAILED,
            f"{advice.name_field(mr)}: {noun(mr)} {name} does not exist, and the provider cannot create it: "
            f"AWS assigns ids. Correct the id, or use a name to create a new {noun(mr)}",
        )


def adoption_refused(
    mr: Managed, seen: Resource, verdict: Ownership, owner: str | None, installation: str
) -> ExternalError:
    """Return the error for an existing external resource that is not, or is no longer, this resource's."""
    if judgement.recorded(mr, seen):
        return _refused(
            Reason.ADOPTION_REFUSED, _no_longer(mr, seen, owner, installation, held=verdict is Ownership.HELD)
        )
    known = disclosure.may_know(mr, installation, owner)
    # The resource may refer to it by id, and its author may not know the name.
    name = seen.name if known else str(mr.external_name)
    which = name if name == seen.id else f"{name} ({seen.id})"
    other_name = advice.another_name(mr)
    if verdict is Ownership.OTHERS:
        which = which if known else name
        whose = owner if known else f"another namespace or installation. {disclosure.HIDDEN}"
        ours = identity.owner_of(mr, installation, "NAME" if judgement.names_by_id(mr) else name)
        next_step = (
            f"it belongs to {whose}. {advice.sentence(other_name)}. To hand it over, have an administrator "
            f"set its tag {identity.OWNER_TAG} to {ours} in AWS"
        )
    elif verdict is Ownership.HELD:
        next_step = f"{verdict.value}. {advice.sentence(other_name)}"
    else:
        next_step = f"{verdict.value}. To adopt it, {advice.take_over(mr, seen.id)}; or {other_name}"
    words = f"{noun(mr)} {which} exists in CloudFront, and {next_step}"
    error = _refused(Reason.ADOPTION_REFUSED, words)
    # If this resource had another of that name, that one is gone.
    ours_gone = out_of_sync(mr, "") if mr.at_provider.get("id") != seen.id else ()
    return error.but(conditions=(*error.conditions, *ours_gone))


def _no_longer(mr: Managed, seen: Resource, owner: str | None, installation: str, *, held: bool) -> str:
    # Not the name in AWS or status: the author of the status may not know it.
    name = str(mr.external_name)
    it = f"{noun(mr)} {name}" if name == seen.id else f"{noun(mr)} {name} ({seen.id})"
    ours = identity.owner_of(mr, installation, "NAME" if judgement.names_by_id(mr) else name)
    tag = f"the tag {identity.OWNER_TAG} of the {noun(mr)}"
    if held:
        return (
            f"status says that {it} belongs to this resource, but another resource of this cluster manages"
            f" it; the provider does not write to it. To keep it here, set {tag} to {ours}; or delete this"
            f" resource, which leaves the {noun(mr)} unchanged"
        )
    if not owner:
        return (
            f"status says that {it} belongs to this resource, but it has no owner tag in AWS; the provider"
            f" does not write to it. If it belongs to this resource, {advice.take_over(mr, seen.id)}; or set"
            f" {tag} to {ours}"
        )
    if _names_elsewhere(mr, seen, owner):
        # All resources report this after a restore of the cluster without the ConfigMap.
        return (
            f"status says that {it} belongs to this resource, but its owner tag in AWS names this resource "
            f"of another installation; the provider does not write to it, and the {noun(mr)} stays as it is. "
            "If this cluster created it, the provider has lost its installation id: have the platform team "
            "restore the id of the tag (ConfigMap edgetenants-installation, or --installation-id). If "
            f"another cluster hands it over, set {tag} to {ours}"
        )
    known = disclosure.may_know(mr, installation, owner)
    whose = owner if known else f"another namespace or installation ({disclosure.HIDDEN})"
    return (
        f"status says that {it} belongs to this resource, but its owner tag in AWS names {whose}; the"
        f" provider does not write to it. To keep it here, set {tag} to {ours}; or delete this resource,"
        f" which leaves the {noun(mr)} unchanged"
    )


def _names_elsewhere(mr: Managed, seen: Resource, owner: str) -> bool:
    """Whether the tag names this resource of another installation."""
    return owner.partition("/")[2] == identity.owner_of(mr, "", seen.name).partition("/")[2]


def check_leaving(mr: Managed, seen: Resource, owner: str) -> None:
    """Hold a deletion if this provider may have lost its installation id.

    A deletion leaves another owner's external resource unchanged. But if the tag names this resource of
    another installation, the external resource may be ours, and no resource would be left to delete it.

    Raises:
        NotYet: no user has confirmed that it belongs to another installation.
    """
    if not _names_elsewhere(mr, seen, owner) or is_confirmed(mr):
        return
    words = (
        f"the owner tag of {noun(mr)} {seen.name} ({seen.id}) in AWS names this resource of another "
        "installation. If this cluster created it, the provider has lost its installation id: have the "
        "platform team restore the id of the tag (ConfigMap edgetenants-installation, or --installation-id), "
        f"and the provider deletes the {noun(mr)}. If another cluster has it, set the annotation "
        f"{CONFIRM_ANNOTATION} to {token_of(mr)}, and this resource is deleted, but not the {noun(mr)}"
    )
    raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))


def refuse_beside(
    mr: Managed, seen: Resource, other: Managed, after: float = PREDECESSOR_SECONDS, *, owned: bool = True
) -> NoReturn:
    """Refuse an external resource that another live managed resource with the same identity manages, or may
    adopt first if nothing owns it. While that one is being deleted, check again `after` these seconds.

    Raises:
        NotYet: the other one is being deleted, and the external resource with it.
        ExternalError: the other one manages it, or is older.
    """
    where = f"{other.kind} {other.name}" if other.namespace == mr.namespace else "another resource"
    if other.deleted:
        words = f"{noun(mr)} {seen.name} waits for {where}, which manages it and is being deleted"
        held = leaving.held_back(mr, other)
        ready = other.condition(ConditionType.READY)
        if held and ready and ready.reason == Reason.DELETION_HELD and other.namespace == mr.namespace:
            held = (
                f"{held}. To take the {noun(mr)} over, do not confirm that deletion. Instead, set "
                f"spec.managementPolicies of {where} to [Observe]. This resource then changes it to its own "
                "spec"
            )
        said = (not_ready(Reason.DELETION_HELD, f"{words}. {held}"),) if held else ()
        words = f"{words}. {held or 'No action is needed'}"
        raise NotYet(words, after=after, conditions=said)
    if owned or not judgement.is_older(other, mr):
        known = f"is managed by {where}"
    else:
        known = f"has no owner tag, and {where}, which is older, has its name"
    raise _refused(
        Reason.ADOPTION_REFUSED,
        f"{noun(mr)} {seen.name} ({seen.id}) {known}. "
        f"{advice.sentence(advice.another_name(mr))}, or delete one of the two",
    )


def check_frozen(mr: Managed, frozen: str) -> None:
    """Stop while writes are forbidden; `frozen` says by what, and is empty if they are allowed.

    Raises:
        NotYet: writes are forbidden.
    """
    if frozen:
        words = f"{frozen}: the provider writes nothing to AWS for {noun(mr)} {mr.external_name}. {_LIFTS}"
        raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.FROZEN, words),))


def _check_left(mr: Managed, default: DriftPolicy) -> None:
    """Treat a deletion in AWS as drift: recreate the external resource only under Enforce.

    Args:
        mr: the managed resource, whose external resource does not exist.
        default: the drift policy of resources that set none.

    Raises:
        NotYet: the external resource existed, and the policy does not recreate it.
    """
    policy = _drift_policy(mr, default)
    if not _leaves(mr, default):
        return
    words = (
        f"{noun(mr)} {mr.external_name} ({mr.at_provider['id']}) was deleted in AWS, and driftPolicy "
        f"{policy.value} does not recreate it. To recreate it, set spec.driftPolicy to Enforce"
    )
    # Suspend does not report drift.
    said = (_drifted(words),) if policy is DriftPolicy.REPORT else ()
    raise _recreation_held(words, _HELD_SECONDS, *said)


def _leaves(mr: Managed, default: DriftPolicy) -> bool:
    return _drift_policy(mr, default) is not DriftPolicy.ENFORCE and judgement.made(mr)


def _drift_policy(mr: Managed, default: DriftPolicy) -> DriftPolicy:
    return DriftPolicy(mr.spec.get("driftPolicy") or default)


def _recreates(mr: Managed, default: DriftPolicy) -> bool:
    """Whether the provider would recreate the external resource. If not, its absence may be intended, and is
    no sign of an accident."""
    if mr.deleted or is_dry_run(mr) or _leaves(mr, default):
        return False
    try:
        return permissions(mr.management_policies, mr.deletion_policy).create
    except UnsupportedPolicies:
        # The runtime does nothing with that resource, and reports it there.
        return False


def check_gone(mr: Managed, account: AccountAccess) -> None:
    """Check that an external resource to delete is really gone.

    If it may have existed, one "not found" from AWS does not end the deletion: otherwise no resource would be
    left to delete it. No such response ends the deletion if it may come from another account.

    Raises:
        NotYet: the provider has to check again, or a user has to confirm.
    """
    if not mr.deleted:
        return
    account.memory.let_go(mr.uid)
    told = mr.at_provider.get("id")
    id_ = account.memory.known_id(mr.uid) or (told if isinstance(told, str) else "")
    if id_ and account.memory.vanished.was_removed(id_):
        return
    if not permissions(mr.management_policies, mr.deletion_policy).delete:
        return
    if words := _maybe_elsewhere(mr, account, "this resource is deleted"):
        raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))
    if not id_ and not judgement.may_exist(mr):
        return
    # Status may get or lose the id between the two checks.
    if left := account.memory.gone.left(mr.uid, str(mr.external_name)):
        missing = f"AWS does not find {noun(mr)} {mr.external_name}{f' ({id_})' if id_ else ''}"
        words = f"{missing}; this resource is deleted after a second check. No action is needed"
        raise NotYet(words, after=left)


def _check_elsewhere(mr: Managed, account: AccountAccess, kept: KeptDomains) -> None:
    if words := _maybe_elsewhere(mr, account, "the provider recreates it"):
        kept.on_hold(mr)
        raise _recreation_held(words, _HELD_SECONDS, _drifted(words, ConditionStatus.UNKNOWN))


def _check_created_elsewhere(mr: Managed, account: AccountAccess) -> None:
    """Refuse to create it a second time, if an earlier creation may have made it in another account.

    Raises:
        ExternalError: the account of the credentials is unknown, and that of the earlier creation is not.
    """
    if judgement.writes(mr) and (words := _maybe_elsewhere(mr, account, "the provider creates it")):
        raise _refused(Reason.ACCOUNT_MISMATCH, words)


def _maybe_elsewhere(mr: Managed, account: AccountAccess, then: str) -> str:
    """Return how to proceed if the missing external resource may be in another account than that of the
    credentials; "" if it may not, or if a user confirmed that it is gone."""
    was = account_of(mr.at_provider.get("arn") or "")
    home = was or creating.account_of_creation(mr)
    if not home or account.id is not None or is_confirmed(mr):
        return ""
    id_, there = (f" ({mr.at_provider.get('id')})", "where it was") if was else ("", _SENT)
    return (
        f"AWS does not find {noun(mr)} {mr.external_name}{id_}, and does not say whether the credentials of "
        f"{account.config} belong to account {home}, {there}. Permit "
        "sts:GetCallerIdentity in their IAM policy (docs/iam.md). If it is gone, set the annotation "
        f"{CONFIRM_ANNOTATION} to {token_of(mr)}, and {then}"
    )


def check_vanished(mr: Managed, deps: Dependencies, proof: Proof | None) -> None:
    """Recreate a known external resource that is gone, unless many are gone; wait until that is known.

    Args:
        mr: the managed resource.
        deps: the dependencies of its client.
        proof: the proof that this process had until AWS did not find the external resource.

    Raises:
        NotYet: its drift policy does not recreate it, the provider has to check others first, or a user has
            to confirm.
    """
    account, policy, kept = deps.account, deps.policy, deps.cluster.kept
    id_, vanished = mr.at_provider.get("id"), account.memory.vanished
    if not mr.deleted and not id_:
        _check_created_elsewhere(mr, account)
    if mr.deleted or not id_:
        return
    loss = _loss(mr, id_, account, kept, proof)
    if _recreates(mr, policy.drift_policy):
        vanished.found_gone(mr.uid, loss)
    else:
        vanished.forget(mr.uid)
    if policy.frozen or not permissions(mr.management_policies, mr.deletion_policy).create:
        # The provider creates nothing anyway, and the cause is reported elsewhere.
        if policy.frozen:
            kept.on_hold(mr)
        return
    _check_left(mr, policy.drift_policy)
    _check_elsewhere(mr, account, kept)
    home = account_of(mr.at_provider.get("arn") or "")
    census = _shared_census(deps, home)
    missing = account.swept.inventory.missing if account.swept else 0
    verdict = vanished.verdict(mr.uid, census, policy.poll_seconds, missing)
    if verdict is Verdict.HELD and vanished.confirm(account.config, policy.confirmed, mr.uid):
        verdict = Verdict.MAKE
    if verdict is not Verdict.MAKE:
        kept.on_hold(mr)
    gone = _gone(mr)
    if verdict is Verdict.WAIT:
        words = (
            f"{gone}; the provider recreates it in {policy.poll_seconds:.0f} s unless many others are gone "
            "too. No action is needed"
        )
        raise _recreation_held(words, min(_HELD_SECONDS, policy.poll_seconds), _drifted(words))
    if verdict is Verdict.HELD:
        # The numbers are not for namespaces to see: the log has them, for the platform team.
        account.memory.shared.get(f"told that {home} is on hold", lambda: _tell_held(home, census))
        many = "too many of the account's other tenants and connection groups"
        words = f"{gone}, and so are {many}: {_confirmation(account, loss)}"
        raise _recreation_held(words, _HELD_SECONDS, _drifted(words))


def _loss(mr: Managed, id_: str, account: AccountAccess, kept: KeptDomains, proof: Proof | None) -> Loss:
    return Loss(
        id_,
        name_keys.listed_by(mr),
        account.config,
        namespace_of(mr),
        proven=proof is not None and proof.id == id_,
        recorded=_is_recorded(mr, account, kept),
    )


def _is_recorded(mr: Managed, account: AccountAccess, kept: KeptDomains) -> bool:
    """Whether the name that AWS did not find is kept for its namespace; True also if that is unknown.

    It is not the name in status: its user may write there the name of a tenant that exists.
    """
    if not account.id or not kept.known:
        return True
    return kept.vouches(name_keys.key_of(mr.kind, account.id, str(mr.external_name)), namespace_of(mr))


def _shared_census(deps: Dependencies, home: str | None) -> Census:
    """Return a count that all resources share for a minute: counting very many resources takes long."""
    what = f"known tenants {home}"
    try:
        return deps.account.memory.shared.get(what, lambda: _census(deps, home))
    except AwsError as error:
        raise to_external_error(error, f"count the {what}", serving=True) from error


def _census(deps: Dependencies, home: str | None) -> Census:
    recreated = (mr for mr in deps.cluster.everyone() if _recreates(mr, deps.policy.drift_policy))
    now = deps.account.memory.vanished.now()
    return take_census(recreated, home, now, partial(_vouched, account=deps.account, kept=deps.cluster.kept))


def _vouched(mr: Managed, account: AccountAccess, kept: KeptDomains) -> str:
    """Return what more than the status of a resource vouches for: a record of its name, or the proof of this
    process. Each name and id counts once, so a status may name a recorded one, too."""
    if not account.id:
        return str(mr.at_provider.get("id"))
    if kept.known:
        for name in (mr.external_name, mr.at_provider.get("name")):
            key = name_keys.key_of(mr.kind, account.id, str(name))
            if name and kept.vouches(key, namespace_of(mr)):
                return key
    proof = account.memory.proofs.of(mr.uid)
    return proof.id if proof else ""


def _tell_held(account: str | None, census: Census) -> bool:
    known = census.vouched or census.known
    _log.warning("recreation is on hold: too many are gone", account=account, known=known, limit=limit(known))
    return True


def _confirmation(account: AccountAccess, loss: Loss) -> str:
    token = account.memory.vanished.token(account.config, loss)
    return (
        "recreation is on hold. Check that the account and its endpoint are correct. To recreate them "
        f"anyway, set the annotation {CONFIRM_ANNOTATION} of {account.config} to {token}, which is valid "
        "until the end of the next day (UTC)"
    )


def _recreation_held(words: str, seconds: float, *said: Condition) -> NotYet:
    return NotYet(words, after=seconds, conditions=(not_ready(Reason.RECREATION_HELD, words), *said))


def _gone(mr: Managed) -> str:
    return f"{noun(mr)} {mr.external_name} ({mr.at_provider.get('id')}) is gone from AWS"


def out_of_sync(mr: Managed, frozen: str) -> tuple[Condition, ...]:
    """Return InSync of a resource whose external resource is gone, until it is recreated; empty if it never
    existed. `frozen` is as in `check_frozen`."""
    if not mr.at_provider.get("id"):
        return ()
    if not frozen:
        return (_drifted(f"{_gone(mr)}. Ready and Synced show why the provider has not recreated it"),)
    words = f"{_gone(mr)}{NOT_DONE}{frozen}. {_LIFTS}"
    return (_drifted(words, reason=InSyncReason.FROZEN),)


def _drifted(
    words: str,
    status: ConditionStatus = ConditionStatus.FALSE,
    reason: InSyncReason = InSyncReason.DRIFT_DETECTED,
) -> Condition:
    return Condition(
        type=TenantConditionType.IN_SYNC.value, status=status, reason=reason.value, message=words
    )


def check_protection(mr: Managed) -> None:
    """Hold the deletion of a protected resource until a user confirms this deletion.

    Raises:
        NotYet: no user has confirmed it.
    """
    if not is_protected(mr) or is_confirmed(mr):
        return
    why = f"spec.{_PROTECTION} is on"
    if not mr.spec.get(_PROTECTION):
        why = f"{_PROTECTION} was on when the deletion was requested"
    words = (
        f"{why}: {noun(mr)} {mr.external_name} is kept. To delete it, and so end what it serves, set the "
        f"annotation {CONFIRM_ANNOTATION} to {token_of(mr)}"
    )
    raise still_held(words, _HELD_SECONDS)


def still_held(words: str, after: float, status: Mapping[str, Any] | None = None) -> NotYet:
    """The error while a deletion waits for a confirmation, with fields for its status."""
    return NotYet(words, after=after, conditions=(not_ready(Reason.DELETION_HELD, words),), status=status)


def is_protected(mr: Managed) -> bool:
    """Whether the deletion of `mr` waits for a confirmation, because spec.deletionProtection is or was on.

    An edit of a claim can remove the field while the deletion waits: Crossplane applies the resource again if
    the claim needs it once more. Such an edit confirms nothing. So the status keeps that the field was on.
    """
    return bool(mr.spec.get(_PROTECTION)) or mr.status.get(DELETION_PROTECTED) is True


def unprotected(mr: Managed) -> dict[str, None]:
    """Return the status fields to remove while the resource is not being deleted: what they say of a deletion
    is not the provider's."""
    forged = not mr.deleted and DELETION_PROTECTED in mr.status
    return {DELETION_PROTECTED: None} if forged else {}


def check_restored(mr: Managed) -> None:
    """Hold the deletion of a composed resource that a backup brought into this cluster, if it follows soon.

    A backup may keep owner references. No object of this cluster has their uids, so Kubernetes' garbage
    collector deletes the resource; no user asked for that.

    Raises:
        NotYet: no user has confirmed it.
    """
    if not _was_restored(mr) or is_confirmed(mr):
        return
    it = f"{noun(mr)} {mr.external_name}"
    words = (
        f"{it} is older than this resource, which was deleted within an hour of its creation. If a backup "
        "was restored with owner references, Kubernetes deleted this resource, because its owner does not "
        f"exist. To keep the {noun(mr)}, set spec.managementPolicies to [Observe], and this resource is "
        f"deleted, but not the {noun(mr)}; its claim finds it again. To delete the {noun(mr)} too, set the "
        f"annotation {CONFIRM_ANNOTATION} to {token_of(mr)}"
    )
    raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))


def _was_restored(mr: Managed) -> bool:
    """Whether it has a controller, was deleted soon after its creation, and has the annotation of an earlier
    creation of its external resource. The provider sets that annotation on existing resources only, so a
    tool copied it."""
    made, went = mr.metadata.get("creationTimestamp"), mr.deleted_at
    if mr.controller is None or not made or went is None:
        return False
    try:
        marks = creation(mr.annotations)
    except MalformedAnnotation:
        return False
    begun, there = marks.succeeded or marks.pending, parse_rfc3339(made)
    return begun is not None and begun < there - _CLOCK_SKEW and went < there + _RESTORE


def is_held(mr: Managed, frozen: str) -> bool:
    """Whether its deletion is on hold, as far as the object shows it. The runtime and a deletion may hold it
    for other reasons, which the last reconcile has written to Ready.

    Args:
        mr: a managed resource that is being deleted.
        frozen: as in `check_frozen`.
    """
    ready = mr.condition(ConditionType.READY)
    protected = (is_protected(mr) or _was_restored(mr)) and not is_confirmed(mr)
    told = ready is not None and ready.reason == Reason.DELETION_HELD
    return bool(frozen) or protected or told or bool(mr.held_by_others)


def waits_for_confirmation(mr: Managed, frozen: str) -> bool:
    """Whether the deletion of a protected resource waits for its confirmation and for nothing else, as far as
    the object shows it. If something else holds it, the last reconcile wrote that to Ready.

    Args:
        mr: a managed resource that is being deleted.
        frozen: as in `check_frozen`.
    """
    ready = mr.condition(ConditionType.READY)
    told = ready is None or ready.reason != Reason.DELETION_HELD or _PROTECTION in ready.message
    others = frozen or mr.held_by_others or _was_restored(mr)
    return told and not others and is_protected(mr) and not is_confirmed(mr)


def check_default_group(mr: Managed, *, disables: bool) -> None:
    """Refuse to disable the account's default group: it serves every tenant that names no other group.

    Raises:
        ExternalError: the spec disables it.
    """
    if not disables or not judgement.writes(mr):
        return
    raise _refused(
        Reason.VALIDATION_FAILED,
        f"spec.forProvider.enabled: connection group {mr.external_name} is the account's default and serves "
        "every tenant that names no other, so the provider does not disable it. Remove the field, or set it "
        "to true",
        serving=was_ready(mr),
    )


def contended(mr: Managed, account: AccountAccess) -> str:
    """Return a message if another client keeps writing to the same external resource; "" if none does."""
    if not account.memory.contentions.are_many(mr.uid):
        return ""
    return (
        f"Another client changed {noun(mr)} {mr.external_name} three times within ten minutes: another "
        f"provider of installation {account.installation}, or another tool. Stop one of the two, or give the "
        "other cluster's provider its own --installation-id"
    )


def with_contention(
    mr: Managed, said: tuple[Condition, ...], account: AccountAccess
) -> tuple[Condition, ...]:
    """Set InSync to False while another client keeps writing: a repair does not last."""
    words = contended(mr, account)
    if not words or mr.deleted:
        return said
    fought = _drifted(words)
    return tuple(fought if each.type == TenantConditionType.IN_SYNC else each for each in said)


def token_of(mr: Managed) -> str:
    """Return the token that confirms the deletion of this resource, but not of a later one of its name."""
    return mr.uid[:8]


def is_confirmed(mr: Managed) -> bool:
    """Whether a user confirmed this deletion."""
    return mr.annotations.get(CONFIRM_ANNOTATION) == token_of(mr)


def is_dry_run(mr: Managed) -> bool:
    """Whether the resource has the dry-run annotation: the provider must not write for it."""
    return mr.annotations.get(DRY_RUN_ANNOTATION) == "true"


def invalid(
    problems: str, reason: Reason = Reason.VALIDATION_FAILED, *, serving: bool = False
) -> ExternalError:
    """Return the error for a desired state that cannot work."""
    return _refused(reason, problems, serving=serving)


def _refused(reason: Reason, message: str, *, serving: bool = False) -> ExternalError:
    conditions = () if serving else (not_ready(reason, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll())
