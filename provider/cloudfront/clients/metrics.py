"""Metrics of an external client: drift that it found and repaired, and how long tenants take."""

from __future__ import annotations

from typing import Final

from apis import kinds
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.external import Change, ExternalClient, FieldDiff, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.metrics import TenantMetrics
from provider.cloudfront.lifecycle.assessment import Assessed
from provider.cloudfront.tenant.assessment import Assessment

__all__ = ["MetricsClient"]

_TENANT: Final = kinds.DISTRIBUTION_TENANT.kind


class MetricsClient:
    """An external client that records metrics."""

    def __init__(self, client: ExternalClient, metrics: TenantMetrics, account: str, clock: Clock) -> None:
        self._client, self._metrics, self._account, self._clock = client, metrics, account, clock

    def observe(self, mr: Managed) -> Observation:
        """See ExternalClient."""
        seen = self._client.observe(mr)
        if not seen.exists and mr.deleted:
            self._metrics.forget(mr.uid)
        elif not seen.exists or seen.at_provider is not None:
            certificate = (seen.at_provider or {}).get("certificate") if seen.exists else None
            self._metrics.looked(self._account, mr.uid, certificate or {}, _unproven(seen))
        self._metrics.drift(self._account, mr.uid, _drift(seen))
        if any(c.type == ConditionType.READY and c.status is ConditionStatus.TRUE for c in seen.conditions):
            self._metrics.ready(self._account, mr.uid, self._clock.now())
        return seen

    def create(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        begun = self._clock.now()
        change = self._client.create(mr, seen)
        if mr.kind == _TENANT:
            self._metrics.created(mr.uid, begun)
        return change

    def update(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        change = self._client.update(mr, seen)
        self._metrics.repaired(self._account, _drift(seen))
        return change

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._client.delete(mr, seen)


def _unproven(seen: Observation) -> int:
    return len(seen.state.unproven) if isinstance(seen.state, Assessment) else 0


def _drift(seen: Observation) -> tuple[FieldDiff, ...]:
    return seen.state.drift if isinstance(seen.state, Assessed) else ()
