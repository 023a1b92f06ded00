"""Whether a certificate may be requested for a tenant now, after the one before came to nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Memory
from provider.cloudfront.state import certificates
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.look_requested import is_requested

__all__ = ["MOST_IN_AN_HOUR", "may_request", "too_often_until"]

_HOUR: Final = 3600.0
MOST_IN_AN_HOUR: Final = 3
"""Requests for a certificate, for one resource after its creation."""


def may_request(mr: Managed, certificate: Certificate | None, memory: Memory) -> bool:
    """Whether enough time has passed since the last request that came to nothing, or somebody says that its
    cause is gone."""
    if certificate and certificate.issued and memory.requested_lately(mr.uid, mr.generation):
        # The one before, as nothing is to be seen of the next.
        return False
    requests = certificate.requests if certificate else 0
    what = (certificate.arn, certificate.status, requests) if certificate else None
    waited = memory.waited(mr.uid, what, mr.generation, certificates.delay(requests))
    return (waited or is_requested(mr)) and too_often_until(mr, memory) is None


def too_often_until(mr: Managed, memory: Memory) -> datetime | None:
    """Before that time none is asked for, whatever anybody says, new domains included: ACM keeps what failed,
    and counts all for the whole account. None where one may be asked for."""
    return memory.too_often_until(mr.uid, MOST_IN_AN_HOUR, _HOUR)
