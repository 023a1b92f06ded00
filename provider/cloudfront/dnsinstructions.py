"""The DNS records that lead a tenant's domains to CloudFront, ready to paste (pure).

Below the top of a zone a CNAME to the routing endpoint; at the top, where DNS allows none, the zone
provider's own alias (CloudFront Developer Guide, "Request certificates for your CloudFront distribution
tenant" and "Multi-tenant distribution: how it works"). Where a zone begins is known to DNS alone; a name of
two labels is taken for the top of one.
"""

from __future__ import annotations

from collections.abc import Iterable

from apis.dns import DnsInstruction, RecordPurpose, RecordState, RecordType

__all__ = ["routing"]


def routing(domains: Iterable[str], endpoint: str) -> tuple[DnsInstruction, ...]:
    """One routing record for each domain, sorted by name."""
    return tuple(
        DnsInstruction(
            type=_type(domain),
            name=domain,
            value=endpoint,
            purpose=RecordPurpose.ROUTING,
            state=RecordState.UNKNOWN,
        )
        for domain in sorted(domains)
    )


def _type(domain: str) -> RecordType:
    return RecordType.ALIAS if domain.count(".") == 1 else RecordType.CNAME
