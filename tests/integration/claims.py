"""Claims of one test in one namespace, and what the world makes of them."""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from provider.cloudfront.safety.name_keys import is_name
from sandbox.world import World, WorldError
from tests.integration.reading import Reader, reader
from tests.integration.watching import Object, is_true


class Claims:
    """Applies claims in a namespace and looks at claim, managed resource and external resource."""

    def __init__(self, world: World, namespace: str) -> None:
        self.world = world
        self.namespace = namespace
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})

    def claim(self, name: str, **spec: Any) -> Object:
        """A claim on plan standard with one domain of its own, unless said otherwise; a value of None leaves
        the field out."""
        defaults = {"plan": "standard", "domains": [f"{name}.example.com"]}
        return {
            "apiVersion": "platform.edgetenants.io/v1alpha1",
            "kind": "TenantClaim",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {k: v for k, v in {**defaults, **spec}.items() if v is not None},
        }

    def apply(self, *objects: Object) -> None:
        """Apply as a user would; raises WorldError with the API server's words when it refuses."""
        self.reader.apply(*objects)

    def patch(self, name: str, spec: Object) -> None:
        self.reader.patch("tenantclaim", name, self.namespace, {"spec": spec})

    def delete(self, name: str) -> None:
        self.reader.delete("tenantclaim", name, self.namespace)

    def get(self, name: str, resource: str = "tenantclaim") -> Object:
        return self.reader.get(resource, name, self.namespace)

    def managed(self, name: str) -> Object:
        """The managed resource composed for a claim; empty when there is none."""
        items = self.all_managed(self._selector(name))
        assert len(items) <= 1, f"{len(items)} managed resources for one claim"
        return items[0] if items else {}

    def all_managed(self, selector: str = "") -> list[Object]:
        """The managed resources in the namespace, or those of them with these labels."""
        return self.reader.items("edt", self.namespace, selector)

    def groups(self, name: str) -> list[Object]:
        """The ConnectionGroups composed for a claim."""
        return self.reader.items("ecg", self.namespace, self._selector(name))

    def events(self) -> list[Object]:
        return self.reader.items("events", self.namespace)

    def tenants(self, name: str) -> list[Object]:
        """The external resources of a claim's name, in every account."""
        return [t for t in self.world.emulator.state()["tenants"] if t["Name"] == f"{self.namespace}.{name}"]

    def wait(self, what: str, until: Callable[[], Any], seconds: float = 60) -> Any:
        """Look until `until` gives something true; what it gave. Fails with the state of things when it does
        not in time."""
        deadline = time.monotonic() + seconds
        while True:
            found = until()
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {seconds} s for {what}\n{self.describe()}")
            time.sleep(0.2)

    def wait_ready(self, name: str, seconds: float = 60) -> Object:
        claim: Object = self.wait(f"{name} to be Ready", lambda: self.ready(name), seconds)
        return claim

    def wait_quiet(self, name: str) -> None:
        """Wait until a claim has not changed for a second.

        On a busy machine Crossplane's cache lags behind: a reconcile that began before the claim became Ready
        writes the status of that time once more, without a look at the resource version.
        """
        seen: list[str] = []

        def quiet() -> bool:
            seen.append(self.get(name)["metadata"]["resourceVersion"])
            return len(seen) > 5 and len(set(seen[-6:])) == 1

        self.wait(f"{name} to be quiet", quiet)

    def ready(self, name: str) -> Object | None:
        claim = self.get(name)
        return claim if claim and is_true(claim, "Ready") and is_true(claim, "Live") else None

    def wait_gone(self, names: Iterable[str], seconds: float = 60) -> None:
        for name in names:
            self.wait(
                f"{name} to go",
                lambda name=name: not self.get(name) and not self.managed(name) and not self.tenants(name),
                seconds,
            )

    def describe(self) -> str:
        """What a person would look at first."""
        seen = self.world.kubectl("get", "tenantclaims,edt", "-n", self.namespace, "-o", "wide", check=False)
        conditions = [
            f"{o['kind']} {o['metadata']['name']}: {c['type']}={c['status']}/{c['reason']} {c.get('message')}"
            for o in (*self.reader.items("tenantclaims", self.namespace), *self.all_managed())
            for c in o.get("status", {}).get("conditions", [])
        ]
        events = [f"{e['type']} {e['reason']} {e['message']}" for e in self.events()[-12:]]
        return "\n".join([seen, *conditions, *events])

    def delete_all(self) -> None:
        for each in self.reader.items("tenantclaims", self.namespace):
            with suppress(WorldError):
                self.delete(each["metadata"]["name"])
        self.wait("everything to be deleted", lambda: not self.all_managed())
        self.release_domains()
        with suppress(WorldError):  # it may go already
            self.reader.delete("namespaces", self.namespace, "")

    def kept_domains(self) -> dict[str, str]:
        """The domains that are kept for the namespace, each with the name of its ConfigMap."""
        return {key: name for key, name in self._kept().items() if not is_name(key)}

    def kept_names(self) -> dict[str, str]:
        """The same for names in CloudFront."""
        return {key: name for key, name in self._kept().items() if is_name(key)}

    def _kept(self) -> dict[str, str]:
        found = self.admins_reader.items(
            "configmaps", "crossplane-system", "edgetenants.io/kept-domains=true"
        )
        return {
            key: each["metadata"]["name"]
            for each in found
            for key, value in (each.get("data") or {}).items()
            if json.loads(value)["namespace"] == self.namespace
        }

    def release_domains(self) -> None:
        """As an administrator would: other tests use the same names."""
        released: dict[str, dict[str, None]] = {}
        for key, name in self._kept().items():
            released.setdefault(name, {})[key] = None
        for name, data in released.items():
            self.admins_reader.patch("configmaps", name, "crossplane-system", {"data": data})

    def _selector(self, name: str) -> str:
        return f"crossplane.io/composite={name}"

    @property
    def reader(self) -> Reader:
        """Reads as the user of `world`."""
        return reader(self.world.kubeconfig, getattr(self.world, "user", ""))

    @property
    def admins_reader(self) -> Reader:
        """Reads as the administrator."""
        return reader(self.world.kubeconfig)


class LegacyClaims(Claims):
    """Claims as in Crossplane v1: their composites and managed resources are beside the namespaces."""

    COMPOSITES = "xtenantclaims.platform.edgetenants.io"

    def composite(self, name: str) -> Object:
        """The composite that was made for a claim; empty where there is none."""
        found = self.get(name).get("spec", {}).get("resourceRef", {}).get("name")
        return self.get(found, self.COMPOSITES) if found else {}

    def all_managed(self, selector: str = "") -> list[Object]:
        own = f"crossplane.io/claim-namespace={self.namespace}"
        return self.reader.items("ledt", selector=",".join(filter(None, (own, selector))))

    def events(self) -> list[Object]:
        return [*self.reader.items("events", "default"), *super().events()]

    def _selector(self, name: str) -> str:
        return f"crossplane.io/claim-name={name}"
