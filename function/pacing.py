"""How many tenants of one claim are created at the same time.

Crossplane's circuit breaker (v2.1 and later) counts the events of a composite and its resources: it allows a
burst of 100 and then one per second, and an update counts twice. Three new tenants cause 40 to 55 events
until they serve, including the composite's own updates. Ten at once would open the breaker, and Crossplane
would not reconcile the claim for minutes. So further tenants follow when earlier ones serve, have failed, or
wait for someone to create DNS records: that wait can last indefinitely, causes no events, and must not delay
the others.
"""

from collections.abc import Sequence
from typing import Final

from apis.conditions import LiveReason
from apis.dns import RecordState
from function.conditions import Looked
from function.live import Reason
from function.observed import ObservedTenant

AT_ONCE: Final = 3
"""Tenants that are created at the same time. The breaker recovers from the events of three, and of the
composite, while CloudFront rolls them out."""
_ABSENT: Final = frozenset({RecordState.MISSING, RecordState.WRONG})


def admitted(tenants: Sequence[Looked]) -> list[Looked]:
    """The tenants to compose now: all that exist, and new ones in the order of the claim's domains."""
    under_way = sum(_under_way(each) for each in tenants)
    room = max(0, AT_ONCE - under_way)
    new = [each for each in tenants if each.seen is None][:room]
    return [each for each in tenants if each.seen is not None or each in new]


def _under_way(tenant: Looked) -> bool:
    found = tenant.finding
    over = found.satisfied or found.failed or found.reason is LiveReason.WAITING_FOR_DNS
    return tenant.seen is not None and not over and not _waits_for_records(tenant.seen, found.reason)


def _waits_for_records(seen: ObservedTenant, reason: Reason) -> bool:
    """Whether its certificate waits for DNS records that do not exist."""
    states = [each.get("state") for each in seen.instructions]
    return reason is LiveReason.ISSUING_CERTIFICATE and not _ABSENT.isdisjoint(states)
