"""The certificate of a tenant: what is asked, what AWS has, and what follows from both (pure).

    asked for ──▶ pending-validation ──▶ issued ──▶ attached ──▶ domains active
        ▲               │                   │
        └── back-off ◀──┴── timed out, failed, revoked, expired, inactive, or nothing to be seen of it

CloudFront asks ACM for a managed certificate and tells when it is issued; attaching it is an update of the
tenant's customizations. One request may be pending for a tenant, none can be cancelled, and none is repeated
by CloudFront (Developer Guide, "Request certificates for your CloudFront distribution tenant").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from edgetenants_runtime.clock import parse_rfc3339

__all__ = [
    "Certificate",
    "Request",
    "Token",
    "beside",
    "covers",
    "days_left",
    "delay",
    "ends_soon",
    "known",
    "news",
    "requested",
    "shown",
    "uncovered",
    "unfit",
    "wanting",
]

PENDING: Final = "pending-validation"
ISSUED: Final = "issued"
EXPIRED: Final = "expired"
_LOST: Final = frozenset({"validation-timed-out", "failed", "revoked", EXPIRED, "inactive"})
"""AWS's words for what will serve nothing any more."""
STATES: Final = _LOST | {PENDING, ISSUED}
"""All of AWS's words (CloudFront's ManagedCertificateStatus, which are ACM's in lower case)."""
SOON_DAYS: Final = 60
"""ACM renews a certificate 60 days before its end (ACM User Guide, "Managed certificate renewal")."""
_FIRST_DELAY: Final = 600.0
_LONGEST_DELAY: Final = 24 * 3600.0


@dataclass(frozen=True)
class Request:
    """What is asked of CloudFront: ManagedCertificateRequest."""

    token_host: str
    """cloudfront or self-hosted."""
    primary_domain: str | None = None
    logging: str | None = None
    """enabled or disabled."""

    @property
    def self_hosted(self) -> bool:
        """The owner's own web server answers for the validation."""
        return self.token_host == "self-hosted"  # noqa: S105 - an enum's word


@dataclass(frozen=True)
class Token:
    """One domain's part of the validation; URLs without scheme."""

    domain: str
    redirect_from: str | None = None
    redirect_to: str | None = None


@dataclass(frozen=True)
class Certificate:
    """A managed certificate, or a custom one that is attached; without ARN one that was asked for and of
    which nothing is to be seen."""

    arn: str | None = None
    status: str = ""
    """CloudFront's word; "" where nothing is to be seen."""
    token_host: str | None = None
    tokens: tuple[Token, ...] = ()
    domains: frozenset[str] = frozenset()
    """The names on it; empty where they are not known."""
    failure_reason: str | None = None
    """ACM's word, where it may be read."""
    not_after: str | None = None
    """RFC 3339."""
    requests: int = 0
    """How many were asked for since the last one was issued."""
    replaces: Certificate | None = None
    """The lost one (ARN, status and reason alone) that is attached until this one is."""

    @property
    def issued(self) -> bool:
        """It can be attached."""
        return self.status == ISSUED

    @property
    def pending(self) -> bool:
        """A request is under way: no other may be made."""
        return self.status == PENDING

    @property
    def lost(self) -> bool:
        """It will serve nothing any more."""
        return self.status in _LOST

    @property
    def expired(self) -> bool:
        """It was good once."""
        return self.status == EXPIRED


def covers(names: Iterable[str], domain: str) -> bool:
    """Whether a certificate's names cover a domain; a wildcard stands for exactly one label.

    >>> covers(["*.example.com"], "a.example.com"), covers(["*.example.com"], "a.b.example.com")
    (True, False)
    """
    parent = domain.partition(".")[2]
    return any(name.lower() in (domain, f"*.{parent}") for name in names)


def ends_soon(certificate: Certificate | None, now: datetime) -> bool:
    """Whether its end is near, past, or no time at all."""
    left = days_left(certificate.not_after, now) if certificate and certificate.not_after else None
    if left is None:
        return certificate is not None and certificate.not_after is not None
    return left <= SOON_DAYS


def days_left(not_after: str, now: datetime) -> float | None:
    """Until a time in RFC 3339, negative once it has passed; None where it is no such time."""
    try:
        return (parse_rfc3339(not_after) - now).total_seconds() / 86400
    except (ValueError, OverflowError):
        return None


