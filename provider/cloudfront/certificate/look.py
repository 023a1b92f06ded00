"""Reads the certificate of a tenant: as rarely as possible, and from ACM only what CloudFront does not
show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from apis.conditions import CertificateReason, TenantConditionType
from edgetenants_runtime.api.conditions import ConditionType
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.answers import SharedReads
from provider.cloudfront.memory.log_changes import LogChanges
from provider.cloudfront.memory.pauses import Standstills
from provider.cloudfront.state import applied, certificates, renewals
from provider.cloudfront.state.certificates import LOOK_AT_CERTIFICATE, Certificate
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["CertificateLook"]

_log = structlog.get_logger("provider.cloudfront.certificatelook")

_GOOD_SECONDS: Final = 3600.0
_LOST_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 600.0
_STEADY_SECONDS: Final = 300.0
"""For this time, the pauses between two reads of a pending certificate do not grow."""
_EARLY: Final = 1.0
"""A poll may come this much early."""
_END: Final = "end of the certificate"
_TOLD: Final = frozenset({CertificateReason.CERTIFICATE_EXPIRED, CertificateReason.CERTIFICATE_FAILED})


@dataclass(frozen=True)
class CertificateLook:
    """Reads the certificates of tenants."""

    cloudfront: CloudFront
    log_changes: LogChanges
    shared: SharedReads
    today: Callable[[], datetime]
    issuances: Standstills
    config: str = ""
    """The provider config whose credentials are used."""

    def pause(self, mr: Managed, certificate: Certificate) -> float:
        """Return the seconds until a pending certificate is read again: ever more, up to five minutes, as a
        customer may take days to make the records. They begin again when a record is made."""
        records = tuple(str(each.get("state")) for each in mr.status.get("dnsInstructions") or ())
        shown = (certificate.arn, certificate.status, records)
        return self.issuances.pause(mr.uid, shown, LOOK_AT_CERTIFICATE, steady=_STEADY_SECONDS)

    def look(
        self, mr: Managed, asked: Tenant, seen: ObservedTenant, *, deep: bool, changed: bool = False
    ) -> Certificate | None:
        """Return the tenant's certificate: from status while it is attached and serves, otherwise from AWS;
        while it is pending, only after pauses, unless it is known to have `changed`.

        `deep` is for the daily check. The provider notices a revoked managed certificate sooner if the
        revocation changes the tenant's ETag. A certificate that expires soon according to status raises an
        alarm, so the provider reads it from AWS: once per process, and each hour from its end on. What counts
        is the certificate that serves now, not the one that is to replace it.

        Raises:
            AwsError: CloudFront does not return it, and the provider must know it.
        """
        before = certificates.known(mr.at_provider)
        attached = seen.customizations.certificate_arn
        alarms = self._alarms(before, attached) and self._is_new(mr, before, attached)
        reader = Reader(self.cloudfront, self.today, None if changed else partial(self._pending, mr, seen))
        now = self._read(mr, partial(_look, mr, asked, seen, reader, before), wanted=deep or alarms)
        if alarms:
            self._is_new(mr, now, attached)
        return certificates.waiting(now, before, self.today()) if asked.certificate_request else now

    def _pending(
        self, mr: Managed, seen: ObservedTenant, read: Callable[[], Certificate | None]
    ) -> Certificate | None:
        """Read a tenant's managed certificate, or return what this process read while it was pending."""

        def lasts(certificate: Certificate | None) -> float:
            waits = certificate is not None and certificate.pending
            return self.pause(mr, certificate) - _EARLY if certificate and waits else 0.0

        return self.shared.get(("pending certificate", mr.uid, seen.id, seen.etag), read, lasts)

    def _read(
        self, mr: Managed, look: Callable[..., Certificate | None], *, wanted: bool
    ) -> Certificate | None:
        """Read the certificate if that is wanted, or was and failed; else only if the provider must know it.
        A tenant that serves does not wait for a check."""
        again = f"certificate of {mr.uid} is to be read again"
        overdue = bool(self.shared.last(again)) and self.shared.last_if_fresh(again) is None
        if not wanted and not overdue:
            return look(deep=False)
        try:
            now = look(deep=True)
        except AwsError as error:
            known = look(deep=False)
            _log.warning(
                "cannot read the certificate", name=mr.name, namespace=mr.namespace, error=str(error)
            )
            self.shared.note(again, not error.not_permitted, _RETRY_SECONDS)
            return known
        if overdue:
            self.shared.note(again, False, 0.0)
        return now

    def inherited(self, mr: Managed, seen: ObservedTenant, *, deep: bool) -> Certificate | None:
        """Return the certificate of the distribution of a tenant that has none of its own; None if unknown.

        All tenants of the distribution share the answer. The provider reads it at their daily checks, at the
        certificate's end, and every minute while it is lost. A new process reads it at once for a tenant that
        reports a problem with its certificate. A missing permission counts for its provider config alone.
        """
        if seen.customizations.certificate_arn is not None:
            return None
        what = f"certificate of distribution {seen.distribution_id}"
        last: Certificate | None = self.shared.last(what)
        if not (deep or (_was_told(mr) if last is None else self._is_alarming(last))):
            return last
        if self.shared.last_if_fresh((self.config, what)) is not None:
            return last

        def read() -> Certificate:
            return _of_distribution(seen.distribution_id, self.cloudfront) or Certificate()

        try:
            return self.shared.get(what, read, self._lasts)
        except AwsError as error:
            _log.warning("cannot read the distribution's certificate", what=what, error=str(error))
            if error.not_permitted:
                self.shared.note((self.config, what), error.code, _GOOD_SECONDS)
            return last

    def _lasts(self, certificate: Certificate) -> float:
        return _LOST_SECONDS if self._is_alarming(certificate) else _GOOD_SECONDS

    def _is_alarming(self, certificate: Certificate) -> bool:
        left = certificates.days_left(certificate.not_after or "", self.today())
        return certificate.lost or (left is not None and left <= 0)

    def _alarms(self, certificate: Certificate | None, attached: str | None) -> bool:
        return certificates.ends_soon(_serving(certificate, attached), self.today())

    def _is_new(self, mr: Managed, certificate: Certificate | None, attached: str | None) -> bool:
        serving = _serving(certificate, attached)
        ends = serving.not_after if serving else None
        left = certificates.days_left(ends or "", self.today())
        # ACM may say that it has expired only some time after its end.
        hours_over = int(-left * 24) + 1 if left is not None and left <= 0 else 0
        return self.log_changes.is_new(mr.uid, _END, (ends, hours_over))


