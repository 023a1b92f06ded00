"""ACM certificates as CloudFront sees them: issued, in us-east-1, and the names that they cover.

The certificates themselves are moto's: `acm` is the real thing for whoever asks ACM's API.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moto.acm.exceptions import CertificateNotFound
from moto.acm.models import acm_backends

from edgetenants_emulator import identifiers

__all__ = ["covers", "issue", "issued_names"]

REGION = "us-east-1"


def covers(names: Iterable[str], domain: str) -> bool:
    """Whether a certificate's names cover a domain; a wildcard stands for exactly one label.

    >>> covers(["*.example.com"], "a.example.com"), covers(["*.example.com"], "a.b.example.com")
    (True, False)
    """
    wildcard = "*." + domain.partition(".")[2]
    return any(name.lower() in (domain, wildcard) for name in names)


def issued_names(account: str, arn: str | None) -> tuple[str, ...] | None:
    """The names on an issued certificate in us-east-1; None when the account has no such one."""
    if not arn:
        return None
    try:
        certificate = acm_backends[account][REGION].get_certificate(arn)
    except CertificateNotFound:
        return None
    if certificate.status != "ISSUED":
        return None
    return tuple(dict.fromkeys([certificate.common_name, *certificate.sans]))


def issue(account: str, names: Sequence[str]) -> str:
    """A new certificate for these names, issued at once; its ARN."""
    backend = acm_backends[account][REGION]
    arn = backend.request_certificate(
        domain_name=names[0],
        idempotency_token=identifiers.request_id(),
        subject_alt_names=list(names[1:]),
        tags=[],
    )
    backend.get_certificate(arn).status = "ISSUED"
    return arn
