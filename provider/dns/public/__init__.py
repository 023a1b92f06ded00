"""What public DNS answers: at recursive resolvers, or at the name servers of the zone.

    answers       values                        caa            whether CAA forbids Amazon's CA
    exchange      one question to one server    verdicts       a wanted record against the answers (pure)
    reading       a message ──▶ an answer (pure)
    recursive     asks resolvers                authoritative  asks the zone's own name servers

No lookup raises: an answer that failed says why. Nothing here writes.
"""

from provider.dns.public.answers import Answer, Lookup, Outcome, Server
from provider.dns.public.authoritative import Authoritative
from provider.dns.public.exchange import Network, system_resolvers
from provider.dns.public.recursive import Recursive, SystemResolvers

__all__ = [
    "Answer",
    "Authoritative",
    "Lookup",
    "Network",
    "Outcome",
    "Recursive",
    "Server",
    "SystemResolvers",
    "system_resolvers",
]
