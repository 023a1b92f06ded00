"""What stops the provider before it writes, each with the way out in its message (pure)."""

from __future__ import annotations

from typing import Final, NoReturn

import structlog

from apis.conditions import InSyncReason, TenantConditionType
from apis.conditions import TenantReadyReason as Reason
from apis.drift import DriftPolicy
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions
from provider.cloudfront.account.vanishing import Census, Verdict, limit, take_census
from provider.cloudfront.aws.errors import AwsError, explain, not_ready
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.ownership import disclosure, judgement
from provider.cloudfront.ownership.judgement import Ownership, Resource
from provider.cloudfront.safety import advice, name_keys
from provider.cloudfront.safety.context import Context
from provider.cloudfront.state import identity, leaving
from provider.cloudfront.state.identity import namespace_of, noun
from provider.cloudfront.state.observed import account_of

__all__ = [
    "CONFIRM_ANNOTATION",
    "DRY_RUN_ANNOTATION",
    "adoption_refused",
    "check_default_group",
    "check_frozen",
    "check_gone",
    "check_identity",
    "check_import",
    "check_leaving",
    "check_protection",
    "check_vanished",
    "contended",
    "invalid",
    "is_confirmed",
    "is_dry_run",
    "leads_nowhere",
    "refuse_beside",
    "token_of",
    "with_contention",
]

_log = structlog.get_logger("provider.cloudfront.guards")

DRY_RUN_ANNOTATION: Final = "edgetenants.io/dry-run"
CONFIRM_ANNOTATION: Final = "edgetenants.io/confirm"
_LONGEST_NAME: Final = 2048
"""Characters of the longest ARN."""
_LIFTS: Final = "Whoever did that lifts it"
_HELD_SECONDS: Final = 60.0
_PREDECESSOR_SECONDS: Final = 5.0


def check_identity(mr: Managed, having: Context) -> None:
    """The managed resource must still mean the tenant that it was last seen to mean.

    Raises:
        ExternalError: its external name was changed, or its credentials are of another account.
    """
    proof, caller = having.memory.proofs.of(mr.uid), having.account
    known = proof.id if proof else mr.at_provider.get("id")
    if (former := judgement.renamed(mr, proof)) is not None:
        raise _refused(
            Reason.VALIDATION_FAILED,
            f"metadata.annotations[{EXTERNAL_NAME}]: {mr.external_name} is not the {noun(mr)} {former} "
            f"({known}) that this resource manages; nothing is created or changed. Set it "
            f"back to {former}; or let go of that {noun(mr)}: delete this resource with managementPolicies "
            "that lack Delete, and make another",
            serving=was_ready(mr),
        )
    if home := judgement.foreign_account(mr, caller, proof):
        raise _refused(
            Reason.ACCOUNT_MISMATCH,
            f"spec.providerConfigRef: the credentials of {having.config} are of AWS account {caller}, and "
            f"the {noun(mr)} is in account {home}; nothing is changed. Use credentials of account {home}",
            serving=was_ready(mr),
        )


