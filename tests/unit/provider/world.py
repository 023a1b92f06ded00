"""A managed resource and the runtime around it, as small as can be: what the reconciler would call, in its
order, and what it would write to status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.status import plain
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.domain.public_look import OFF
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView, Dependencies, Policy
from tests.unit.provider.fake_cloudfront import ACCOUNT, DISTRIBUTION, FakeCloudFront

TODAY = datetime(2026, 1, 1, tzinfo=UTC)
INSTALLATION = "cluster-1"
FOR_PROVIDER = {
    "distributionId": DISTRIBUTION,
    "domains": ["acme.example.com", "shop.acme.com"],
    "enabled": True,
    "parameters": {"tenantName": "acme"},
    "tags": {"team": "shop"},
}


def managed(
    for_provider: dict[str, Any] | None = None,
    *,
    annotations: dict[str, str] | None = None,
    cluster: bool = False,
    uid: str = "0a1b2c3d-uid",
    created: str = "2026-01-01T00:00:00Z",
    **spec: Any,
) -> dict[str, Any]:
    """A DistributionTenant as it is stored."""
    metadata: dict[str, Any] = {
        "name": "acme",
        "uid": uid,
        "generation": 1,
        "creationTimestamp": created,
        "annotations": {"crossplane.io/external-name": "shop.acme", **(annotations or {})},
    }
    metadata |= {"labels": {"crossplane.io/claim-namespace": "shop"}} if cluster else {"namespace": "shop"}
    group = "cloudfront.edgetenants.io" if cluster else "cloudfront.m.edgetenants.io"
    asked = FOR_PROVIDER if for_provider is None else for_provider
    return {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": metadata,
        "spec": {"forProvider": dict(asked), **spec},
    }


def dependencies(
    cloudfront: Any,
    memory: AccountMemory,
    installation: str = INSTALLATION,
    account: str | None = ACCOUNT,
    config: str = "",
    **given: Any,
) -> Dependencies:
    """The dependencies of a client, from the fields of all their parts."""
    public = given.pop("public", OFF)
    cluster = {name: given.pop(name) for name in ("peers", "everyone", "hold", "kept") if name in given}
    access = AccountAccess(cloudfront, memory, installation, account, config)
    return Dependencies(access, ClusterView(**cluster), Policy(**given), public=public)


class World:
    """One managed resource against one CloudFront."""

    def __init__(
        self, obj: dict[str, Any] | None = None, cloudfront: FakeCloudFront | None = None, **context
    ):
        self.obj = obj or managed()
        self.cloudfront = cloudfront or FakeCloudFront()
        self.clock = FakeClock()
        self.context = {"everyone": lambda: [self.mr], **context}
        self.restart()
        self.events: list[str] = []
        self.error: ExternalError | NotYet | None = None
        self.gone = False
        self.status_writes = 0

    def restart(self):
        """A new process: nothing is remembered."""
        self.cloudfront.die = None
        self.memory = AccountMemory(self.clock, today=lambda: TODAY)

    @property
    def mr(self) -> Managed:
        return Managed(self.obj)

    @property
    def client(self) -> TenantClient:
        given = {"installation": INSTALLATION, "account": ACCOUNT, "config": "ClusterProviderConfig default"}
        return TenantClient(dependencies(self.cloudfront, self.memory, **(given | self.context)))

    @property
    def status(self) -> dict[str, Any]:
        return self.obj.get("status", {})

    def condition(self, type_: str) -> tuple[str, str, str]:
        """Status, reason and message."""
        for condition in self.status.get("conditions", ()):
            if condition["type"] == type_:
                return condition["status"], condition["reason"], condition.get("message", "")
        return ("", "", "")

    def ready(self) -> tuple[str, str]:
        return self.condition("Ready")[:2]

    def edit(self, **for_provider: Any) -> None:
        """The user changes spec.forProvider; None removes a field."""
        asked = {**self.obj["spec"]["forProvider"], **for_provider}
        self.obj["spec"]["forProvider"] = {key: value for key, value in asked.items() if value is not None}
        self.obj["metadata"]["generation"] += 1

    def delete(self) -> None:
        self.obj["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"

    def reconcile(self) -> list[str]:
        """One pass; the calls to AWS that it made. What it raised is in `error`."""
        before = len(self.cloudfront.journal)
        self.error = None
        seen = None
        try:
            seen = self.client.observe(self.mr)
            self._act(seen)
        except (ExternalError, NotYet) as error:
            self.error = error
            fields = getattr(error, "status", {})
            self._write(*([seen.conditions] if seen else []), error.conditions, seen=seen, fields=fields)
        return self.cloudfront.journal[before:]

    def settle(self, passes: int = 10) -> None:
        """Reconcile until a pass changes nothing, rolling out in between; what is waited for comes."""
        for _ in range(passes):
            before = (len(self.events), self.status_writes)
            self.cloudfront.deploy()
            self.reconcile()
            if isinstance(self.error, NotYet):
                self.clock.advance(self.error.after)
            if self.gone or (self.error is None and (len(self.events), self.status_writes) == before):
                return
        raise AssertionError(f"does not settle: {self.events} {self.error}")

    def _act(self, seen):
        if self.mr.deleted:
            if not seen.exists:
                self.gone = True
                return
            self._done("delete", seen, self.client.delete(self.mr, seen))
        elif not seen.exists:
            self._done("create", seen, self.client.create(self.mr, seen))
        elif not seen.up_to_date and set(self.mr.management_policies) & {"*", "Update"}:
            self._done("update", seen, self.client.update(self.mr, seen))
        else:
            self._write(seen.conditions, seen=seen)

    def _done(self, verb, seen, change):
        self.events.append(f"{verb}: {change.message}")
        if change.drifted:
            self.events.append(f"drifted: {change.drifted}")
        self._write(seen.conditions, change.conditions, seen=seen, change=change)

    def _write(self, *conditions, seen=None, change=None, fields=None):
        status = dict(self.status)
        fields = {**(seen.status if seen else {}), **(change.status if change else {}), **(fields or {})}
        status |= {key: plain(value) for key, value in fields.items()}
        at_provider = (change.at_provider if change else None) or (seen.at_provider if seen else None)
        if at_provider is not None:
            status["atProvider"] = plain(at_provider)
        merged = {c["type"]: c for c in status.get("conditions", ())}
        for condition in (c for group in conditions for c in group):
            merged[condition.type] = condition.to_json()
        status["conditions"] = list(merged.values())
        status = {key: value for key, value in status.items() if value is not None}
        if status != self.status:
            self.status_writes += 1
            self.obj["status"] = status
