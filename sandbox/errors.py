"""The errors of a sandbox.

WorldError              the base class; its message is complete and meant for the user
├── SupervisorGone      nothing responds at the sandbox's control socket
├── ProcessDied         a supervised process ended unexpectedly
└── Refused             a safety rule forbids the request
"""

from __future__ import annotations

__all__ = ["ProcessDied", "Refused", "SupervisorGone", "WorldError"]


class WorldError(Exception):
    """A sandbox operation failed. The message says why, and what to do next."""


class SupervisorGone(WorldError):  # noqa: N818 - says what happened
    """The supervisor does not respond: the sandbox is not running, or its supervisor was killed."""


class ProcessDied(WorldError):  # noqa: N818 - says what happened
    """A supervised process ended unexpectedly. The message contains its last log lines."""


class Refused(WorldError):  # noqa: N818 - says what happened
    """A safety rule forbids the request. The message names the rule and how to proceed."""