def leads_nowhere(mr: Managed) -> bool:
    """The external name is longer than any name, id or ARN, and the managed resource is being deleted: it is
    let go, as nothing can be there, and AWS would only refuse the question.

    Raises:
        ExternalError: it is so long, and the managed resource is not being deleted.
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
    """An id or ARN names what exists; what does not is an error and never a creation.

    Raises:
        ExternalError: the external name is an id or ARN, and nothing is there.
    """
    name = str(mr.external_name)
    if judgement.names_by_id(mr) and not mr.deleted:
        raise _refused(
            Reason.VALIDATION_FAILED,
            f"{advice.name_field(mr)}: there is no {noun(mr)} {name}. Ids are given by AWS: "
            "none is created. Correct the id, or use a name to have one created",
        )


def adoption_refused(
    mr: Managed, seen: Resource, verdict: Ownership, owner: str | None, installation: str
) -> ExternalError:
    """A tenant of that name is there, and is not ours, or not any more."""
    if judgement.recorded(mr, seen):
        return _refused(
            Reason.ADOPTION_REFUSED, _no_longer(mr, seen, owner, installation, held=verdict is Ownership.HELD)
        )
    known = disclosure.may_know(mr, installation, owner)
    # By its id somebody may have named it whose name they do not know.
    name = seen.name if known else str(mr.external_name)
    which = name if name == seen.id else f"{name} ({seen.id})"
    other_name = advice.another_name(mr)
    if verdict is Ownership.OTHERS:
        which = which if known else name
        whose = owner if known else f"another namespace or installation. {disclosure.HIDDEN}"
        ours = identity.owner_of(mr, installation, "NAME" if judgement.names_by_id(mr) else name)
        way_out = (
            f"it belongs to {whose}. {advice.sentence(other_name)}. To hand it over, an administrator sets "
            f"its tag {identity.OWNER_TAG} to {ours} in AWS"
        )
    elif verdict is Ownership.HELD:
        way_out = f"{verdict.value}. {advice.sentence(other_name)}"
    else:
        way_out = f"{verdict.value}. To take it over, {advice.take_over(mr, seen.id)}; or {other_name}"
    words = f"{noun(mr)} {which} exists in CloudFront, and {way_out}"
    return _refused(Reason.ADOPTION_REFUSED, words)


def _no_longer(mr: Managed, seen: Resource, owner: str | None, installation: str, *, held: bool) -> str:
    # Not the name that AWS or status has: whoever wrote the status may not know it.
    name = str(mr.external_name)
    it = f"{noun(mr)} {name}" if name == seen.id else f"{noun(mr)} {name} ({seen.id})"
    ours = identity.owner_of(mr, installation, "NAME" if judgement.names_by_id(mr) else name)
    tag = f"the tag {identity.OWNER_TAG} of the {noun(mr)}"
    if held:
        return (
            f"status says that {it} is this resource's, and another resource of this cluster manages it;"
            f" nothing is written to it. To keep it here, set {tag} to {ours}; or delete this resource, which"
            f" leaves the {noun(mr)} as it is"
        )
    if not owner:
        return (
            f"status says that {it} is this resource's, and it has no owner tag in AWS; nothing is written to"
            f" it. If it is this resource's, {advice.take_over(mr, seen.id)}; or set {tag} to {ours}"
        )
    if _names_elsewhere(mr, seen, owner):
        # After a restore of the cluster without the ConfigMap, all resources say this.
        return (
            f"status says that {it} is this resource's, and its owner tag in AWS names this resource of "
            f"another installation; nothing is written to it, and the {noun(mr)} stays as it is. If this "
            "cluster made it, the provider has lost its installation id: whoever runs the provider puts the "
            "id of the tag back (ConfigMap edgetenants-installation, or --installation-id). If another "
            f"cluster hands it over, set {tag} to {ours}"
        )
    known = disclosure.may_know(mr, installation, owner)
    whose = owner if known else f"another namespace or installation ({disclosure.HIDDEN})"
    return (
        f"status says that {it} is this resource's, and its owner tag in AWS says {whose}; nothing is"
        f" written to it. To keep it here, set {tag} to {ours}; or delete this resource, which leaves the"
        f" {noun(mr)} as it is"
    )


def _names_elsewhere(mr: Managed, seen: Resource, owner: str) -> bool:
    """The tag names this very resource, of another installation."""
    return owner.partition("/")[2] == identity.owner_of(mr, "", seen.name).partition("/")[2]


def check_leaving(mr: Managed, seen: Resource, owner: str) -> None:
    """What is another's is left as it is when its resource is deleted; but not where this provider may only
    have lost its installation id: nobody would be left to delete it.

    Raises:
        NotYet: nobody has confirmed that it is another installation's.
    """
    if not _names_elsewhere(mr, seen, owner) or is_confirmed(mr):
        return
    words = (
        f"the owner tag of {noun(mr)} {seen.name} ({seen.id}) in AWS names this resource of another "
        "installation. If this cluster made it, the provider has lost its installation id: whoever runs the "
        "provider puts the id of the tag back (ConfigMap edgetenants-installation, or --installation-id), "
        f"and the {noun(mr)} is deleted. If another cluster has it, set the annotation {CONFIRM_ANNOTATION} "
        f"to {token_of(mr)}, and this resource goes and leaves the {noun(mr)} as it is"
    )
    raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))


def refuse_beside(mr: Managed, seen: Resource, other: Managed) -> NoReturn:
    """A tenant whose owner tag is ours is another live resource's of the same identity.

    Raises:
        NotYet: the other one is being deleted, and the tenant with it.
        ExternalError: the other one has it, or was there first.
    """
    where = f"{other.kind} {other.name}" if other.namespace == mr.namespace else "another resource"
    if other.deleted:
        words = f"{noun(mr)} {seen.name} waits for {where}, which has it and is being deleted"
        held = leaving.held_back(mr, other)
        said = (not_ready(Reason.DELETION_HELD, f"{words}. {held}"),) if held else ()
        raise NotYet(f"{words}. {held or 'Nobody needs to act'}", after=_PREDECESSOR_SECONDS, conditions=said)
    raise _refused(
        Reason.ADOPTION_REFUSED,
        f"{noun(mr)} {seen.name} ({seen.id}) is managed by {where}. "
        f"{advice.sentence(advice.another_name(mr))}, or delete one of the two",
    )


def check_frozen(mr: Managed, frozen: str) -> None:
    """Nothing is written while it is forbidden; `frozen` says by what, and is empty where it is not.

    Raises:
        NotYet: it is.
    """
    if frozen:
        words = f"{frozen}: nothing is written to AWS, and {noun(mr)} {mr.external_name} waits. {_LIFTS}"
        raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.FROZEN, words),))


def _check_left(mr: Managed, default: DriftPolicy) -> None:
    """What somebody deleted in AWS is drift like any other: it is made anew under Enforce only.

    Args:
        mr: the managed resource, of which nothing is there.
        default: the drift policy of resources that say none.

    Raises:
        NotYet: it was there, and the policy leaves it as it is.
    """
    policy = _drift_policy(mr, default)
    if not _leaves(mr, default):
        return
    words = (
        f"{noun(mr)} {mr.external_name} ({mr.at_provider['id']}) was deleted in AWS, and driftPolicy "
        f"{policy.value} leaves it so. To have it made anew, set spec.driftPolicy to Enforce"
    )
    said = [not_ready(Reason.RECREATION_HELD, words)]
    if policy is DriftPolicy.REPORT:
        said.append(
            Condition(
                type=TenantConditionType.IN_SYNC.value,
                status=ConditionStatus.FALSE,
                reason=InSyncReason.DRIFT_DETECTED.value,
                message=words,
            )
        )
    raise NotYet(words, after=_HELD_SECONDS, conditions=tuple(said))


def _leaves(mr: Managed, default: DriftPolicy) -> bool:
    return _drift_policy(mr, default) is not DriftPolicy.ENFORCE and judgement.made(mr)


def _drift_policy(mr: Managed, default: DriftPolicy) -> DriftPolicy:
    return DriftPolicy(mr.spec.get("driftPolicy") or default)


def _recreates(mr: Managed, default: DriftPolicy) -> bool:
    """Whether what is gone would be made anew for this resource. Where not, it may be gone for good, and says
    nothing about an accident."""
    if mr.deleted or is_dry_run(mr) or _leaves(mr, default):
        return False
    try:
        return permissions(mr.management_policies, mr.deletion_policy).create
    except UnsupportedPolicies:
        # Another resource's: the runtime does nothing with it, and says so there.
        return False


def check_gone(mr: Managed, having: Context) -> None:
    """AWS does not find what is to be deleted. Where it was there, one such answer ends no deletion, or
    nobody would be left to delete it; and none does where it may be another account's answer.

    Raises:
        NotYet: a second look has to be taken, or somebody has to confirm.
    """
    if not mr.deleted:
        return
    having.memory.let_go(mr.uid)
    id_ = mr.at_provider.get("id")
    if not (isinstance(id_, str) and id_) or having.memory.vanished.was_removed(id_):
        return
    if not permissions(mr.management_policies, mr.deletion_policy).delete:
        return
    if words := _maybe_elsewhere(mr, having, "this resource goes"):
        raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))
    if left := having.memory.gone(mr.uid, id_):
        missing = f"AWS does not find {noun(mr)} {mr.external_name} ({id_})"
        raise NotYet(f"{missing}; this resource goes after a second look. Nobody needs to act", after=left)


def _check_elsewhere(mr: Managed, having: Context) -> None:
    if words := _maybe_elsewhere(mr, having, "it is made anew"):
        having.kept.on_hold(mr)
        raise _recreation_held(words, _HELD_SECONDS)


def _maybe_elsewhere(mr: Managed, having: Context, then: str) -> str:
    """What is not found may be in another account than the credentials are of: how one goes on. Empty where
    it may not, or somebody confirmed that it is gone."""
    home = account_of(mr.at_provider.get("arn") or "")
    if not home or having.account is not None or is_confirmed(mr):
        return ""
    return (
        f"AWS does not find {noun(mr)} {mr.external_name} ({mr.at_provider.get('id')}), and does not say "
        f"whether the credentials of {having.config} are of account {home}, which it was in. Permit "
        "sts:GetCallerIdentity in their IAM policy (docs/iam.md). If it is gone, set the annotation "
        f"{CONFIRM_ANNOTATION} to {token_of(mr)}, and {then}"
    )


def check_vanished(mr: Managed, having: Context) -> None:
    """What was known is gone. It is made anew unless many are: nothing is made before that is known.

    Raises:
        NotYet: its drift policy leaves it so, others have to be looked at first, or somebody has to confirm.
    """
    id_, vanished = mr.at_provider.get("id"), having.memory.vanished
    if mr.deleted or not id_:
        return
    if _recreates(mr, having.drift_policy):
        recorded = _is_recorded(mr, having)
        vanished.found_gone(mr.uid, id_, having.config, namespace_of(mr), recorded=recorded)
    else:
        vanished.forget(mr.uid)
    if having.frozen or not permissions(mr.management_policies, mr.deletion_policy).create:
        # Nothing is made anyway, and what holds it is told.
        if having.frozen:
            having.kept.on_hold(mr)
        return
    _check_left(mr, having.drift_policy)
    _check_elsewhere(mr, having)
    home = account_of(mr.at_provider.get("arn") or "")
    census = _shared_census(having, home)
    verdict = vanished.verdict(mr.uid, census, having.poll_seconds)
    if verdict is Verdict.HELD and vanished.confirms(having.config, having.confirmed):
        vanished.confirm(having.config)
        verdict = Verdict.MAKE
    if verdict is not Verdict.MAKE:
        having.kept.on_hold(mr)
    gone = f"{noun(mr)} {mr.external_name} ({id_}) is gone from AWS"
    if verdict is Verdict.WAIT:
        words = (
            f"{gone}; it is made anew in {having.poll_seconds:.0f} s unless many others are gone too. Nobody "
            "needs to act"
        )
        raise _recreation_held(words, min(_HELD_SECONDS, having.poll_seconds))
    if verdict is Verdict.HELD:
        # How many there are is no namespace's business; the log has it, for those who run the provider.
        having.memory.shared(f"told that {home} is on hold", lambda: _tell_held(home, census))
        many = "too many of the account's other tenants and connection groups"
        raise _recreation_held(f"{gone}, and so are {many}: {_confirmation(having)}", _HELD_SECONDS)


def _is_recorded(mr: Managed, having: Context) -> bool:
    """Its name is kept for its namespace, or nothing can be told of it."""
    if not having.account or not having.kept.known:
        return True
    name = str(mr.at_provider.get("name") or mr.external_name)
    return having.kept.vouches(name_keys.key_of(mr.kind, having.account, name), namespace_of(mr))


def _shared_census(having: Context, account: str | None) -> Census:
    """One count a minute serves all. It takes long where there are very many resources."""
    what = f"known tenants {account}"
    try:
        return having.memory.shared(what, lambda: _census(having, account))
    except AwsError as error:
        raise explain(error, f"count the {what}", serving=True) from error


def _census(having: Context, account: str | None) -> Census:
    recreated = (mr for mr in having.everyone() if _recreates(mr, having.drift_policy))
    return take_census(recreated, account, having.memory.now())


def _tell_held(account: str | None, census: Census) -> bool:
    most = limit(census.known)
    _log.warning("recreation is on hold: too many are gone", account=account, known=census.known, limit=most)
    return True


def _confirmation(having: Context) -> str:
    token = having.memory.vanished.token(having.config)
    return (
        "recreation is on hold. Check that the account and its endpoint are the right ones; to have them "
        f"made anew all the same, set the annotation {CONFIRM_ANNOTATION} of {having.config} to {token}"
    )


def _recreation_held(words: str, seconds: float) -> NotYet:
    return NotYet(words, after=seconds, conditions=(not_ready(Reason.RECREATION_HELD, words),))


def check_protection(mr: Managed) -> None:
    """A protected resource's external resource is deleted only when somebody confirms this very deletion.

    Raises:
        NotYet: nobody did.
    """
    if not mr.spec.get("deletionProtection") or is_confirmed(mr):
        return
    words = (
        f"spec.deletionProtection is on: {noun(mr)} {mr.external_name} is kept. To delete it, set the "
        f"annotation {CONFIRM_ANNOTATION} to {token_of(mr)}"
    )
    raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))


def check_default_group(mr: Managed, *, disables: bool) -> None:
    """The account's default group serves every tenant that names no other: nobody disables it for all.

    Raises:
        ExternalError: the spec asks for that.
    """
    if not disables or not judgement.writes(mr):
        return
    raise _refused(
        Reason.VALIDATION_FAILED,
        f"spec.forProvider.enabled: connection group {mr.external_name} is the account's default and serves "
        "every tenant that names no other, so it is not disabled. Remove the field, or set it to true",
        serving=was_ready(mr),
    )


def contended(mr: Managed, having: Context) -> str:
    """Somebody else goes on writing to the same thing, in words; "" where nobody does."""
    if not having.memory.contended(mr.uid):
        return ""
    return (
        f"Somebody else changed {noun(mr)} {mr.external_name} three times within ten minutes: another "
        f"provider of installation {having.installation}, or another tool. Stop one of the two, or give the "
        "other cluster's provider an --installation-id of its own"
    )


def with_contention(mr: Managed, said: tuple[Condition, ...], having: Context) -> tuple[Condition, ...]:
    """The conditions while somebody else goes on writing: what was repaired is not in sync for long."""
    words = contended(mr, having)
    if not words or mr.deleted:
        return said
    fought = Condition(
        type=TenantConditionType.IN_SYNC.value,
        status=ConditionStatus.FALSE,
        reason=InSyncReason.DRIFT_DETECTED.value,
        message=words,
    )
    return tuple(fought if each.type == TenantConditionType.IN_SYNC else each for each in said)


def token_of(mr: Managed) -> str:
    """What confirms the deletion of this resource, and of no later one of its name."""
    return mr.uid[:8]


def is_confirmed(mr: Managed) -> bool:
    """Somebody confirmed this very deletion."""
    return mr.annotations.get(CONFIRM_ANNOTATION) == token_of(mr)


def is_dry_run(mr: Managed) -> bool:
    """Nothing may be written for this one resource."""
    return mr.annotations.get(DRY_RUN_ANNOTATION) == "true"


def invalid(
    problems: str, reason: Reason = Reason.VALIDATION_FAILED, *, serving: bool = False
) -> ExternalError:
    """What is asked cannot work."""
    return _refused(reason, problems, serving=serving)


def _refused(reason: Reason, message: str, *, serving: bool = False) -> ExternalError:
    conditions = () if serving else (not_ready(reason, message),)
    return ExternalError(message, conditions=conditions, retry=Retry.poll())
