"""How many tenants of one claim are created at the same time.

Crossplane's circuit breaker (v2.1 and later) counts the events of a composite and its resources: it allows a
burst of 100 and then one per second, and an update counts twice. Three new tenants cause 40 to 55 events
until they serve, including the composite's own updates. Ten at once would open the breaker, and Crossplane
would not reconcile the claim for minutes. So further tenants follow when earlier ones serve, have failed, or
wait for DNS records or the certificate authority: that wait can last indefinitely, causes no events, and must
not delay the others.
"""

from collections.abc import Sequence
from typing import Final

from apis.conditions import CertificateReason, LiveReason
from function.answer.conditions import Looked

AT_ONCE: Final = 3
"""Tenants that are created at the same time. The breaker recovers from the events of three, and of the
composite, while CloudFront rolls them out."""


def admitted(tenants: Sequence[Looked]) -> list[Looked]:
    """The tenants to compose now: all that exist, and new ones in the order of the claim's domains."""
    under_way = sum(_under_way(each) for each in tenants)
    room = max(0, AT_ONCE - under_way)
    new = [each for each in tenants if each.seen is None][:room]
    return [each for each in tenants if each.seen is not None or each in new]


def _under_way(tenant: Looked) -> bool:
    found = tenant.finding
    over = found.satisfied or found.failed or found.reason is LiveReason.WAITING_FOR_DNS
    return tenant.seen is not None and not over and not _awaits_certificate(tenant)


def _awaits_certificate(tenant: Looked) -> bool:
    """Whether CloudFront has rolled it out, and its certificate is not issued yet. What the certificate waits
    for does not matter. It may be the domain's owner or a permission, and the provider may not know which:
    without VerifyDnsConfiguration, the state of the DNS records is unknown."""
    attaching = tenant.seen is not None and tenant.seen.certificate == CertificateReason.ATTACHING
    return tenant.finding.reason is LiveReason.ISSUING_CERTIFICATE and not attaching
