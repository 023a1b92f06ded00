"""A client for the emulator's admin API: clock, faults, call log, and changes made outside the provider."""

from __future__ import annotations

from edgetenants_emulator.admin import client
from edgetenants_emulator.admin.client import Fault
from sandbox.errors import WorldError

__all__ = ["EmulatorAdmin", "Fault"]


class EmulatorAdmin(client.EmulatorAdmin):
    """A client for a sandbox's emulator. It raises WorldError if a request fails."""

    def _failed(self, message: str) -> Exception:
        return WorldError(message)
