"""Whether the provider may request a certificate for a tenant now, after the last request failed."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from edgetenants_runtime.managed import Managed
from provider.cloudfront.memory.certificate_requests import CertificateRequests
from provider.cloudfront.state import certificates
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.look_requested import is_requested

__all__ = ["MOST_IN_AN_HOUR", "may_request", "too_often_until"]

_HOUR: Final = 3600.0
MOST_IN_AN_HOUR: Final = 3
"""Maximum number of certificate requests per hour for one resource, after its creation."""


def may_request(mr: Managed, certificate: Certificate | None, requests: CertificateRequests) -> bool:
    """Whether enough time has passed since the last failed request, or a user requested a reconcile because
    the cause is gone."""
    if certificate and certificate.issued and requests.requested_lately(mr.uid, mr.generation):
        # This is the previous certificate; the next one is not visible yet.
        return False
    made = certificate.requests if certificate else 0
    what = (certificate.arn, certificate.status, made) if certificate else None
    pause = certificates.pause(certificate) if certificate else 0.0
    before = requests.seconds_waited(certificate) if certificate else 0.0
    waited = requests.waited(mr.uid, what, mr.generation, pause, before)
    return (waited or is_requested(mr)) and too_often_until(mr, requests) is None


def too_often_until(mr: Managed, requests: CertificateRequests) -> datetime | None:
    """Return the time before which the provider requests no certificate, not even for new domains or at a
    user's request: ACM keeps failed certificates, and counts all of the account. None if it may request
    one."""
    return requests.too_often_until(mr.uid, MOST_IN_AN_HOUR, _HOUR)
