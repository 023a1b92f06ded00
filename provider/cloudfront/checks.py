"""The preflight of a reconcile: what it finds becomes the refusal of a creation or of a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from edgetenants_runtime.managed import Managed
from provider.cloudfront import guards, plan, preflight
from provider.cloudfront.assessment import Assessment
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.desired import Tenant
from provider.cloudfront.domainmoves import Mover
from provider.cloudfront.errors import AwsError, explain
from provider.cloudfront.memory import Memory
from provider.cloudfront.preflight import Result

__all__ = ["Checks", "Passed"]

_log = structlog.get_logger("provider.cloudfront.checks")


@dataclass(frozen=True)
class Passed:
    """Nothing is in the way."""

    unchecked: str = ""
    """What could not be checked, for the story."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """The domains to take from other tenants, with these as they may be named."""


@dataclass(frozen=True)
class Checks:
    """The preflight, with what it asks."""

    cloudfront: CloudFront
    memory: Memory
    installation: str = ""
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """All managed resources of the kind."""

    def creation(self, mr: Managed, asked: Tenant) -> Passed:
        """Check a tenant that is to be created.

        Raises:
            ExternalError: it cannot work, or a check failed.
        """
        try:
            result = preflight.of_creation(asked, self._mover(mr), self.cloudfront, self.memory)
        except AwsError as error:
            raise explain(error, f"check tenant {asked.name} before its creation", serving=False) from error
        return _passed(result, serving=False)

    def change(self, mr: Managed, state: Assessment, *, serving: bool) -> Passed:
        """Check what the spec asks for anew, and domains that are missing, which somebody else may have by
        now; other drift leads back to what was good before.

        Raises:
            ExternalError: it cannot work, or a check failed.
        """
        target = state.todo.target
        changed = {d.field for d in state.pending} & {d.field for d in state.todo.fields}
        if (target.domains or frozenset()) - set(state.seen.domains):
            changed.add("domains")
        if not changed or plan.only_attaches(state.todo):
            return Passed()
        try:
            result = preflight.of_update(
                target, state.seen, changed, self._mover(mr), self.cloudfront, self.memory
            )
        except AwsError as error:
            raise explain(error, f"check the change of tenant {target.name}", serving=serving) from error
        return _passed(result, serving=serving)

    def _mover(self, mr: Managed) -> Mover:
        return Mover(mr, self.installation, self.everyone)


def _passed(result: Result, *, serving: bool) -> Passed:
    if result.problems:
        raise guards.invalid(result.message, result.reason, serving=serving)
    if not result.unchecked:
        return Passed(moves=result.moves)
    _log.warning("not checked for lack of permission", operations=result.unchecked)
    words = f"; not checked for lack of permission: {', '.join(result.unchecked)}"
    return Passed(words, result.moves)
