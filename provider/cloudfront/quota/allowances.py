"""How much AWS allows, as administrators say it in provider configs, and the warnings before it is used up.

AWS raises its quotas on request, and the provider does not read them: that takes another API and another
permission. These numbers are only reported. Nothing is refused because of them.

All times are seconds of the injected clock.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.quota.limits import PUBLISHED, Quota

__all__ = ["Allowances", "Allowed"]

_WARN_AT: Final = 0.9
_CALM_AT: Final = 0.85
"""Parts of what is allowed: the first one warns, and below the second one the next warning is possible."""
_AGAIN_SECONDS: Final = 24 * 3600.0


@dataclass(frozen=True)
class Allowed:
    """How many of a quota AWS allows."""

    number: int
    is_default: bool
    """No provider config says it, so it is what AWS publishes."""
    config: str = field(default="", compare=False)
    """The provider config that says it, such as `ClusterProviderConfig default`."""


@dataclass
class _Config:
    key: ProviderConfigKey
    says: Mapping[Quota, int]
    warned: dict[Quota, float] = field(default_factory=dict)
    """When, for each quota that is nearly used up."""
    calm: dict[Quota, float] = field(default_factory=dict)
    """When it warned last, for each quota that is not nearly used up any more."""


class Allowances:
    """What the provider configs of one account say. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._configs: dict[str, _Config] = {}
        """By uid."""

    def allow(self, uid: str, key: ProviderConfigKey, says: Mapping[Quota, int]) -> frozenset[Quota]:
        """Note what a config says. Returns the quotas for which the account's number changed thereby: those
        of a cluster-scoped config."""
        with self._lock:
            before = {quota: self._of_account(quota) for quota in Quota}
            known = self._configs.get(uid)
            if known is None:
                self._configs[uid] = _Config(key, dict(says))
            else:
                known.key, known.says = key, dict(says)
            return frozenset(quota for quota in Quota if self._of_account(quota) != before[quota])

    def forget(self, uid: str) -> None:
        """The config is deleted, or for another account."""
        with self._lock:
            self._configs.pop(uid, None)

    @property
    def is_of_all(self) -> bool:
        """Whether the account has a cluster-scoped config."""
        with self._lock:
            return bool(self._shared())

    def of_account(self, quota: Quota) -> Allowed:
        """What the account has: the lowest number of its cluster-scoped configs, or AWS's default. A team's
        config changes nothing for others, as with rates."""
        with self._lock:
            return self._of_account(quota)

    def of_config(self, quota: Quota, key: str) -> Allowed:
        """What counts for the resources of a config, such as `ClusterProviderConfig default`. A namespaced
        one may say less than the account's, for its own resources."""
        with self._lock:
            account = self._of_account(quota)
            own = next((each for each in self._configs.values() if str(each.key) == key), None)
            return _lower(own, quota, account) if own else account

    def warn(self, uid: str, quota: Quota, used: int | None) -> Allowed | None:
        """Return what is allowed if the config is to have a warning now: once when nearly all is used, and
        again after it was less, at most once a day. If the account has configs for all namespaces, only
        they have it, and the namespaced ones that say a number of their own."""
        with self._lock:
            own = self._configs.get(uid)
            if own is None or used is None or not self._is_warned(own, quota):
                return None
            allowed, now = _lower(own, quota, self._of_account(quota)), self._clock.now()
            if used < _CALM_AT * allowed.number and quota in own.warned:
                own.calm[quota] = own.warned.pop(quota)
            if used < _WARN_AT * allowed.number or quota in own.warned:
                return None
            if now < own.calm.get(quota, float("-inf")) + _AGAIN_SECONDS:
                return None
            own.warned[quota] = now
            return allowed

    # Under the lock.

    def _is_warned(self, own: _Config, quota: Quota) -> bool:
        return not own.key.namespace or quota in own.says or not self._shared()

    def _shared(self) -> list[_Config]:
        return [each for each in self._configs.values() if not each.key.namespace]

    def _of_account(self, quota: Quota) -> Allowed:
        said = [(each.says[quota], str(each.key)) for each in self._shared() if quota in each.says]
        if not said:
            return Allowed(PUBLISHED[quota], is_default=True)
        number, config = min(said)
        return Allowed(number, is_default=False, config=config)


def _lower(own: _Config, quota: Quota, account: Allowed) -> Allowed:
    says = own.says.get(quota)
    if not own.key.namespace or says is None or (not account.is_default and account.number <= says):
        return account
    return Allowed(says, is_default=False, config=str(own.key))
