"""DNS servers that take dynamic updates (RFC 2136) signed with TSIG (RFC 8945), such as BIND and Knot DNS.

exchange   one message out, one answer in, and what a failure means (the only sockets)
messages   updates with their prerequisites, and what answers say (pure)
serving    whether the name servers of a zone have a change
store      the record store
"""

from provider.dns.rfc2136.exchange import Key, Server
from provider.dns.rfc2136.store import Rfc2136Store

__all__ = ["Key", "Rfc2136Store", "Server"]
