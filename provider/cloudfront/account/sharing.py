"""What the botocore clients of all provider configs have in common, held once.

botocore builds all of a client for itself. Of that, only the credentials, the event handlers and the
connections are of one provider config. The rest is the same for all clients of a service, and holds nothing
of a request or its credentials:

    the class           a method for each operation
    the service model   the shapes of requests and answers, built when they are first needed
    the endpoint rules  the ruleset, with the endpoints that it found
    the exceptions      a class for each error
    the TLS context     trust.py

botocore has no settings for that. A version of botocore that is built in another way works as it does without
this: a test notices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from botocore.errorfactory import ClientExceptionsFactory

from provider.cloudfront.account.bounded_answers import bound_answers
from provider.cloudfront.account.trust import share_context

__all__ = ["LateClient", "compact", "share"]

_exceptions: Final = ClientExceptionsFactory()
_first: Final[dict[tuple[str, str], Any]] = {}
"""By service and part: that of the first client. Each is filled by many threads: as those of one client,
which botocore says is thread-safe."""


def share(client: Any) -> None:
    """Have a new client of a service that the provider calls use the common parts, and read bounded answers.
    Call it before the first request."""
    service = client.meta.service_model.service_name
    client.__class__ = _first.setdefault((service, "class"), type(client))
    rules = getattr(client, "_ruleset_resolver", None)
    for owner, part in (
        (client.meta, "_service_model"),
        (rules, "_service_model"),
        (rules, "_provider"),
        (rules, "_param_definitions"),
    ):
        if hasattr(owner, part):
            setattr(owner, part, _first.setdefault((service, part), getattr(owner, part)))
    if hasattr(client, "_exceptions_factory"):
        client._exceptions_factory = _exceptions  # noqa: SLF001 - see above
    share_context(client)
    bound_answers(client)


def compact(client: Any) -> None:
    """Have a client keep the handlers of each event in little space. Call it when all are registered."""
    emitter: Any = getattr(client.meta.events, "_emitter", None)
    if isinstance(getattr(emitter, "_lookup_cache", None), dict):
        emitter._lookup_cache = _Handlers()  # noqa: SLF001 - see above


class _Handlers(dict[str, Any]):
    """The handlers by event. botocore puts them in a deque, which takes 760 bytes for one."""

    def __setitem__(self, event: str, found: Any) -> None:
        super().__setitem__(event, tuple(found))


class LateClient:
    """A client that is made when it is first used, and again when it is used after `close`. Thread-safe: two
    threads may make two, and one of them is soon dropped."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        client = self._made or self._make()
        self._made = client
        return getattr(client, name)

    def close(self) -> None:
        """Close the connections. Running calls finish."""
        client, self._made = self._made, None
        if client is not None:
            client.close()
