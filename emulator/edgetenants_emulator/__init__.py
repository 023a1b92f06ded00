"""A stateful emulator of CloudFront's multi-tenant API, with a virtual clock, based on moto.

The names of this module are imported on first use, because processes that only use the pytest plugin or the
admin API's client never start a server, and importing moto takes a second.
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
