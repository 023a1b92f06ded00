"""What a sandbox tells the person who uses it when something cannot be done.

WorldError              anything below; its message is for people and complete
├── SupervisorGone      nobody answers at the sandbox's control socket
├── ProcessDied         a supervised process ended by itself
└── Refused             the request is understood and will not be carried out
"""

from __future__ import annotations

__all__ = ["ProcessDied", "Refused", "SupervisorGone", "WorldError"]


class WorldError(Exception):
    """Something about a sandbox that its user has to know. The message says what, and what to do next."""


class SupervisorGone(WorldError):  # noqa: N818 - says what happened
    """No supervisor answers: the sandbox is down, or its supervisor was killed."""


class ProcessDied(WorldError):  # noqa: N818 - says what happened
    """A supervised process ended though nobody asked it to. The message has its last log lines."""


class Refused(WorldError):  # noqa: N818 - says what happened
    """A safety rule forbids the request. The message names the rule and what would allow it."""
