"""Who has a domain, and which domains a tenant has.

The provider keeps this for several reconciles, because one may be too short to check all, but not forever,
because owners release domains. Only messages use it: CloudFront decides at each try whether a domain is free.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeVar

from edgetenants_runtime.clock import Clock
from provider.cloudfront.memory.answers import Answers

__all__ = ["DomainHolders"]

_HELD_SECONDS: Final = 300.0
"""How long the provider believes that a domain is taken: owners release domains."""
_FREE_SECONDS: Final = 1800.0
"""How long it believes that no tenant of the account has a domain: longer, because it may have to check
thousands at a few per second."""

T = TypeVar("T")


class DomainHolders:
    """The holders of an account's domains. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._answers = Answers(clock)

    def get(self, what: Hashable, read: Callable[[], T], *, free: Callable[[T], bool]) -> T:
        """Return the holder, or the domains of a tenant, from the last result while it is valid.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._answers.get(what, read, lambda found: _FREE_SECONDS if free(found) else _HELD_SECONDS)

    def note(self, what: Hashable, found: object, *, free: bool) -> None:
        """Note the result of a fresh check."""
        self._answers.note(what, found, _FREE_SECONDS if free else _HELD_SECONDS)

    def last(self, what: Hashable) -> Any | None:
        """Return the last result, however old; None if there is none, or if no one has the domain."""
        return self._answers.last(what)

    def is_old(self, what: Hashable) -> bool:
        """Whether the last result must be checked again."""
        return self._answers.is_old(what)

    def changed(self, domains: Iterable[str]) -> None:
        """Forget who has these domains: a tenant got or lost them."""
        for domain in domains:
            self.forget(("domain", domain))

    def forget(self, what: Hashable) -> None:
        """Forget a result that is no longer true."""
        self._answers.forget(what)