def uncovered(names: Iterable[str], domains: Iterable[str]) -> tuple[str, ...]:
    """The domains that none of the names covers, sorted."""
    names = tuple(names)
    return tuple(sorted(domain for domain in domains if not covers(names, domain)))


def delay(requests: int) -> float:
    """Seconds from the end of a request without a certificate to the next: none before the first, then ten
    minutes, doubled each time up to a day."""
    return min(_FIRST_DELAY * 2.0 ** min(requests - 1, 10), _LONGEST_DELAY) if requests else 0.0


def wanting(certificate: Certificate | None, inactive: Iterable[str]) -> bool:
    """A certificate has to be asked for: there is none under way or good, or the good one lacks a domain that
    is not served."""
    if certificate is None or certificate.lost or not certificate.status:
        return True
    return certificate.issued and bool(certificate.domains) and bool(uncovered(certificate.domains, inactive))


def unfit(certificate: Certificate | None, attached: str | None, served: Iterable[str]) -> bool:
    """An issued one that is not attached, and would take the certificate from a domain that is served: it was
    asked for when the tenant had other domains."""
    if certificate is None or not certificate.issued or certificate.arn == attached:
        return False
    return bool(certificate.domains) and bool(uncovered(certificate.domains, served))


def news(details: Certificate | None, before: Certificate | None, *, serves: bool) -> Certificate:
    """The certificate by CloudFront's answer, with what was known before.

    Args:
        details: the answer; None where CloudFront knows of no request.
        before: what was known.
        serves: the certificate known before is attached, and every domain is active.
    """
    before = before or Certificate()
    if details is None:
        # One that does its work is not replaced because CloudFront forgot how it came.
        if serves and before.issued:
            return before
        return Certificate(requests=before.requests, replaces=_replaced(None, before))
    # One that is there was asked for, even if the process died before that was written down.
    was_good = before.issued and details.arn == before.arn
    requests = 0 if details.issued or was_good else max(before.requests, 1)
    same = (details.arn, details.status) == (before.arn, before.status)
    return replace(
        details,
        requests=requests,
        domains=details.domains or (before.domains if details.arn == before.arn else frozenset()),
        failure_reason=before.failure_reason if same else None,
        not_after=before.not_after if details.arn == before.arn else None,
        replaces=_replaced(details.arn, before),
    )


def beside(certificate: Certificate | None, attached: str | None) -> Certificate | None:
    """The certificate, without the one that it replaces where that is attached no more."""
    former = certificate.replaces if certificate else None
    if certificate is None or former is None or former.arn == attached:
        return certificate
    return replace(certificate, replaces=None)


def _replaced(arn: str | None, before: Certificate) -> Certificate | None:
    if before.lost and before.arn and before.arn != arn:
        return Certificate(before.arn, before.status, failure_reason=before.failure_reason)
    return before.replaces


def requested(before: Certificate | None, request: Request) -> Certificate:
    """What is known right after a request was sent."""
    before = before or Certificate()
    return Certificate(
        requests=before.requests + 1, token_host=request.token_host, replaces=_replaced(None, before)
    )


def known(at_provider: Mapping[str, Any]) -> Certificate | None:
    """What was last written down in status.atProvider."""
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
        replaces=_read(replaces) if replaces else None,
    )


def shown(certificate: Certificate | None) -> dict[str, Any] | None:
    """The same as it is written down."""
    if certificate is None:
        return None
    fields = {
        "arn": certificate.arn,
        "status": certificate.status,
        "validationTokenHost": certificate.token_host,
        # Once it is issued nobody needs to do anything with them.
        "validation": [_token(token) for token in certificate.tokens] if certificate.pending else None,
        "domains": sorted(certificate.domains),
        "failureReason": certificate.failure_reason,
        "notAfter": certificate.not_after,
        "requests": certificate.requests,
        "replaces": shown(certificate.replaces),
    }
    return {key: value for key, value in fields.items() if value} or None


def _token(token: Token) -> dict[str, str]:
    fields = {"domain": token.domain, "redirectFrom": token.redirect_from, "redirectTo": token.redirect_to}
    return {key: value for key, value in fields.items() if value}
