"""botocore's own event handlers, as far as they concern the services that the provider calls.

botocore registers handlers for all of AWS with each session, and copies them for each client. That is most of
a client's memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import botocore.session
from botocore import handlers

from provider.cloudfront.account.models import SERVICES

__all__ = ["new_session"]

_OF_CREDENTIALS: Final = frozenset({"sso", "sso-oidc", "signin"})
"""Services from which botocore itself may get credentials."""
_CONCERN: Final = SERVICES | _OF_CREDENTIALS | {"*"}


def new_session() -> botocore.session.Session:
    """Return a session for the services that the provider calls."""
    session = botocore.session.Session(include_builtin_handlers=False)
    events = session.get_component("event_emitter")
    register = {
        handlers.REGISTER_FIRST: events.register_first,
        handlers.REGISTER_LAST: events.register_last,
        None: events.register,
    }
    for event, handler, order in _handlers():
        register[order](event, handler)
    return session


def _handlers() -> Iterator[tuple[str, Any, object]]:
    for event, handler, *order in handlers.BUILTIN_HANDLERS:
        kind, _, rest = event.partition(".")
        service = rest.partition(".")[0]
        # Those of kind docs write documentation.
        if kind != "docs" and (not service or service in _CONCERN):
            yield event, handler, order[0] if order else None
