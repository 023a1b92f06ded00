"""CloudFront's multi-tenant API on one machine: stateful, on a virtual clock, on top of moto."""

from __future__ import annotations

from edgetenants_emulator.server import EmulatorServer
from edgetenants_emulator.settings import Settings

__all__ = ["EmulatorServer", "Settings"]