def _serving(certificate: Certificate | None, attached: str | None) -> Certificate | None:
    return certificates.standing(certificate, attached) or certificate


def _look(
    mr: Managed,
    asked: Tenant,
    seen: ObservedTenant,
    reader: Reader,
    before: Certificate | None,
    *,
    deep: bool,
) -> Certificate | None:
    if asked.certificate_request is None:
        return _custom(asked, seen, before, reader, deep=deep)
    if before and before.arn and applied.read(mr.status).wrote("customizations.certificate", before.arn):
        # It is the tenant's former custom certificate.
        before = None
    if before and not deep and _settled(before, seen) and seen.etag == mr.at_provider.get("etag"):
        return before
    serves = before is not None and _settled(before, seen)
    details = reader.managed(seen, deep=deep)
    now = certificates.after_answer(details, before, serves=serves)
    if deep and now.replaces and now.replaces.issued:
        now = replace(now, replaces=reader.again(now.replaces))
    known = before and (now.arn, now.status) == (before.arn, before.status)
    return now if known and not deep else reader.with_acm(now)


def _settled(certificate: Certificate, seen: ObservedTenant) -> bool:
    attached = certificate.arn == seen.customizations.certificate_arn
    return certificate.issued and attached and not seen.inactive_domains


def _of_distribution(id_: str, cloudfront: CloudFront) -> Certificate | None:
    distribution = cloudfront.distribution(id_)
    arn = distribution.certificate_arn if distribution else None
    return cloudfront.certificate(arn) if arn else None


def _was_told(mr: Managed) -> bool:
    told = map(mr.condition, (ConditionType.READY, TenantConditionType.CERTIFICATE_READY))
    return any(each is not None and each.reason in _TOLD for each in told)


def _custom(
    asked: Tenant, seen: ObservedTenant, before: Certificate | None, reader: Reader, *, deep: bool
) -> Certificate | None:
    attached = seen.customizations.certificate_arn
    before = before if before and before.arn == attached else None
    if attached is None or attached != asked.customizations.certificate_arn:
        return before
    if before and not deep:
        return before
    now = replace(reader.with_acm(Certificate(arn=attached)), renewal=None)
    # Without an answer, what was known still counts.
    return now if now.status or before is None else before


@dataclass(frozen=True)
class Reader:
    """Reads single certificates from CloudFront and ACM."""

    cloudfront: CloudFront
    today: Callable[[], datetime]
    pending: Callable[[Callable[[], Certificate | None]], Certificate | None] | None = None
    """Reads a managed certificate that may be pending; None: read it at once."""

    def managed(self, seen: ObservedTenant, *, deep: bool) -> Certificate | None:
        """The managed certificate of a tenant. Raises AwsError."""
        read = partial(self.cloudfront.managed_certificate, seen.id)
        return read() if deep or self.pending is None else self.pending(read)

    def with_acm(self, certificate: Certificate) -> Certificate:
        """Add what ACM says about the certificate, if the provider may read it."""
        if certificate.arn is None or certificate.pending:
            return certificate
        try:
            told = self.cloudfront.certificate(certificate.arn)
        except AwsError as error:
            _log.warning("cannot read certificate", arn=certificate.arn, error=str(error))
            return certificate
        if told is None:
            return certificate
        not_after = told.not_after or certificate.not_after
        left = certificates.days_left(not_after, self.today()) if not_after else None
        return replace(
            certificate,
            status=certificate.status or told.status,
            domains=certificate.domains or told.domains,
            failure_reason=told.failure_reason or certificate.failure_reason,
            not_after=not_after,
            renewal=renewals.late(told.renewal, left),
            fresh=True,
        )

    def again(self, former: Certificate) -> Certificate:
        """The certificate that stays attached for now: CloudFront no longer shows it."""
        told = self.with_acm(replace(former, status=""))
        return told if told.status else former
