"""The certificate of a tenant: the desired one, the observed one, and what follows from both (pure).

    requested ──▶ pending-validation ──▶ issued ──▶ attached ──▶ domains active
        ▲               │                   │
        └── back-off ◀──┴── timed out, failed, revoked, expired, inactive, or never visible

CloudFront requests a managed certificate from ACM and reports when it is issued. An update of the tenant's
customizations attaches it. A tenant may have one pending request, which cannot be cancelled. CloudFront does
not repeat requests (Developer Guide, "Request certificates for your CloudFront distribution tenant").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from edgetenants_runtime.clock import parse_rfc3339, rfc3339
from provider.cloudfront.state import renewals
from provider.cloudfront.state.renewals import Renewal

__all__ = [
    "LOOK_AT_CERTIFICATE",
    "Certificate",
    "Request",
    "Token",
    "after_answer",
    "covers",
    "days_left",
    "delay",
    "ends_soon",
    "known",
    "needs_request",
    "pause",
    "requested",
    "seconds_waited",
    "shown",
    "standing",
    "uncovered",
    "unfit",
    "waiting",
    "without_detached",
]

PENDING: Final = "pending-validation"
ISSUED: Final = "issued"
EXPIRED: Final = "expired"
_LOST: Final = frozenset({"validation-timed-out", "failed", "revoked", EXPIRED, "inactive"})
"""AWS' states of certificates that CloudFront can no longer use."""
STATES: Final = _LOST | {PENDING, ISSUED}
"""All states (CloudFront's ManagedCertificateStatus: ACM's states in lower case)."""
SOON_DAYS: Final = 60
"""ACM renews a certificate 60 days before it expires (ACM User Guide, "Managed certificate renewal")."""
LOOK_AT_CERTIFICATE: Final = 30.0
"""Poll interval in seconds while a certificate is validated; that takes minutes once DNS is correct."""
_FIRST_DELAY: Final = 600.0
_LONGEST_DELAY: Final = 24 * 3600.0


@dataclass(frozen=True)
class Request:
    """A certificate request to CloudFront: ManagedCertificateRequest."""

    token_host: str
    """cloudfront or self-hosted."""
    primary_domain: str | None = None
    logging: str | None = None
    """enabled or disabled."""

    @property
    def self_hosted(self) -> bool:
        """The web server of the domain's owner answers the validation."""
        return self.token_host == "self-hosted"  # noqa: S105 - an enum's word


@dataclass(frozen=True)
class Token:
    """The validation redirect of one domain; its URLs have no scheme."""

    domain: str
    redirect_from: str | None = None
    redirect_to: str | None = None


@dataclass(frozen=True)
class Certificate:
    """A managed certificate, or an attached custom one. Without an ARN: requested, but not visible."""

    arn: str | None = None
    status: str = ""
    """CloudFront's state; "" while it is not visible."""
    token_host: str | None = None
    tokens: tuple[Token, ...] = ()
    domains: frozenset[str] = frozenset()
    """The names that it covers; empty if unknown."""
    failure_reason: str | None = None
    """ACM's reason, if the provider may read it."""
    not_after: str | None = None
    """When it expires, in RFC 3339."""
    requests: int = 0
    """The number of requests since the last certificate was issued."""
    replaces: Certificate | None = None
    """The certificate that stays attached until this one replaces it: it is lost, or AWS cannot renew it."""
    waiting_since: str | None = None
    """Since when the provider waits before it requests another one, in RFC 3339. It outlives the process."""
    renewal: Renewal | None = None
    """Why AWS has not renewed it although it ends soon, as ACM said last; None if nothing is wrong."""
    fresh: bool = field(default=False, compare=False)
    """ACM described it in this reconcile; what status says may be forged."""

    @property
    def issued(self) -> bool:
        """It can be attached."""
        return self.status == ISSUED

    @property
    def pending(self) -> bool:
        """A request is pending, so no other may be sent."""
        return self.status == PENDING

    @property
    def lost(self) -> bool:
        """CloudFront can no longer use it."""
        return self.status in _LOST

    @property
    def expired(self) -> bool:
        """It was valid and has expired."""
        return self.status == EXPIRED


