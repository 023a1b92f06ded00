"""Teams that share a cluster and an AWS account.

Each has the rights that Crossplane's RBAC manager makes for editors in its namespace; some have claims alone.
What they do goes through the API server as themselves; nothing of an attack is done by the admin.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.manifests import Package
from sandbox.world import World, WorldError
from tests.integration.claims import Claims
from tests.integration.watching import Object, condition, is_true

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTION = "E1EDGETENANTS"
ACCOUNT_CONFIG = {"kind": "ClusterProviderConfig", "name": "default"}
CONFIGS = "providerconfigs.m.edgetenants.io"
USAGES = "providerconfigusages.m.edgetenants.io"

EDIT, CLAIMS_ONLY = "hostile-tests-edit", "hostile-tests-claims"
_EVERY_VERB = ["*"]
_WRITES = ("Create", "Update", "Delete", "Tag", "Untag", "Associate", "Disassociate")
_TOKENS = itertools.count(1)


def editors_rules(package: Package) -> list[Object]:
    """What editors may do with the kinds of the package: all, with `/status`, as
    crossplane/internal/controller/rbac/{provider/roles,definition}/roles.go render it."""
    return [*_provider_rules(package), *_claim_rules(package)]


def _provider_rules(package: Package) -> list[Object]:
    names = [
        crd["spec"]["names"]["plural"] + "." + crd["spec"]["group"]
        for crd in (*package.crds, *package.inactive)
    ]
    by_group: dict[str, list[str]] = {}
    for plural, group in (name.split(".", 1) for name in sorted(names, key=lambda n: n.replace(".", "", 1))):
        by_group.setdefault(group, []).extend((plural, f"{plural}/status"))
    return [_rule(group, resources) for group, resources in by_group.items()]


def _claim_rules(package: Package) -> list[Object]:
    spec = package.xrd["spec"]
    plural = spec["names"]["plural"]
    return [_rule(spec["group"], [plural, f"{plural}/status"])]


def _rule(group: str, resources: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": _EVERY_VERB}


# What the chart of Crossplane gives editors beside (crossplane:aggregate-to-edit), as far as it has an effect
# within a namespace.
_CHART = [
    {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": _EVERY_VERB},
]


def roles(package: Package) -> tuple[Object, ...]:
    """The ClusterRoles that the teams' RoleBindings name."""
    return (
        _cluster_role(EDIT, [*editors_rules(package), *_CHART]),
        _cluster_role(
            CLAIMS_ONLY,
            [_rule(package.xrd["spec"]["group"], [package.xrd["spec"]["names"]["plural"]]), _CHART[0]],
        ),
    )


def _cluster_role(name: str, rules: list[Object]) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }


@dataclass(frozen=True)
class Seat:
    """A world as one user has it: kubectl speaks as the user, the rest is as it is."""

    world: World
    user: str

    def kubectl(self, *args: str, input: str | None = None, check: bool = True) -> str:  # noqa: A002
        """As World.kubectl."""
        return self.world.kubectl(
            f"--as={self.user}", "--as-group=system:authenticated", *args, input=input, check=check
        )

    @property
    def kubeconfig(self) -> Path:
        """The administrator's; `user` is impersonated."""
        return self.world.kubeconfig

    @property
    def emulator(self) -> Any:
        return self.world.emulator


