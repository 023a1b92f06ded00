"""What becomes of a certificate that AWS has not renewed in time (pure).

The names of a certificate never change, and AWS renews it only as a whole. A name that the tenant no longer
has, and whose owner leads it elsewhere, ends the renewal for all others. A certificate for the present
domains does not have that name. But AWS issues it only if each present domain can be validated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from apis.dns import RecordState
from provider.cloudfront.state.certificates import Certificate, Request, standing
from provider.cloudfront.state.renewals import Renewal

__all__ = ["Outlook", "of"]

_LED_ELSEWHERE: Final = (RecordState.MISSING, RecordState.WRONG)


@dataclass(frozen=True)
class Outlook:
    """The valid, attached certificate that AWS cannot renew, or that another one is to replace."""

    certificate: Certificate
    leftover: tuple[str, ...] = ()
    """Its names that the tenant no longer has."""
    blocking: tuple[str, ...] = ()
    """The tenant's domains for which AWS would issue no certificate."""
    replacement: Certificate | None = None
    """The certificate that was requested in its place."""

    @property
    def due(self) -> bool:
        """Only another certificate for the present domains helps. ACM confirmed that, not status alone."""
        known = self.replacement is not None or self.certificate.fresh
        stuck = self.certificate.renewal is not None
        return known and stuck and bool(self.leftover) and not self.blocking


def of(
    certificate: Certificate | None,
    attached: str | None,
    request: Request | None,
    domains: Collection[str],
    dns: Mapping[str, RecordState],
) -> Outlook | None:
    """None if there is nothing to tell or to do.

    Args:
        certificate: the tenant's certificate, if known.
        attached: the ARN of the attached one.
        request: what the spec requests; None unless it requests a managed certificate.
        domains: those that the tenant should have.
        dns: where DNS led them at the last check.
    """
    valid = standing(certificate, attached)
    if request is None or valid is None or (valid is certificate and valid.renewal is None):
        return None
    return Outlook(
        valid,
        tuple(sorted(valid.domains - frozenset(domains))),
        tuple(sorted(each for each in domains if _blocks(each, valid, dns.get(each), request))),
        None if valid is certificate else certificate,
    )


def _blocks(domain: str, certificate: Certificate, state: RecordState | None, request: Request) -> bool:
    renewal = certificate.renewal or Renewal("")
    if domain.startswith("*."):
        # AWS validates managed certificates over HTTP, which cannot prove a wildcard.
        return True
    if domain in renewal.waiting:
        # ACM looks rarely. A reason is about more than DNS.
        return state is not RecordState.PRESENT or renewal.reason is not None
    validated = bool(renewal.waiting) and domain in certificate.domains
    return state in _LED_ELSEWHERE and not validated and not request.self_hosted