def covers(names: Iterable[str], domain: str) -> bool:
    """Whether a certificate's names cover a domain; a wildcard matches exactly one label.

    >>> covers(["*.example.com"], "a.example.com"), covers(["*.example.com"], "a.b.example.com")
    (True, False)
    """
    parent = domain.partition(".")[2]
    return any(name.lower() in (domain, f"*.{parent}") for name in names)


def ends_soon(certificate: Certificate | None, now: datetime) -> bool:
    """Whether it expires soon, has expired, or has an unreadable end."""
    left = days_left(certificate.not_after, now) if certificate and certificate.not_after else None
    if left is None:
        return certificate is not None and certificate.not_after is not None
    return left <= SOON_DAYS


def days_left(not_after: str, now: datetime) -> float | None:
    """Days until a time in RFC 3339, negative after it; None if it is not such a time."""
    try:
        return (parse_rfc3339(not_after) - now).total_seconds() / 86400
    except (ValueError, OverflowError):
        return None


def uncovered(names: Iterable[str], domains: Iterable[str]) -> tuple[str, ...]:
    """The domains that no name covers, sorted."""
    names = tuple(names)
    return tuple(sorted(domain for domain in domains if not covers(names, domain)))


def delay(requests: int) -> float:
    """Seconds from a failed request to the next one: 0 before the first, then ten minutes, doubled each time
    up to a day."""
    return min(_FIRST_DELAY * 2.0 ** min(requests - 1, 10), _LONGEST_DELAY) if requests else 0.0


def pause(certificate: Certificate) -> float:
    """Seconds from its failed request to the next one. While the certificate that it replaces is valid,
    there is a day's time: each request leaves a certificate in ACM."""
    urgent = certificate.replaces is None or not certificate.replaces.issued
    return delay(certificate.requests) if urgent or not certificate.requests else _LONGEST_DELAY


def waiting(now: Certificate | None, before: Certificate | None, today: datetime) -> Certificate | None:
    """The certificate, with the time since which it is in this state if another one has to be requested.

    Args:
        now: the certificate.
        before: the certificate that was known before. Its time may be forged: one in the future starts over.
        today: the present time.
    """
    if now is None or now.pending or now.issued or not now.requests:
        return now and replace(now, waiting_since=None)
    same = before is not None and _state(now) == _state(before)
    since = before.waiting_since if before and same and seconds_waited(before, today) is not None else None
    return replace(now, waiting_since=since or rfc3339(today))


def seconds_waited(certificate: Certificate | None, today: datetime) -> float | None:
    """Seconds since the provider waits before it requests another one; None if that is unknown."""
    since = certificate.waiting_since if certificate else None
    left = days_left(since, today) if since else None
    return None if left is None or left > 0 else -left * 86400


def _state(certificate: Certificate) -> tuple[str | None, str, int]:
    return certificate.arn, certificate.status, certificate.requests


def standing(certificate: Certificate | None, attached: str | None) -> Certificate | None:
    """The attached managed certificate while it is valid: this one, or the one that it is to replace."""
    each = (certificate, certificate.replaces if certificate else None)
    return next((one for one in each if one and one.issued and one.arn == attached), None)


def needs_request(certificate: Certificate | None, inactive: Iterable[str]) -> bool:
    """A certificate has to be requested: none is pending or issued, or the issued one does not cover a domain
    that is not served."""
    if certificate is None or certificate.lost or not certificate.status:
        return True
    return certificate.issued and bool(certificate.domains) and bool(uncovered(certificate.domains, inactive))


def unfit(certificate: Certificate | None, attached: str | None, served: Iterable[str]) -> bool:
    """It is issued but not attached, and does not cover a domain that is served now, because it was requested
    when the tenant had other domains. Attaching it would leave that domain without a certificate."""
    if certificate is None or not certificate.issued or certificate.arn == attached:
        return False
    return bool(certificate.domains) and bool(uncovered(certificate.domains, served))


