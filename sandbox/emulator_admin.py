"""The emulator's admin API: its clock, its faults, its call log, and hands behind the provider's back."""

from __future__ import annotations

from edgetenants_emulator.admin import client
from edgetenants_emulator.admin.client import Fault
from sandbox.errors import WorldError

__all__ = ["EmulatorAdmin", "Fault"]


class EmulatorAdmin(client.EmulatorAdmin):
    """A client of a sandbox's emulator; what it cannot do is a WorldError."""

    def _failed(self, message: str) -> Exception:
        return WorldError(message)
