"""The turns of creations while AWS refuses them because a quota of the account is used up (quota/line.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from apis import kinds
from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet, Retry, RetryMode
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.ownership import judgement
from provider.cloudfront.quota.limits import NAMED, PUBLISHED, Quota, is_about_one
from provider.cloudfront.quota.order import Waiting
from provider.cloudfront.safety import name_keys
from provider.cloudfront.safety.dependencies import AccountAccess
from provider.cloudfront.safety.kept_domains import NOTHING, KeptDomains, asked
from provider.cloudfront.state.identity import namespace_of, noun

__all__ = ["CreationTurns"]

_QUOTA_OF: Final[Mapping[str, Quota]] = {
    kinds.DISTRIBUTION_TENANT.kind: Quota.TENANTS,
    kinds.CONNECTION_GROUP.kind: Quota.GROUPS,
}
_IN_SERVICE_QUOTAS: Final = {
    Quota.TENANTS: "distribution tenants per account",
    Quota.GROUPS: "connection groups per account",
}


class CreationTurns:
    """The turns of the resources of one account."""

    def __init__(
        self, account: AccountAccess, kept: KeptDomains = NOTHING, *, rehearsing: bool = False
    ) -> None:
        """`rehearsing`: nothing is created, so nothing waits."""
        self._quotas, self._config, self._rehearsing = account.memory.quotas, account.config, rehearsing
        self._kept, self._account = kept, account.id

    @contextmanager
    def turn(self, mr: Managed) -> Iterator[None]:
        """Create in this block.

        Raises:
            ExternalError: AWS refuses creations in this account, and others come first.
            NotYet: others come first.
        """
        quota, who = _QUOTA_OF.get(mr.kind), _waiting(mr)
        if quota is None or self._rehearsing or not self._quotas.in_line:
            yield
            return
        answer = self._quotas.ask(quota, who, holder=self._is_holder(mr), waited=_waited(mr))
        if answer.seconds and not answer.held:
            words = f"creation of {noun(mr)} {mr.external_name} waits for its turn"
            raise NotYet(words, after=answer.seconds, quiet=True)
        if answer.seconds:
            raise self._refusal(mr, quota, answer.words, answer.seconds)
        terminal = False
        try:
            yield
        except ExternalError as error:
            terminal = error.retry.mode is RetryMode.POLL
            raise
        finally:
            self._quotas.done(quota, who.uid, at_once=terminal)

    def refused(self, mr: Managed, error: AwsError) -> ExternalError | None:
        """Note that AWS refused a creation. Returns the error if the account may have no room; None if the
        refusal is about this resource alone."""
        quota = _QUOTA_OF.get(mr.kind)
        if quota is None or not self._quotas.in_line or is_about_one(error):
            return None
        for_all = not any(name in error.words for name in _names(mr))
        seconds = self._quotas.refused(
            quota, _waiting(mr), error.words, for_all=for_all, holder=self._is_holder(mr)
        )
        return self._refusal(mr, quota, error.words, seconds, error.request_id)

    def lost(self, mr: Managed) -> None:
        """Note that AWS does not have the external resource of `mr`. If a record says that its namespace had
        it, it comes before new ones, once the provider may create it again."""
        quota = _QUOTA_OF.get(mr.kind)
        if quota and self._quotas.in_line and not self._rehearsing and self._is_lost(mr):
            self._quotas.expect(quota, namespace_of(mr))

    def made(self, mr: Managed) -> None:
        """Note that AWS accepted a creation."""
        if (quota := _QUOTA_OF.get(mr.kind)) is not None:
            self._quotas.made(quota, _waiting(mr))

    def released(self, mr: Managed) -> None:
        """Note that AWS accepted a deletion."""
        if (quota := _QUOTA_OF.get(mr.kind)) is not None:
            self._quotas.released(quota)

    def _is_holder(self, mr: Managed) -> bool:
        """Whether its namespace is recorded as the holder of one of its domains, or of its name while the
        provider did not delete what had it. Users choose names freely, but not which domains they serve."""
        if not self._kept.known:
            return False
        namespace = namespace_of(mr)
        return any(self._kept.holder(each) == namespace for each in asked(mr)) or self._is_lost(mr)

    def _is_lost(self, mr: Managed) -> bool:
        if mr.deleted or not (self._account and self._kept.known and judgement.writes(mr)):
            return False
        key, namespace = name_keys.key_of(mr.kind, self._account, mr.external_name or ""), namespace_of(mr)
        return self._kept.holder(key) == namespace and self._kept.vouches(key, namespace)

    def _refusal(
        self, mr: Managed, quota: Quota, words: str, seconds: float, request_id: str = ""
    ) -> ExternalError:
        """The error while it waits for room. It is the same each time: neither the place in the line nor the
        present number is in it."""
        name = f"create {noun(mr)} {mr.external_name}"
        none = f"AWS creates no more {NAMED[quota]} in this account"
        told = f"EntityLimitExceeded: {words}" if words else none
        message = f"{name}: {told.rstrip('.')}. {self._numbers(quota)}{_advice(quota)}"
        return ExternalError(
            message,
            conditions=(not_ready(Reason.QUOTA_EXCEEDED, message),),
            retry=Retry.after(seconds),
            request_id=request_id,
            made_nothing=True,
        )

    def _numbers(self, quota: Quota) -> str:
        used = self._quotas.used_when_refused(quota)
        allowed = self._quotas.allowances.of_config(quota, self._config)
        if used is None and allowed.is_default:
            return ""
        may = f"AWS's default quota is {PUBLISHED[quota]}"
        if not allowed.is_default:
            may = f"AWS allows {allowed.number} according to spec.quotas of {self._config}"
        return f"{may}. " if used is None else f"The account has {used} {NAMED[quota]}, and {may}. "


def _advice(quota: Quota) -> str:
    return (
        f'The account\'s owner must request an increase of "{_IN_SERVICE_QUOTAS[quota]}" in Service Quotas, '
        f"or delete {NAMED[quota]} that are not needed. Then the provider creates those that wait: "
        "first those that served before; namespaces take turns, and within each the oldest comes first"
    )


def _names(mr: Managed) -> set[str]:
    """What a message to other namespaces must not contain."""
    domains = mr.for_provider.get("domains")
    listed = {each for each in domains if isinstance(each, str)} if isinstance(domains, list) else set()
    return {name for name in (mr.external_name, mr.name, *listed) if name}


def _waiting(mr: Managed) -> Waiting:
    created = str(mr.metadata.get("creationTimestamp") or "")
    return Waiting(mr.uid, mr.api_version, mr.kind, mr.key, namespace_of(mr), created)


def _waited(mr: Managed) -> bool:
    """Whether it waited for room before a restart, as its status says. Anyone who may write that can only let
    creations in the account wait for some seconds, once."""
    ready = mr.condition(ConditionType.READY)
    return ready is not None and ready.reason == Reason.QUOTA_EXCEEDED
