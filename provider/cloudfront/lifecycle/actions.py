"""Actions, of which a plan consists, and the loop that runs them.

Each action makes one call. `Effects` has what a call changed even if a later one fails. The next plan starts
from the observed state, so nothing has to be undone. The actions that all kinds share are here too.
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

__all__ = ["LOOK_AGAIN", "ROLL_OUT_SECONDS", "Action", "Effects", "Tag", "Untag", "Wait", "run", "with_tags"]

LOOK_AGAIN: Final = 5.0
"""Poll interval in seconds while CloudFront rolls out a change; that takes seconds to minutes."""
ROLL_OUT_SECONDS: Final = 300.0
"""After this time, the pauses grow: CloudFront may never report that it has rolled out a change."""

Seen = TypeVar("Seen", bound=Observed)
Way = TypeVar("Way")


@dataclass
class Effects(Generic[Seen]):
    """The effects of the actions so far."""

    seen: Seen | None
    """The external resource as of the last answer; None before its creation and after its deletion."""
    story: list[str] = field(default_factory=list)
    """What was done, for the event, in order."""
    requested: bool = False
    """A certificate was requested."""
    said: Said | None = None
    """The form of the disabling request that AWS accepted."""
    error: AwsError | None = None
    """The error of the call that failed; the calls after it were not made."""
    failed: Action | None = None
    """The action whose call failed."""

    @property
    def there(self) -> Seen:
        """The external resource after a plan that does not delete it."""
        if self.seen is None:
            raise AssertionError("the plan left no external resource")
        return self.seen

    @property
    def etag(self) -> str:
        """The ETag that the next write sends."""
        return self.there.etag

    @property
    def message(self) -> str:
        """The story on one line."""
        return ", ".join(self.story)

    def answered(self, now: Seen) -> None:
        """Note the answer to a write. It keeps the known tags, as no answer contains them."""
        self.seen = replace(now, tags=self.there.tags)

    def switched(self, ways: Sequence[tuple[Said, Way]], send: Callable[[Way], Seen]) -> None:
        """Enable or disable the external resource with the first form of the request that AWS accepts."""
        forms = dict(ways)
        self.said, now = first_taken(tuple(forms), lambda said: send(forms[said]))
        self.answered(now)


class Action(Protocol):
    """One call to CloudFront. Its string describes the effect, for the event."""

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """Make the call and note its changes in `effects`.

        Raises:
            AwsError: the call failed.
        """
        ...


def run(
    actions: tuple[Action, ...],
    seen: Seen | None,
    cloudfront: CloudFront,
    goes_on: Callable[[], bool] = lambda: True,
) -> Effects[Seen]:
    """Run the actions in order, up to the first whose call fails: see `Effects.error`. Each write sends the
    ETag of the previous answer. Before each but the first, `goes_on` says whether it is still to be made."""
    effects = Effects(seen)
    for number, action in enumerate(actions):
        if number and not goes_on():
            break
        try:
            action.do(effects, cloudfront)
        except AwsError as error:
            effects.error, effects.failed = error, action
            break
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
    """Nothing can be done yet; poll again."""

    reason: str

    def __str__(self) -> str:
        return self.reason

    def do(self, effects: Effects[Any], cloudfront: CloudFront) -> None:
        """Make no call."""


def with_tags(changing: tuple[Action, ...], diff: Diff[Any], seen: Observed) -> tuple[Action, ...]:
    """A plan with the changes of tags added after all else. If it writes the owner tag, tags come first, so
    that no one else adopts the external resource meanwhile."""
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