def after_answer(details: Certificate | None, before: Certificate | None, *, serves: bool) -> Certificate:
    """The certificate after CloudFront's answer, combined with what was known before.

    Args:
        details: the answer; None if CloudFront has no request.
        before: the certificate that was known before.
        serves: that certificate is attached, and every domain is active.
    """
    before = before or Certificate()
    if details is None:
        # A certificate that serves is not replaced because CloudFront no longer reports its request.
        if serves and before.issued:
            return before
        return Certificate(requests=before.requests, replaces=_replaced(None, before))
    former = before.replaces
    if former and former.issued and details.arn == former.arn:
        # Still the one that is to be replaced: CloudFront does not show the request yet.
        return former if former.renewal is None else before
    # If it exists, it was requested, even if the process died before it could record that.
    was_good = before.issued and details.arn == before.arn
    requests = 0 if details.issued or was_good else max(before.requests, 1)
    same = (details.arn, details.status) == (before.arn, before.status)
    return replace(
        details,
        requests=requests,
        domains=details.domains or (before.domains if details.arn == before.arn else frozenset()),
        failure_reason=before.failure_reason if same else None,
        not_after=before.not_after if details.arn == before.arn else None,
        renewal=before.renewal if same else None,
        replaces=_replaced(details.arn, before, serves=serves),
    )


def without_detached(certificate: Certificate | None, attached: str | None) -> Certificate | None:
    """The certificate, without the one that it replaces if that is no longer attached."""
    former = certificate.replaces if certificate else None
    if certificate is None or former is None or former.arn == attached:
        return certificate
    return replace(certificate, replaces=None)


def _replaced(arn: str | None, before: Certificate, *, serves: bool = False) -> Certificate | None:
    if before.arn is None or before.arn == arn:
        return before.replaces
    if before.lost:
        # Of two in a row, the one that is attached.
        valid = before.replaces is not None and before.replaces.issued
        lost = Certificate(before.arn, before.status, failure_reason=before.failure_reason)
        return before.replaces if valid else lost
    if before.issued and (before.renewal or serves):
        # If it serves, the process may have died before it could record why it requested another one.
        return replace(before, tokens=(), token_host=None, requests=0, replaces=None)
    return before.replaces


def requested(before: Certificate | None, request: Request) -> Certificate:
    """The certificate right after a request was sent."""
    before = before or Certificate()
    return Certificate(
        requests=before.requests + 1, token_host=request.token_host, replaces=_replaced(None, before)
    )


def known(at_provider: Mapping[str, Any]) -> Certificate | None:
    """Read the certificate from status.atProvider."""
    stored = at_provider.get("certificate")
    return _read(stored) if stored else None


def _read(stored: Mapping[str, Any]) -> Certificate:
    replaces = stored.get("replaces")
    return Certificate(
        arn=stored.get("arn"),
        status=stored.get("status") or "",
        token_host=stored.get("validationTokenHost"),
        tokens=tuple(
            Token(each["domain"], each.get("redirectFrom"), each.get("redirectTo"))
            for each in stored.get("validation") or ()
        ),
        domains=frozenset(stored.get("domains") or ()),
        failure_reason=stored.get("failureReason"),
        not_after=stored.get("notAfter"),
        requests=int(stored.get("requests") or 0),
        waiting_since=stored.get("waitingSince"),
        replaces=_read(replaces) if replaces else None,
        renewal=renewals.known(stored.get("renewal")),
    )


def shown(certificate: Certificate | None) -> dict[str, Any] | None:
    """The certificate for status.atProvider."""
    if certificate is None:
        return None
    fields = {
        "arn": certificate.arn,
        "status": certificate.status,
        "validationTokenHost": certificate.token_host,
        # No one needs the redirects once it is issued.
        "validation": [_token(token) for token in certificate.tokens] if certificate.pending else None,
        "domains": sorted(certificate.domains),
        "failureReason": certificate.failure_reason,
        "notAfter": certificate.not_after,
        "requests": certificate.requests,
        "waitingSince": certificate.waiting_since,
        "replaces": shown(certificate.replaces),
        "renewal": renewals.shown(certificate.renewal),
    }
    return {key: value for key, value in fields.items() if value} or None


def _token(token: Token) -> dict[str, str]:
    fields = {"domain": token.domain, "redirectFrom": token.redirect_from, "redirectTo": token.redirect_to}
    return {key: value for key, value in fields.items() if value}
