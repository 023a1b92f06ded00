"""What the management policies and the deletion policy of a managed resource permit (pure).

The combinations and the deletion rules are crossplane-runtime's (pkg/reconciler/managed/policies.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgetenants_runtime.api.managed import DeletionPolicy, ManagementPolicy

__all__ = ["SUPPORTED", "Permissions", "UnsupportedPolicies", "permissions"]

_ALL, _OBSERVE, _CREATE, _UPDATE, _DELETE, _LATE = (
    ManagementPolicy.ALL,
    ManagementPolicy.OBSERVE,
    ManagementPolicy.CREATE,
    ManagementPolicy.UPDATE,
    ManagementPolicy.DELETE,
    ManagementPolicy.LATE_INITIALIZE,
)

SUPPORTED: tuple[tuple[ManagementPolicy, ...], ...] = (
    (_ALL,),  # full control, the default
    (_OBSERVE, _CREATE, _UPDATE, _DELETE, _LATE),  # the same, spelled out
    (_OBSERVE,),  # read-only
    (),  # paused
    (_OBSERVE, _CREATE, _UPDATE, _DELETE),  # nothing is filled into forProvider
    (_OBSERVE, _CREATE, _UPDATE, _LATE),  # never deleted
    (_OBSERVE, _CREATE, _UPDATE),  # never deleted, nothing filled in
    (_OBSERVE, _CREATE, _DELETE, _LATE),  # never updated: for immutable external resources
    (_OBSERVE, _CREATE, _LATE),  # never updated, never deleted
    (_OBSERVE, _CREATE, _DELETE),  # never updated, nothing filled in
    (_OBSERVE, _CREATE),  # created once, then only observed
    (_OBSERVE, _DELETE),  # read-only until the managed resource is deleted
    (_OBSERVE, _LATE),  # external resource read-only, forProvider filled in
    (_OBSERVE, _UPDATE),  # only updated: several managed resources share one external resource
    (_OBSERVE, _UPDATE, _LATE),  # the same, forProvider filled in
)


class UnsupportedPolicies(ValueError):  # noqa: N818 - names the thing found
    """The management policies are not a supported combination; the message lists the supported ones."""

    def __init__(self, policies: Iterable[str]) -> None:
        supported = ", ".join(_show(combination) for combination in SUPPORTED)
        super().__init__(
            f"spec.managementPolicies {_show(policies)} is not supported; set one of: {supported}"
        )


@dataclass(frozen=True)
class Permissions:
    """The permitted actions. Observing is always permitted."""

    create: bool
    update: bool
    delete: bool
    late_initialize: bool


def permissions(policies: Iterable[str], deletion_policy: str | None) -> Permissions:
    """What the policies permit; a `deletion_policy` of None, as on namespaced resources, means Delete.

    Raises UnsupportedPolicies.
    """
    chosen = frozenset(policies)
    if chosen not in _SUPPORTED:
        raise UnsupportedPolicies(chosen)
    return Permissions(
        create=bool(chosen & {_ALL, _CREATE}),
        update=bool(chosen & {_ALL, _UPDATE}),
        delete=_may_delete(chosen, deletion_policy),
        late_initialize=bool(chosen & {_ALL, _LATE}),
    )


def _may_delete(chosen: frozenset[str], deletion_policy: str | None) -> bool:
    # The deletion policy applies only under the default management policies.
    if chosen == {_ALL}:
        return deletion_policy != DeletionPolicy.ORPHAN
    return _DELETE in chosen


def _show(policies: Iterable[str]) -> str:
    return "[" + ", ".join(str(policy) for policy in sorted(policies)) + "]"


_SUPPORTED = frozenset(frozenset(combination) for combination in SUPPORTED)
