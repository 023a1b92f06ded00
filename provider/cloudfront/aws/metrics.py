"""The provider's metrics of AWS, named edgetenants_aws_…, in addition to the runtime's metrics.

The provider updates counters as things happen. It computes gauges from the cached managed resources at each
scrape, which costs nothing in between.
"""

from __future__ import annotations

import threading
from collections import Counter as Count
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apis.conditions import TenantReadyReason
from edgetenants_runtime.api.conditions import ConditionType, ReadyReason, UnknownReason
from edgetenants_runtime.clock import utc_now
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import CODES, AwsError
from provider.cloudfront.state import applied, certificates

__all__ = ["CallMetrics", "Gauges", "Instruments", "SweepMetrics", "TenantMetrics"]

EXPIRING_DAYS: Final = (7, 14, 30, certificates.SOON_DAYS)
_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SWEEP_SECONDS: Final = (0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600)
_CREATION_SECONDS: Final = (15, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 24 * 3600)
_OTHER: Final = "other"
_UNKNOWN: Final = "unknown"
_REASONS: Final = frozenset({*TenantReadyReason, *ReadyReason, *UnknownReason})
"""The reasons of Ready, and "Unknown" if the condition does not exist yet."""


Counted = TypeVar("Counted", Counter, Gauge, Histogram)


class _ByAccount(Generic[Counted]):
    """A metric whose first label is the account, and which can drop accounts. Thread-safe."""

    def __init__(self, metric: Counted) -> None:
        self._metric: Counted = metric
        self._lock = threading.Lock()
        self._series: dict[str, set[tuple[str, ...]]] = {}

    def labels(self, account: str, *others: str) -> Counted:
        with self._lock:
            self._series.setdefault(account, set()).add(others)
            series: Counted = self._metric.labels(account, *others)
        return series

    def keep_only(self, accounts: Collection[str]) -> None:
        with self._lock:
            for account in self._series.keys() - accounts:
                for others in self._series.pop(account):
                    self._metric.remove(account, *others)


class CallMetrics:
    """Calls to AWS."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self._seconds = _ByAccount(
            Histogram(
                "edgetenants_aws_request_duration_seconds",
                "Seconds until AWS responded, by operation (service:Operation), outcome (ok, or the class of "
                "the error) and account.",
                ("account", "operation", "outcome"),
                registry=registry,
                buckets=_SECONDS,
            )
        )
        self._errors = _ByAccount(
            Counter(
                "edgetenants_aws_errors",
                "Calls that AWS refused or did not answer, by AWS's error code.",
                ("account", "operation", "code"),
                registry=registry,
            )
        )
        self._throttles = _ByAccount(
            Counter(
                "edgetenants_aws_throttles",
                "Calls that AWS throttled; after each, the provider pauses or slows down the operation.",
                ("account", "operation"),
                registry=registry,
            )
        )
        self._checks = _ByAccount(
            Counter(
                "edgetenants_aws_check_requests",
                "Calls that check what no list shows: the DNS, tags and certificates of tenants at rest. "
                "Also counted in edgetenants_aws_request_duration_seconds.",
                ("account", "operation"),
                registry=registry,
            )
        )
        self._held_back = _ByAccount(
            Counter(
                "edgetenants_aws_held_back_seconds",
                "Seconds that calls waited because of spec.rateLimits.",
                ("account", "service"),
                registry=registry,
            )
        )

    def keep_only(self, accounts: Collection[str]) -> None:
        """Drop all other accounts: otherwise anyone who may change credentials could add series forever."""
        for each in (self._seconds, self._errors, self._throttles, self._checks, self._held_back):
            each.keep_only(accounts)

    def answered(
        self, account: str, service: str, operation: str, error: AwsError | None, seconds: float
    ) -> None:
        """Count a finished call; `error` is None if it succeeded."""
        name = f"{service}:{operation}"
        outcome = error.verdict.class_.value.lower() if error else "ok"
        self._seconds.labels(account, name, outcome).observe(seconds)
        if error is None:
            return
        self._errors.labels(account, name, error.code if error.code in CODES else _OTHER).inc()
        if error.throttled:
            self._throttles.labels(account, name).inc()

    def checked(self, account: str, service: str, operation: str) -> None:
        """Count a call of a periodic check."""
        self._checks.labels(account, f"{service}:{operation}").inc()

    def held_back(self, account: str, service: str, seconds: float) -> None:
        """Count the seconds that a call waited."""
        if seconds > 0:
            self._held_back.labels(account, service).inc(seconds)


class QuotaReading(Protocol):
    """A quota of an account."""

    @property
    def quota(self) -> str:
        """Its name, as a label."""
        ...

    @property
    def used(self) -> int | None:
        """None if that is unknown."""
        ...

    @property
    def allowed(self) -> int:
        """How much AWS allows, as far as is known."""
        ...

    @property
    def waiting(self) -> int | None:
        """Resources that wait for room."""
        ...


class SweepMetrics:
    """Lists of all tenants of an account."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self._seconds = _ByAccount(
            Histogram(
                "edgetenants_aws_sweep_duration_seconds",
                "Seconds that a list of all tenants of the account took, by outcome (complete or failed).",
                ("account", "outcome"),
                registry=registry,
                buckets=_SWEEP_SECONDS,
            )
        )
        self._pages = _ByAccount(
            Counter(
                "edgetenants_aws_sweep_requests",
                "Requests for pages of lists of the account's tenants, connection groups and pending "
                "certificates.",
                ("account",),
                registry=registry,
            )
        )
        self._tenants = _ByAccount(
            Gauge(
                "edgetenants_aws_listed_tenants",
                "Tenants in the last complete list of the account, including those of others.",
                ("account",),
                registry=registry,
            )
        )

    def keep_only(self, accounts: Collection[str]) -> None:
        """See CallMetrics.keep_only."""
        for each in (self._seconds, self._pages, self._tenants):
            each.keep_only(accounts)

    def page(self, account: str) -> None:
        """Count a request for a page."""
        self._pages.labels(account).inc()

    def swept(self, account: str, outcome: str, seconds: float, tenants: int | None) -> None:
        """Record a sweep that ended, as complete or failed. `tenants`: None if it did not see all."""
        self._seconds.labels(account, outcome).observe(seconds)
        if tenants is not None:
            self._tenants.labels(account).set(tenants)