class Team(Claims):
    """A user with a namespace. Whatever is applied, patched and deleted here is so by the user."""

    def __init__(self, world: World, namespace: str, role: str = EDIT) -> None:
        self.admin, self.namespace, self.user = world, namespace, f"{namespace}-user"
        self.world = Seat(world, self.user)  # type: ignore[assignment]
        world.kubectl("apply", "-f", "-", input="\n---\n".join(map(json.dumps, self._given(role))))

    def _given(self, role: str) -> tuple[Object, ...]:
        subject = {"kind": "User", "name": self.user, "apiGroup": "rbac.authorization.k8s.io"}
        return (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "hostile-tests", "namespace": self.namespace},
                "roleRef": {
                    "kind": "ClusterRole",
                    "name": role,
                    "apiGroup": "rbac.authorization.k8s.io",
                },
                "subjects": [subject],
            },
        )

    # What the user makes.

    def tenant(self, name: str, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
        """A DistributionTenant with one domain of its own; `forProvider` is added to, the rest of the spec
        replaced."""
        asked = {"distributionId": DISTRIBUTION, "domains": [f"{name}-{self.namespace}.example.com"]}
        asked |= spec.pop("forProvider", {})
        named = {"crossplane.io/external-name": f"{self.namespace}.{name}"}
        return self.object(
            "DistributionTenant",
            name,
            {"forProvider": {k: v for k, v in asked.items() if v is not None}, **spec},
            {**named, **(annotations or {})},
        )

    def group(self, name: str, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
        """A ConnectionGroup."""
        named = {"crossplane.io/external-name": f"{self.namespace}.{name}"}
        return self.object(
            "ConnectionGroup", name, {"forProvider": {}, **spec}, {**named, **(annotations or {})}
        )

    def object(self, kind: str, name: str, spec: Object, annotations: Mapping[str, str]) -> Object:
        """A managed resource; an annotation without a value is left out."""
        metadata: Object = {"name": name, "namespace": self.namespace}
        metadata["annotations"] = {k: v for k, v in annotations.items() if v}
        return {
            "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
            "kind": kind,
            "metadata": metadata,
            "spec": {"providerConfigRef": ACCOUNT_CONFIG, **spec},
        }

    def config(self, name: str, spec: Object) -> Object:
        """A ProviderConfig of the namespace."""
        return {
            "apiVersion": "m.edgetenants.io/v1alpha1",
            "kind": "ProviderConfig",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }

    def forge(self, name: str, status: Object, kind: str = "edt") -> None:
        """Write what only the provider should say."""
        self.reader.patch(kind, name, self.namespace, {"status": status}, "status")

    def change(self, name: str, body: Object, kind: str = "edt") -> None:
        """A merge patch of an object."""
        self.reader.patch(kind, name, self.namespace, body)

    def annotate(self, name: str, kind: str = "edt", **annotations: str | None) -> None:
        """Set annotations of edgetenants.io; None takes one away."""
        named = {f"edgetenants.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.change(name, {"metadata": {"annotations": named}}, kind)

    def remove(self, name: str, kind: str = "edt") -> None:
        self.reader.delete(kind, name, self.namespace)

    # What the user may and may not.

    def may(self, verb: str, resource: str, namespace: str | None = None, subresource: str = "") -> bool:
        """What the API server's authorizer answers."""
        return self.reader.may(verb, resource, namespace or "", subresource)

    def refused(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        """What the API server says to something that it does not let the user do."""
        try:
            done = self.world.kubectl(*arguments, input=input)
        except WorldError as error:
            return str(error)
        raise AssertionError(f"{self.user} was let do {arguments}: {done}")

    def tried(self, *arguments: str, given: Object) -> str:
        """What the API server says when it refuses an object; empty if it does not."""
        try:
            self.world.kubectl(*arguments, input=json.dumps(given))
        except WorldError as error:
            return str(error)
        return ""

    # What comes of it.

    def looked_at(self, name: str, kind: str = "edt", seconds: float = 60) -> Object:
        """The object once the provider has looked at it again from now on."""
        token = f"hostile-{next(_TOKENS)}"
        self.change(
            name, {"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": token}}}, kind
        )

        def handled() -> Object | None:
            found = self.get(name, kind)
            return found if found.get("status", {}).get("lastHandledReconcileAt") == token else None

        return dict(self.wait(f"{name} to be looked at", handled, seconds))

    def serve(self, *names: str, kind: str = "edt") -> None:
        """Wait until each serves and is rolled out."""
        for name in names:
            done = lambda name=name: all(  # noqa: E731
                is_true(self.get(name, kind), type_) for type_ in ("Ready", "Synced", "Deployed")
            )
            self.wait(f"{name} to serve", done, 90)

    def served(self, name: str, **of_it: Any) -> Object:
        """A tenant of the team that serves; what AWS has of it."""
        self.apply(self.tenant(name, **of_it))
        self.serve(name)
        [found] = self.tenants(name)
        return dict(found)

    def told(self, name: str, *words: str, type_: str = "Synced", kind: str = "edt") -> str:
        """The condition's message, once it has all the words."""

        def message() -> str | None:
            said = condition(self.get(name, kind), type_)
            text = str(said.get("message", ""))
            return text if said.get("status") == "False" and all(word in text for word in words) else None

        return str(self.wait(f"{name} to say {' … '.join(words)}", message, 30))

    def id_of(self, name: str, kind: str = "edt") -> str:
        return str(self.get(name, kind)["status"]["atProvider"]["id"])

    def everything_said(self, *names: str, kind: str = "edt") -> str:
        """Every word that the API server has for the user of these objects, with their events."""
        objects = [self.get(name, kind) for name in names]
        uids = {each.get("metadata", {}).get("uid") for each in objects}
        events = [e for e in self.events() if e["involvedObject"].get("uid") in uids]
        said = [each.get("status", {}) for each in objects] + [[e["reason"], e["message"]] for e in events]
        return json.dumps(said)

    def clear(self) -> None:
        """Delete all that the user has made."""
        for kind in ("tenantclaims", "edt", "ecg"):
            for name in self.admins_reader.names(kind, self.namespace):
                with suppress(WorldError):  # it has gone meanwhile
                    self.admins_reader.delete(kind, name, self.namespace)

    def leave(self) -> None:
        """Wait until all of it is gone. What an attack left undeletable goes without its finalizers, or the
        namespace would stay."""
        try:
            self.wait("everything to be deleted", lambda: not self._left(), 30)
        except AssertionError:
            for kind, name in self._left():
                with suppress(WorldError):  # it has gone meanwhile
                    self.admins_reader.patch(kind, name, self.namespace, {"metadata": {"finalizers": None}})
        self.admins_reader.delete("namespaces", self.namespace, "")

    def _left(self) -> list[tuple[str, str]]:
        kinds = ("edt", "ecg")
        return [(kind, name) for kind in kinds for name in self.admins_reader.names(kind, self.namespace)]


@dataclass(frozen=True)
class Teams:
    """Who is attacked, and who attacks."""

    blue: Team
    red: Team


@dataclass
class Unharmed:
    """Objects of a team and what AWS has of them, as they were before an attack."""

    team: Team
    names: tuple[str, ...]
    kind: str = "edt"
    before: dict[str, Object] = field(default_factory=dict)
    since: int = 0

    def __post_init__(self) -> None:
        self.since = self.team.admin.emulator.calls()["total"]
        self.before = {name: self._in_aws(name) for name in self.names}
        assert all(self.before.values()), "what is attacked must be there"

    def check(self) -> None:
        """Nothing was written to what AWS has, it is as it was, and the team's objects are as good."""
        for name, before in self.before.items():
            assert self._in_aws(name) == before
            assert self._written(before) == [], "AWS was asked to change it"
            found = self.team.looked_at(name, self.kind)
            assert [type_ for type_ in ("Ready", "Synced") if not is_true(found, type_)] == [], found[
                "status"
            ]
            assert found["status"]["atProvider"]["id"] == before["Id"]
            assert self._written(before) == [], "its owner wrote it anew: it was changed"

    def _in_aws(self, name: str) -> Object:
        state = self.team.admin.emulator.state()
        resources = state["tenants"] if self.kind == "edt" else state["connectionGroups"]
        external = f"{self.team.namespace}.{name}"
        return next((dict(each) for each in resources if each["Name"] == external), {})

    def _written(self, resource: Object) -> list[Object]:
        calls = self.team.admin.emulator.calls(self.since)["calls"]
        return [c for c in calls if c["operation"].startswith(_WRITES) and _is_about(c, resource)]


def _is_about(call: Object, resource: Object) -> bool:
    parameters = call["parameters"] or {}
    named = {str(parameters.get(key)) for key in ("Id", "Identifier", "Resource", "Name", "TargetResource")}
    return any(word in f"{call['target']} {named}" for word in (resource["Id"], f"'{resource['Name']}'"))


@contextmanager
def unharmed(team: Team, *names: str, kind: str = "edt") -> Iterator[None]:
    """What is done meanwhile leaves these objects and what AWS has of them as they are."""
    guarded = Unharmed(team, names, kind)
    yield
    guarded.check()
