"""What a plan consists of, and doing it: a thin loop.

Each action is one call. What a call changed is in `Effects` even when a later one fails, and the next plan
starts from what is there, so nothing has to be undone. Here are the actions that every kind has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.disabling import Said, first_taken
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.diff import Diff
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import Observed

__all__ = ["LOOK_AGAIN", "Action", "ActionFailed", "Effects", "Tag", "Untag", "Wait", "run", "with_tags"]

LOOK_AGAIN: Final = 5.0
"""Seconds between two looks while CloudFront rolls something out; it takes seconds to minutes."""

Seen = TypeVar("Seen", bound=Observed)
Way = TypeVar("Way")


@dataclass
class Effects(Generic[Seen]):
    """What was done so far."""

    seen: Seen | None
    """The external resource as the last answer has it; None before its creation and after its deletion."""
    story: list[str] = field(default_factory=list)
    """What was done, in words, in order."""
    requested: bool = False
    """A certificate was asked for."""
    said: Said | None = None
    """What AWS was told when it took the disabling."""

    @property
    def there(self) -> Seen:
        """What is there after a plan that does not delete."""
        if self.seen is None:
            raise AssertionError("the plan left no external resource")
        return self.seen

    @property
    def etag(self) -> str:
        """The version that a write names."""
        return self.there.etag

    @property
    def message(self) -> str:
        """The story on one line."""
        return ", ".join(self.story)

    def answered(self, now: Seen) -> None:
        """A write was answered with what is there now; its tags are as they were, as no answer has them."""
        self.seen = replace(now, tags=self.there.tags)

    def switched(self, ways: Sequence[tuple[Said, Way]], send: Callable[[Way], Seen]) -> None:
        """Send the first of the ways that AWS takes to say that it is enabled or disabled."""
        forms = dict(ways)
        self.said, now = first_taken(tuple(forms), lambda said: send(forms[said]))
        self.answered(now)


class Action(Protocol):
    """What can be done in one call; its string tells of it once it is done."""

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """Make the call, and note in `effects` what it changed.

        Raises:
            AwsError: it failed.
        """
        ...


class ActionFailed(Exception, Generic[Seen]):  # noqa: N818 - says what happened
    """An action's call failed."""

    def __init__(self, action: Action, cause: AwsError, effects: Effects[Seen]) -> None:
        super().__init__(f"{type(action).__name__}: {cause}")
        self.action = action
        self.cause = cause
        self.effects = effects
        """What was done before."""


def run(actions: tuple[Action, ...], seen: Seen | None, cloudfront: CloudFront) -> Effects[Seen]:
    """Do the actions in order. Each write uses the ETag of the answer before it.

    Raises:
        ActionFailed: at the first call that fails; those after it were not made.
    """
    effects = Effects(seen)
    for action in actions:
        try:
            action.do(effects, cloudfront)
        except AwsError as error:
            raise ActionFailed(action, error, effects) from error
        effects.story.append(str(action))
    return effects


@dataclass(frozen=True)
class Tag:
    """TagResource."""

    arn: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"set tags {', '.join(sorted(self.tags))}"

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """See Action."""
        cloudfront.tag(self.arn, self.tags)
        there = effects.there
        effects.seen = replace(there, tags={**(there.tags or {}), **self.tags})


@dataclass(frozen=True)
class Untag:
    """UntagResource."""

    arn: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"removed tags {', '.join(self.keys)}"

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """See Action."""
        cloudfront.untag(self.arn, self.keys)
        there = effects.there
        left = {key: value for key, value in (there.tags or {}).items() if key not in self.keys}
        effects.seen = replace(there, tags=left)


@dataclass(frozen=True)
class Wait:
    """Nothing can be done for the moment; look again."""

    reason: str

    def __str__(self) -> str:
        return self.reason

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """No call is made."""


def with_tags(changing: tuple[Action, ...], diff: Diff[Any], seen: Observed) -> tuple[Action, ...]:
    """A plan with what has to be done for the tags, after all else. What is taken over is marked before it is
    changed, so that nobody else takes it meanwhile."""
    wanted, there = diff.target.tags, seen.tags
    if wanted is None or there is None:
        return changing
    changed = {key: value for key, value in wanted.items() if there.get(key) != value}
    gone = tuple(sorted(there.keys() - wanted.keys()))
    tagging: list[Action] = []
    if changed:
        tagging.append(Tag(seen.arn, changed))
    if gone:
        tagging.append(Untag(seen.arn, gone))
    return (*tagging, *changing) if OWNER_TAG in changed else (*changing, *tagging)
