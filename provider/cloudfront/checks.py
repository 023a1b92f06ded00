"""The preflight of a reconcile: what it finds becomes the refusal of a creation or of a change."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from edgetenants_runtime.managed import Managed
from provider.cloudfront import guards, plan, preflight
from provider.cloudfront.assessment import Assessment
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.desired import Tenant
from provider.cloudfront.errors import AwsError, explain
from provider.cloudfront.memory import Memory
from provider.cloudfront.preflight import Result

__all__ = ["Checks"]

_log = structlog.get_logger("provider.cloudfront.checks")


@dataclass(frozen=True)
class Checks:
    """Each check answers with what could not be checked, for the story."""

    cloudfront: CloudFront
    memory: Memory

    def creation(self, mr: Managed, asked: Tenant) -> str:
        """Check a tenant that is to be created.

        Raises:
            ExternalError: it cannot work, or a check failed.
        """
        try:
            result = preflight.of_creation(mr, asked, self.cloudfront, self.memory)
        except AwsError as error:
            raise explain(error, f"check tenant {asked.name} before its creation", serving=False) from error
        return _passed(result, serving=False)

    def change(self, state: Assessment, *, serving: bool) -> str:
        """Check what the spec asks for anew; drift leads back to what was good before.

        Raises:
            ExternalError: it cannot work, or a check failed.
        """
        changed = {d.field for d in state.pending} & {d.field for d in state.todo.fields}
        if not changed or plan.only_attaches(state.todo):
            return ""
        target = state.todo.target
        try:
            result = preflight.of_update(target, state.seen, changed, self.cloudfront, self.memory)
        except AwsError as error:
            raise explain(error, f"check the change of tenant {target.name}", serving=serving) from error
        return _passed(result, serving=serving)


def _passed(result: Result, *, serving: bool) -> str:
    if result.problems:
        raise guards.invalid(result.message, result.reason, serving=serving)
    if not result.unchecked:
        return ""
    _log.warning("not checked for lack of permission", operations=result.unchecked)
    return f"; not checked for lack of permission: {', '.join(result.unchecked)}"