@dataclass(frozen=True)
class Look:
    """What the provider observed of an external resource."""

    account: str
    certificate: str
    """AWS's name for the state of its certificate; "" if it has none or the state is unknown."""
    not_after: str | None
    """RFC 3339."""
    unproven: int = 0
    """Its domains whose proof is required and not in DNS."""


class TenantMetrics:
    """Metrics of tenants. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        labels = ("account", "field")
        self._found = _ByAccount(
            Counter(
                "edgetenants_aws_drift_found",
                "Fields found with drift; each counts once while it stays changed.",
                labels,
                registry=registry,
            )
        )
        self._repaired = _ByAccount(
            Counter(
                "edgetenants_aws_drift_repaired",
                "Fields whose drift the provider repaired.",
                labels,
                registry=registry,
            )
        )
        self._ready = _ByAccount(
            Histogram(
                "edgetenants_aws_tenant_creation_seconds",
                "Seconds from CreateDistributionTenant until the tenant is Ready for the first time.",
                ("account",),
                registry=registry,
                buckets=_CREATION_SECONDS,
            )
        )
        self._lock = threading.Lock()
        self._drifting: dict[str, frozenset[str]] = {}
        self._created: dict[str, float] = {}
        self._looks: dict[str, Look] = {}

    def keep_only(self, accounts: Collection[str]) -> None:
        """See CallMetrics.keep_only."""
        for each in (self._found, self._repaired, self._ready):
            each.keep_only(accounts)

    def looked(self, account: str, uid: str, certificate: Mapping[str, Any], unproven: int = 0) -> None:
        """Record an observation of an external resource, with its certificate as in status, and how many of
        its domains lack a required proof."""
        # What counts is the attached one, not the one that is to replace it.
        ends = (certificate.get("replaces") or {}).get("notAfter") or certificate.get("notAfter")
        look = Look(account, str(certificate.get("status") or ""), ends, unproven)
        with self._lock:
            self._looks[uid] = look

    def looks(self, uids: Collection[str]) -> Mapping[str, Look]:
        """Return the last observations of these resources, and forget those of all others."""
        with self._lock:
            for known in (self._looks, self._drifting, self._created):
                for uid in known.keys() - uids:
                    known.pop(uid, None)
            return dict(self._looks)

    def drift(self, account: str, uid: str, drift: Iterable[FieldDiff]) -> None:
        """Count the fields that differ although the spec did not change."""
        now = frozenset(each.field for each in drift)
        with self._lock:
            before = self._drifting.pop(uid, frozenset())
            if now:
                self._drifting[uid] = now
        for field in now - before:
            self._found.labels(account, _label(field)).inc()

    def repaired(self, account: str, drift: Iterable[FieldDiff]) -> None:
        """Count the repaired fields."""
        for each in drift:
            self._repaired.labels(account, _label(each.field)).inc()

    def created(self, uid: str, now: float) -> None:
        """Record when the tenant was created, on the injected clock."""
        with self._lock:
            self._created[uid] = now

    def ready(self, account: str, uid: str, now: float) -> None:
        """Observe the creation time of a tenant that became Ready."""
        with self._lock:
            since = self._created.pop(uid, None)
        if since is not None:
            self._ready.labels(account).observe(now - since)

    def forget(self, uid: str) -> None:
        """Drop a tenant that no longer exists."""
        with self._lock:
            self._drifting.pop(uid, None)
            self._created.pop(uid, None)
            self._looks.pop(uid, None)


class Instruments:
    """All metrics. Without a registry, they are counted but not exposed."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.calls = CallMetrics(registry)
        self.tenants = TenantMetrics(registry)
        self.sweeps = SweepMetrics(registry)

    def keep_only(self, accounts: Collection[str]) -> None:
        """Keep the accounts that are or were recently in use, and expose no others."""
        for each in (self.calls, self.tenants, self.sweeps):
            each.keep_only(accounts)


