"""CloudFront's multi-tenant API on one machine: stateful, on a virtual clock, on top of moto.

What is named here is imported when it is first used: the pytest plugin and the admin API's client are loaded
by processes that never start a server, and moto takes a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgetenants_emulator.admin.client import AdminError, EmulatorAdmin
    from edgetenants_emulator.server import EmulatorServer
    from edgetenants_emulator.settings import Settings

__all__ = ["AdminError", "EmulatorAdmin", "EmulatorServer", "Settings"]

_HOMES = {
    "AdminError": "admin.client",
    "EmulatorAdmin": "admin.client",
    "EmulatorServer": "server",
    "Settings": "settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
