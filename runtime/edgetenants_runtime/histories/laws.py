"""What must hold in every history, stated independently of the runtime's code.

The tables here repeat the runtime's on purpose: a law that called the runtime's own functions would hold
whatever they return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.histories.actions import Setting
from edgetenants_runtime.histories.outside import RECORD, Outside, Thing
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ResourceKind
from edgetenants_runtime.testing import FakeObjects

__all__ = ["COMBINATIONS", "FOREIGN", "Broken", "Laws", "final_fault", "managed_by", "permits"]

FOREIGN = {
    "metadata": {"name": "foreign", "namespace": "shop", "uid": "uid-foreign", "resourceVersion": "5"},
    "type": "Opaque",
    "data": {"precious": "eA=="},
}
"""A Secret of another owner."""
_FOREIGN = ObjectKey("shop", "foreign")

COMBINATIONS: tuple[str, ...] = (
    "*", "O", "", "OC", "OD", "OU", "OL", "OCD", "OCL", "OCU", "OUL", "OCDL", "OCUD", "OCUL", "OCUDL",
)  # fmt: skip
"""The supported management policies by their first letters."""


class Broken(AssertionError):  # noqa: N818 - says what happened to the law
    """A law is violated; the message has the script of the history and all actions."""


def permits(mr: Managed, action: str) -> bool:
    """The policies of the managed resource, as given to the reconciler, permit the action: create, update,
    delete or late initialization."""
    given = mr.spec.get("managementPolicies", ["*"])
    letters = "".join(sorted(word[0] for word in given))
    if letters not in ("".join(sorted(combination)) for combination in COMBINATIONS) or not letters:
        return False
    if letters == "*":
        return not (action == "delete" and mr.spec.get("deletionPolicy") == "Orphan")
    return action[0].upper() in letters


class Laws:
    """Checks every write as it happens. Collects violations: an exception within a call would look like a
    failure of that call."""

    def __init__(self, setting: Setting, kind: ManagedKind, server: FakeObjects) -> None:
        self._setting, self._kind, self._server = setting, kind, server
        self.broken: list[str] = []
        self.handed: Managed = Managed({})
        self.stripped: set[str] = set()
        """Uids whose finalizer a user removed: their orphaned external resources are not the runtime's
        fault."""
        self._written_outside = 0

    def begin(self, handed: Managed) -> None:
        """A reconcile starts with that version of the managed resource."""
        self.handed, self._written_outside = handed, 0

    def judge(self, action: str, mr: Managed) -> None:
        """The provider is about to make an external write."""
        handed = self.handed
        self._hold(mr.uid == handed.uid, f"{action} for another managed resource")
        self._hold(not _paused(handed), f"{action} while paused")
        self._hold(permits(handed, action), f"{action} against the policies {handed.management_policies}")
        self._hold(handed.deleted is (action == "delete"), f"{action} with deleted={handed.deleted}")
        self._written_outside += 1
        self._hold(self._written_outside == 1, "two external writes in one reconcile")
        if action == "delete":
            others = set(handed.finalizers) - {names.FINALIZER, "foregroundDeletion", "orphan"}
            self._hold(not others, f"deleted although other finalizers block it: {others}")
        if action == "create":
            self._judge_creation(mr)

    def _judge_creation(self, mr: Managed) -> None:
        stored = self._server.find(self._kind, mr.key)
        if mr.uid in self.stripped:
            return
        held = stored is not None and names.FINALIZER in (stored["metadata"].get("finalizers") or ())
        self._hold(held, "created without a finalizer that holds the managed resource")
        told = (stored or {"metadata": {}})["metadata"].get("annotations") or {}
        pending = told.get(names.EXTERNAL_CREATE_PENDING, "")
        self._hold(bool(pending), "created without external-create-pending")
        if self._setting.records:
            self._hold(RECORD.items() <= told.items(), "created without the client's record")
        if self._setting.generated or self._setting.records:
            ended = [told.get(n, "") for n in (names.EXTERNAL_CREATE_SUCCEEDED, names.EXTERNAL_CREATE_FAILED)]
            self._hold(pending > max(ended), "created without a new external-create-pending")

    def written(
        self, outside: Outside, kind: ResourceKind, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> None:
        """The provider has written to the API server."""
        if kind != self._kind or before is None:
            return
        old, new = Managed(before), Managed(after)
        self._hold(old.uid == self.handed.uid, "wrote to another managed resource of that name")
        added = set(new.finalizers) - set(old.finalizers)
        self._hold(
            not (old.deleted and added), "added a finalizer to a managed resource that is being deleted"
        )
        failed = names.EXTERNAL_CREATE_FAILED
        if self._setting.records and old.annotations.get(failed) != new.annotations.get(failed):
            self._hold(not outside.of_uid(old.uid), "recorded as refused what may have been made")
        if old.spec != new.spec:
            self._hold(
                permits(self.handed, "late initialization"), "late-initialized the spec against the policies"
            )
        if _paused(self.handed):
            self._hold(old.asked_for == new.asked_for, "wrote more than status while paused")
        if names.FINALIZER in old.finalizers and names.FINALIZER not in new.finalizers:
            self._judge_release(outside, old)

    def _judge_release(self, outside: Outside, mr: Managed) -> None:
        self._hold(mr.deleted, "released a managed resource that is not being deleted")
        if permits(self.handed, "delete"):
            left = managed_by(outside, mr, generated=self._setting.generated)
            self._hold(not left, f"released a managed resource and orphaned {[thing.name for thing in left]}")

    def never_two(self, outside: Outside, uid: str) -> None:
        """One managed resource has at most one external resource."""
        mine = [thing.name for thing in outside.of_uid(uid)]
        self._hold(len(mine) <= 1, f"two external resources: {mine}")

    def foreign_secret(self) -> None:
        """The Secret of another owner is unchanged."""
        stored = self._server.find(SECRETS, _FOREIGN)
        self._hold(stored == FOREIGN, "wrote to a Secret of another owner")

    def _hold(self, law: bool, otherwise: str) -> None:
        if not law:
            self.broken.append(otherwise)


def managed_by(outside: Outside, mr: Managed, *, generated: bool) -> list[Thing]:
    """The external resources that the managed resource is responsible for."""
    if generated:
        named = outside.named(mr.external_name)
        mine = {thing.name: thing for thing in outside.of_uid(mr.uid)}
        return list((mine | ({named.name: named} if named else {})).values())
    thing = outside.named(mr.external_name or mr.name)
    return [thing] if thing and thing.owner == mr.name else []


def final_fault(mr: Managed, mine: Sequence[Thing], *, refused: bool) -> str:  # noqa: PLR0911 - one for each law
    """What differs from the desired state after all failures have ended; "" if nothing does. `refused`: the
    spec is impossible to satisfy, so an error is the correct result."""
    conditions = {c["type"]: f"{c['status']}/{c['reason']}" for c in mr.status.get("conditions") or ()}
    synced = conditions.get("Synced")
    if _paused(mr):
        return "" if synced == "False/ReconcilePaused" else f"paused, and Synced is {synced}"
    if mr.deleted:
        others = set(mr.finalizers) - {names.FINALIZER}
        return "" if others or refused else "still exists after its deletion"
    if refused or (not mine and not permits(mr, "create")):
        return "" if synced == "False/ReconcileError" else f"refused, and Synced is {synced}"
    if not mine:
        return "its external resource was never created"
    if permits(mr, "update") and mine[0].size != mr.for_provider["size"]:
        return f"its external resource has size {mine[0].size}"
    if names.FINALIZER not in mr.finalizers:
        return "it has no finalizer"
    if (conditions.get("Ready"), synced) != ("True/Available", "True/ReconcileSuccess"):
        return f"its conditions are {conditions}"
    return "" if mr.status.get("observedGeneration") == mr.generation else "its last change was not observed"


def _paused(mr: Managed) -> bool:
    return mr.annotations.get(names.PAUSED) == "true" or mr.spec.get("managementPolicies") == []
