"""How many tenants of one claim are made at once.

Core counts what it sees of a composite and its resources: it takes a burst of 100, one a second after that,
and an update counts twice (Crossplane's circuit breaker, v2.1 and later). Three new tenants cost 40 to 55
until they serve, with the composite's own updates; ten at once would open the breaker, and nobody would look
at the claim for minutes. So new tenants follow when those before them serve, have failed, or wait for
somebody to make DNS records: that may take for ever, changes nothing meanwhile, and holds up no others.
"""

from collections.abc import Sequence
from typing import Final

from apis.conditions import LiveReason
from apis.dns import RecordState
from function.conditions import Looked
from function.live import Reason
from function.observed import ObservedTenant

AT_ONCE: Final = 3
"""Tenants that are being made at the same time. Three, with the composite's own updates, cost what comes back
while CloudFront rolls them out."""
_ABSENT: Final = frozenset({RecordState.MISSING, RecordState.WRONG})


def admitted(tenants: Sequence[Looked]) -> list[Looked]:
    """Those that are composed now: all that exist, and new ones in the order of the claim's domains."""
    under_way = sum(_under_way(each) for each in tenants)
    room = max(0, AT_ONCE - under_way)
    new = [each for each in tenants if each.seen is None][:room]
    return [each for each in tenants if each.seen is not None or each in new]


def _under_way(tenant: Looked) -> bool:
    found = tenant.finding
    over = found.satisfied or found.failed or found.reason is LiveReason.WAITING_FOR_DNS
    return tenant.seen is not None and not over and not _waits_for_records(tenant.seen, found.reason)


def _waits_for_records(seen: ObservedTenant, reason: Reason) -> bool:
    """Its certificate is issued once somebody has made records that are not there."""
    states = [each.get("state") for each in seen.instructions]
    return reason is LiveReason.ISSUING_CERTIFICATE and not _ABSENT.isdisjoint(states)
