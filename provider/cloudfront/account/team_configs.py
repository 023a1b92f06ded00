"""What a namespaced ProviderConfig, which a team writes, may not set. The command line obeys it, too: a
platform engineer who runs it on a team's ProviderConfig has an identity of their own."""

from __future__ import annotations

from typing import Final

from edgetenants_runtime.config.restrictions import Restrictions

__all__ = ["RESTRICTIONS"]

RESTRICTIONS: Final = Restrictions(
    # They would redirect requests, or use the identity of the process.
    fields=("endpoint", "webIdentity"),
    # The chain would start with the identity of the process.
    begun_by_credentials=("assumeRoleChain",),
)
