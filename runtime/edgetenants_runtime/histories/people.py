"""Users who change managed resources and, in the external system, external resources."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.histories.actions import (
    Action,
    Apply,
    Delete,
    DeletionPolicy,
    Drift,
    HoldBy,
    Pause,
    Policies,
    Publish,
    Resize,
    Settle,
    Strip,
    Vanish,
)
from edgetenants_runtime.histories.laws import COMBINATIONS, Laws
from edgetenants_runtime.histories.outside import Outside
from edgetenants_runtime.kube.errors import NotFound
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey
from edgetenants_runtime.testing import FakeObjects

__all__ = ["People", "is_uncertain"]

_THEIRS = "example.org/backup"
_SECRETS = ("conn-a", "conn-b", "conn-shared")


class People:
    """All actors other than the provider."""

    def __init__(
        self,
        kind: ManagedKind,
        server: FakeObjects,
        outside: Outside,
        laws: Laws,
        now: Callable[[], datetime],
    ) -> None:
        self._kind, self._server, self._outside, self._laws, self._now = kind, server, outside, laws, now
        self._uids = itertools.count(1)

    def act(self, action: Action) -> None:
        """Perform the action, if it is possible."""
        match action:
            case Apply(mr, external_name):
                self._apply(mr, external_name)
            case Delete(mr):
                self._patch(mr, {"metadata": {"deletionTimestamp": rfc3339(self._now())}})
            case Drift(mr, size):
                for thing in self._outside.of(mr):
                    thing.size = size
            case Vanish(mr):
                for thing in self._outside.of(mr):
                    self._outside.vanish(thing)
            case Settle(mr):
                self._settle(mr)
            case HoldBy() | Strip():
                self._edit_finalizers(action)
            case _:
                self._edit(action)

    def collect(self, mr: str) -> None:
        """Kubernetes' garbage collector: deletes connection Secrets without an existing owner."""
        del mr
        living = {found["metadata"]["uid"] for name in ("a", "b") if (found := self._find(name))}
        for name in _SECRETS:
            secret = self._server.find(SECRETS, ObjectKey("shop", name))
            if secret and not living & {o["uid"] for o in secret["metadata"]["ownerReferences"]}:
                gone = {"metadata": {"deletionTimestamp": rfc3339(self._now())}}
                self._server.patch(SECRETS, ObjectKey("shop", name), gone)

    def asks_the_impossible(self, mr: Managed) -> bool:
        """The spec is impossible to satisfy: unsupported policies, or a name or Secret of another owner."""
        letters = sorted(word[0] for word in mr.spec.get("managementPolicies", ["*"]))
        if letters not in [sorted(combination) for combination in COMBINATIONS]:
            return True
        if mr.deleted:
            return False
        thing = self._outside.named(mr.external_name or mr.name)
        return bool(thing and thing.owner != mr.name) or self._wants_anothers_secret(mr)

    def _wants_anothers_secret(self, mr: Managed) -> bool:
        name = (mr.spec.get("writeConnectionSecretToRef") or {}).get("name")
        secret = self._server.find(SECRETS, ObjectKey("shop", name)) if name else None
        if secret is None:
            return False
        exists = self._outside.named(mr.external_name or mr.name) is not None
        return exists and mr.uid not in {o["uid"] for o in secret["metadata"].get("ownerReferences") or ()}

    def _apply(self, mr: str, external_name: str) -> None:
        if self._find(mr):
            return
        metadata: dict[str, Any] = {"name": mr, "uid": f"uid-{mr}-{next(self._uids)}", "generation": 1}
        if self._kind.namespaced:
            metadata["namespace"] = "shop"
        if external_name and self._kind.deterministic_name:
            metadata["annotations"] = {names.EXTERNAL_NAME: external_name}
        spec = {"forProvider": {"size": 1}}
        api = {"apiVersion": self._kind.api_version, "kind": self._kind.kind}
        self._server.create(self._kind, api | {"metadata": metadata, "spec": spec})

    def _edit(self, action: Action) -> None:
        match action:
            case Resize(mr, size):
                self._resize(mr, size)
            case Policies(mr, policies):
                self._set(mr, managementPolicies=list(policies))
            case DeletionPolicy(mr, policy) if not self._kind.namespaced:
                self._set(mr, deletionPolicy=policy)
            case Pause(mr, paused):
                self._patch(mr, {"metadata": {"annotations": {names.PAUSED: "true" if paused else None}}})
            case Publish(mr, secret):
                self._set(mr, writeConnectionSecretToRef=_reference(mr, secret))
            case _:
                pass

    def _resize(self, mr: str, size: int) -> None:
        found = self._find(mr)
        if found is not None:
            self._set(mr, forProvider=found["spec"]["forProvider"] | {"size": size})

    def _edit_finalizers(self, action: HoldBy | Strip) -> None:
        found = self._find(action.mr)
        if found is None:
            return
        metadata = found["metadata"]
        finalizers = list(metadata.get("finalizers") or ())
        unwanted = names.FINALIZER if isinstance(action, Strip) else _THEIRS
        kept = [finalizer for finalizer in finalizers if finalizer != unwanted]
        if isinstance(action, Strip):
            self._laws.stripped.add(metadata["uid"])
        elif action.held and not metadata.get("deletionTimestamp"):
            kept.append(_THEIRS)
        if kept != finalizers:
            self._patch(action.mr, {"metadata": {"finalizers": kept}})

    def _settle(self, mr: str) -> None:
        found = self._find(mr)
        if found is None or self._kind.deterministic_name or not is_uncertain(Managed(found)):
            return
        annotations: dict[str, str | None] = {names.EXTERNAL_CREATE_PENDING: None}
        mine = self._outside.of_uid(found["metadata"]["uid"])
        if mine:
            annotations[names.EXTERNAL_NAME] = mine[0].name
        self._patch(mr, {"metadata": {"annotations": annotations}})

    def _find(self, mr: str) -> dict[str, Any] | None:
        return self._server.find(self._kind, self._key(mr))

    def _set(self, mr: str, **spec: Any) -> None:
        found = self._find(mr)
        if found is None:
            return
        before, found["spec"] = found["spec"], {**found["spec"], **spec}
        if found["spec"] != before:
            found["metadata"]["generation"] += 1
            self._server.put(self._kind, found)
            self._server.touch(self._kind, self._key(mr))

    def _patch(self, mr: str, patch: Mapping[str, Any]) -> None:
        try:
            self._server.patch(self._kind, self._key(mr), patch)
        except NotFound:
            return

    def _key(self, mr: str) -> ObjectKey:
        return ObjectKey("shop" if self._kind.namespaced else "", mr)


def is_uncertain(mr: Managed) -> bool:
    """The managed resource reports that a user must check the result of its creation."""
    synced = mr.condition("Synced")
    return synced is not None and synced.message.startswith("cannot determine creation result")


def _reference(mr: str, secret: str) -> dict[str, str] | None:
    if not secret:
        return None
    name = {"own": f"conn-{mr}", "shared": "conn-shared"}.get(secret, secret)
    return {"name": name, "namespace": "shop"}