def _label(field: str) -> str:
    """Return one of a few values, whatever the names of parameters and tags."""
    return applied.field_of(field)


_NO_LOOK: Final = Look(_UNKNOWN, "", None)


class Gauges(Collector):
    """Gauges of tenants and certificates, from the cached managed resources and the observations of this
    process. Status alone is not trusted: anyone who may write it could raise alarms for an account, or invent
    accounts."""

    def __init__(
        self,
        resources: Callable[[], Iterable[Managed]],
        tenants: TenantMetrics,
        paces: Callable[[], Mapping[str, float]],
        now: Callable[[], datetime] = utc_now,
        *,
        sweeps: Callable[[], Mapping[str, float]] = dict,
        quotas: Callable[[], Mapping[str, Iterable[QuotaReading]]] = dict,
    ) -> None:
        """`paces` returns for each account the seconds of its longest pause, `sweeps` the seconds since its
        last complete sweep began, `quotas` its quotas."""
        self._resources, self._tenants, self._paces, self._now = resources, tenants, paces, now
        self._sweeps, self._quotas = sweeps, quotas

    def collect(self) -> Iterator[Metric]:
        """Compute the gauges."""
        tenants, states = Count[tuple[str, str]](), Count[tuple[str, str]]()
        unproven = Count[str]()
        days: dict[str, list[float]] = {}
        everyone = {mr.uid: mr for mr in self._resources()}
        looks, now = self._tenants.looks(everyone.keys()), self._now()
        for uid, mr in everyone.items():
            look = looks.get(uid, _NO_LOOK)
            tenants[look.account, _state(mr)] += 1
            unproven[look.account] += look.unproven
            if look.certificate:
                known = look.certificate in certificates.STATES
                states[look.account, look.certificate if known else _OTHER] += 1
            left = certificates.days_left(look.not_after, now) if look.not_after else None
            if left is not None:
                days.setdefault(look.account, []).append(left)
        yield _counted("edgetenants_aws_tenants", "Managed tenants, by Ready's reason.", "state", tenants)
        yield _counted("edgetenants_aws_certificates", "Certificates, by state in AWS.", "state", states)
        yield from _expiry(days)
        yield _by_account(
            "edgetenants_aws_domains_without_proof",
            "Domains that tenants have and whose proof is required and not in DNS.",
            unproven,
        )
        yield _by_account(
            "edgetenants_aws_paused_seconds",
            "Seconds for which the provider pauses an operation that AWS throttled; the longest of several.",
            self._paces(),
        )
        yield _by_account(
            "edgetenants_aws_sweep_age_seconds",
            "Seconds since the last complete list of the account's tenants began; none if each is polled.",
            self._sweeps(),
        )
        yield from _of_quotas(self._quotas())


def _by_account(name: str, says: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, says, labels=["account"])
    for account, value in sorted(values.items()):
        family.add_metric([account], value)
    return family


def _counted(name: str, says: str, label: str, counts: Mapping[tuple[str, str], int]) -> Metric:
    family = GaugeMetricFamily(name, says, labels=["account", label])
    for labels, number in sorted(counts.items()):
        family.add_metric(labels, number)
    return family


def _of_quotas(accounts: Mapping[str, Iterable[QuotaReading]]) -> Iterator[Metric]:
    labels = ["account", "quota"]
    used = GaugeMetricFamily(
        "edgetenants_aws_quota_used",
        "How much of a quota the account uses, including what others made; none if each tenant is polled.",
        labels=labels,
    )
    allowed = GaugeMetricFamily(
        "edgetenants_aws_quota_allowed",
        "How much AWS allows, as spec.quotas of its provider configs says, or else AWS's default.",
        labels=labels,
    )
    waiting = GaugeMetricFamily(
        "edgetenants_aws_quota_waiting",
        "Resources that wait for room since AWS refused to create more.",
        labels=labels,
    )
    for account, readings in sorted(accounts.items()):
        for each in readings:
            allowed.add_metric([account, each.quota], each.allowed)
            if each.waiting is not None:
                waiting.add_metric([account, each.quota], each.waiting)
            if each.used is not None:
                used.add_metric([account, each.quota], each.used)
    yield from (used, allowed, waiting)


def _expiry(days: Mapping[str, list[float]]) -> Iterator[Metric]:
    first = GaugeMetricFamily(
        "edgetenants_aws_certificate_days_left",
        "Days until the account's first certificate expires; negative once it has expired.",
        labels=["account"],
    )
    within = GaugeMetricFamily(
        "edgetenants_aws_certificates_expiring",
        "Certificates that expire within this number of days, including expired ones.",
        labels=["account", "days"],
    )
    for account, left in sorted(days.items()):
        first.add_metric([account], min(left))
        for bound in EXPIRING_DAYS:
            within.add_metric([account, str(bound)], sum(each <= bound for each in left))
    yield from (first, within)


def _state(mr: Managed) -> str:
    ready = mr.condition(ConditionType.READY)
    reason = ready.reason if ready else "Unknown"
    return reason if reason in _REASONS else _OTHER
