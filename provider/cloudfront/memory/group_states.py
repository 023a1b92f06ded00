"""The states of connection groups that many tenants share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.memory import group_look
from provider.cloudfront.memory.answers import Answers
from provider.cloudfront.memory.group_look import UNKNOWN, GroupLook

__all__ = ["GroupStates"]

_GROUP_SECONDS: Final = 60.0
_DEFAULT_GROUP_SECONDS: Final = 3600.0
"""How long it is known which group is the account's default one; it is stored under the name ""."""
_ROLL_OUT_SECONDS: Final = 5.0


class GroupStates:
    """The connection groups of an account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._answers = Answers(clock)
        self._failures = Answers(clock)

    def get(self, group: str, read: Callable[[str], GroupLook], *, config: str) -> GroupLook:
        """Return a connection group. Read it once a minute for all tenants, and every five seconds while it
        is being deployed. A failure counts for a minute too, but only for the provider config whose
        credentials were used: others may be permitted to read the group."""
        known: GroupLook | None = self._answers.fresh(group) or self._failures.fresh((config, group))
        if known is not None:
            return known
        try:
            return self._answers.get(group, lambda: read(group), lambda look: _lasts(group, look))
        except AwsError as error:
            look = group_look.failed(self._answers.last(group) or UNKNOWN, error)
            if error.code != PAUSED:
                self._failures.note((config, group), look, _GROUP_SECONDS)
            return look

    def note(self, group: str, look: GroupLook) -> None:
        """Note the state of a connection group, which may come from another call."""
        self._answers.note(group, look, _lasts(group, look))

    def changed(self, group: str) -> None:
        """A list shows a change of a connection group: read it again for the next tenant."""
        self._answers.forget(group)


def _lasts(group: str, look: GroupLook) -> float:
    if not group and look.id:
        return _DEFAULT_GROUP_SECONDS
    return _ROLL_OUT_SECONDS if look.rolling_out else _GROUP_SECONDS
