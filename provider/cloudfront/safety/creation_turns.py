"""The turns of creations that wait for room in the account (quota/line.py), and what their authors read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from apis import kinds
from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.quota.limits import NAMED, PUBLISHED, Quota, is_about_one, is_undecided
from provider.cloudfront.quota.waiting import Answer, Waiting
from provider.cloudfront.safety.dependencies import AccountAccess
from provider.cloudfront.state.identity import namespace_of, noun

__all__ = ["CreationTurns"]

_QUOTA_OF: Final[Mapping[str, Quota]] = {
    kinds.DISTRIBUTION_TENANT.kind: Quota.TENANTS,
    kinds.CONNECTION_GROUP.kind: Quota.GROUPS,
}
_CAUSES: Final = 3
_IN_SERVICE_QUOTAS: Final = {
    Quota.TENANTS: "distribution tenants per account",
    Quota.GROUPS: "connection groups per account",
}


class CreationTurns:
    """The turns of the resources of one account."""

    def __init__(self, account: AccountAccess, *, rehearsing: bool = False) -> None:
        """`rehearsing`: nothing is created, so nothing waits."""
        self._quotas, self._config, self._rehearsing = account.memory.quotas, account.config, rehearsing

    @contextmanager
    def turn(self, mr: Managed) -> Iterator[None]:
        """Create in this block.

        Raises:
            ExternalError: the account has no room, and others come first.
        """
        quota = _QUOTA_OF.get(mr.kind)
        if quota is None or self._rehearsing:
            yield
            return
        answer = self._quotas.ask(quota, _waiting(mr))
        if answer.seconds:
            raise self._refusal(mr, quota, answer)
        try:
            yield
        except ExternalError as error:
            if (undecided := _undecided_cause(error)) is not None:
                # A check could not be made now, which says nothing about the resource.
                self._quotas.undecided(quota, _waiting(mr), maybe_made=False, after=undecided.after or 0.0)
            raise
        finally:
            self._quotas.done(quota, mr.uid)

    def check(self, mr: Managed) -> None:
        """Check, right before the call is sent, that the resource may still create.

        Raises:
            ExternalError: it waited for its config's rate, and others come first now.
        """
        quota = _QUOTA_OF.get(mr.kind)
        if quota is None or self._rehearsing:
            return
        answer = self._quotas.still(quota, _waiting(mr))
        if answer.seconds:
            raise self._refusal(mr, quota, answer)

    def refused(self, mr: Managed, error: AwsError) -> ExternalError | None:
        """Note that a creation failed. Returns the error if the account may have no room; None if AWS refused
        this resource alone, or did not decide."""
        quota = _QUOTA_OF.get(mr.kind)
        if quota is None:
            return None
        if is_undecided(error):
            after = error.after or 0.0
            self._quotas.undecided(quota, _waiting(mr), maybe_made=not error.made_nothing, after=after)
            return None
        if is_about_one(error):
            self._quotas.left(mr.uid)
            return None
        answer = self._quotas.refused(quota, _waiting(mr), error.words)
        return self._refusal(mr, quota, answer, error.request_id)

    def made(self, mr: Managed) -> None:
        """Note that AWS accepted a creation."""
        if (quota := _QUOTA_OF.get(mr.kind)) is not None:
            self._quotas.made(quota, _waiting(mr))

    def released(self, mr: Managed) -> None:
        """Note that AWS accepted a deletion."""
        if (quota := _QUOTA_OF.get(mr.kind)) is not None:
            self._quotas.released(quota)

    def _refusal(self, mr: Managed, quota: Quota, answer: Answer, request_id: str = "") -> ExternalError:
        """The error while it waits for room. It is the same each time: neither the place in the line nor the
        present number is in it."""
        told = (
            f"EntityLimitExceeded: {answer.words}" if answer.words else "others wait for room in the account"
        )
        numbers = self._numbers(quota, answer.used)
        message = f"create {noun(mr)} {mr.external_name}: {told.rstrip('.')}. {numbers}{_advice(quota)}"
        return ExternalError(
            message,
            conditions=(not_ready(Reason.QUOTA_EXCEEDED, message),),
            retry=Retry.after(answer.seconds),
            request_id=request_id,
            made_nothing=True,
        )

    def _numbers(self, quota: Quota, used: int | None) -> str:
        allowed = self._quotas.allowances.of_config(quota, self._config)
        if used is None and allowed.is_default:
            return ""
        may = f"AWS's default quota is {PUBLISHED[quota]}"
        if not allowed.is_default:
            may = f"AWS allows {allowed.number} according to spec.quotas of {allowed.config}"
        return f"{may}. " if used is None else f"The account has {used} {NAMED[quota]}, and {may}. "


def _advice(quota: Quota) -> str:
    return (
        f'The account\'s owner must request an increase of "{_IN_SERVICE_QUOTAS[quota]}" in Service Quotas, '
        f"or delete {NAMED[quota]} that are not needed. Then the provider creates those that wait: "
        "namespaces take turns, and within each the oldest comes first"
    )


def _undecided_cause(error: BaseException) -> AwsError | None:
    """The call that was throttled or held back, or whose answer was lost, if that is why."""
    cause = error.__cause__
    for _ in range(_CAUSES):
        if cause is None:
            return None
        if isinstance(cause, AwsError):
            return cause if is_undecided(cause) else None
        cause = cause.__cause__
    return None


def _waiting(mr: Managed) -> Waiting:
    created = str(mr.metadata.get("creationTimestamp") or "")
    return Waiting(mr.uid, mr.api_version, mr.kind, mr.key, namespace_of(mr), created)
