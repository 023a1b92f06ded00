"""Managed resources without claims, every state that they went through, and the table of their conditions."""

from __future__ import annotations

import json
from typing import Any

import boto3

from apis.conditions import (
    CertificateReason,
    DeployedReason,
    DnsReason,
    InSyncReason,
    TenantReadyReason,
)
from edgetenants_runtime.api.conditions import ReadyReason
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_references import tenant
from tests.integration.watching import Object, Watch, condition, is_true

TABLES: dict[str, type] = {
    "Ready": TenantReadyReason,
    "Deployed": DeployedReason,
    "InSync": InSyncReason,
    "CertificateReady": CertificateReason,
    "DNSReady": DnsReason,
}
TRUE = {
    ("Ready", ReadyReason.AVAILABLE),
    ("Deployed", DeployedReason.DEPLOYED),
    ("InSync", InSyncReason.IN_SYNC),
    ("CertificateReady", CertificateReason.VALIDATED),
    ("CertificateReady", CertificateReason.NOT_CONFIGURED),
    ("DNSReady", DnsReason.DNS_NOT_CONFIGURED),
    ("DNSReady", DnsReason.DNS_READY),
}
"""What is good; every other row is False."""
ROWS = {
    *((type_, reason) for type_, reasons in TABLES.items() for reason in reasons),
    *(("Ready", reason) for reason in (ReadyReason.AVAILABLE, ReadyReason.CREATING, ReadyReason.DELETING)),
}
UNREACHED = {
    # The provider makes no records yet.
    ("DNSReady", DnsReason.DNS_READY),
    ("DNSReady", DnsReason.DNS_RECORD_CREATING),
    ("DNSReady", DnsReason.DNS_PROPAGATING),
    # Nothing makes the emulator ignore a change of what a tenant needs to serve; tests/unit has it.
    ("Ready", TenantReadyReason.UPDATE_INEFFECTIVE),
}
REFUSALS = {
    "denied": ({"code": "AccessDenied", "status": 403}, TenantReadyReason.ACCESS_DENIED),
    "invalid": ({"code": "InvalidArgument", "status": 400}, TenantReadyReason.INVALID_SPEC),
    "quota": ({"code": "EntityLimitExceeded", "status": 400}, TenantReadyReason.QUOTA_EXCEEDED),
    "broken": ({"code": "InternalError", "status": 500}, TenantReadyReason.AWS_ERROR),
    "throttled": ({"code": "Throttling", "status": 400}, TenantReadyReason.THROTTLED),
}
DEFAULT_CONFIG = "clusterproviderconfigs.m.edgetenants.io"

reached: set[tuple[str, str]] = set()
"""By all tests of this file; the last one holds it against ROWS."""


class Stage(Claims):
    """Managed resources without claims, in the namespace of a test, and all their states."""

    def __init__(self, claims: Claims, watch: Watch) -> None:
        self.world, self.namespace, self._watch = claims.world, claims.namespace, watch

    def reach(self, name: str, *rows: tuple[str, str], seconds: float = 60) -> list[str]:
        """Wait until each row was seen on the resource; the messages that it had."""
        return [self._reach(name, type_, reason, seconds) for type_, reason in rows]

    def _reach(self, name: str, type_: str, reason: str, seconds: float) -> str:
        status = "True" if (type_, reason) in TRUE else "False"

        def found() -> Object | None:
            states = [o for o in self._watch.of(name) if o["metadata"]["namespace"] == self.namespace]
            said = (condition(o, type_) for o in reversed(states))
            return next((c for c in said if (c.get("status"), c.get("reason")) == (status, reason)), None)

        seen = self.wait(f"{type_} {status} {reason} of {name}", found, seconds)
        reached.add((type_, reason))
        return str(seen.get("message", ""))

    def make(self, name: str, **fields: Any) -> None:
        self.apply(tenant(self, name, **fields))

    def serve(self, *names: str) -> None:
        """Wait until each serves and is rolled out."""
        for name in names:
            serves = lambda name=name: all(is_true(self.get(name, "edt"), t) for t in ("Ready", "Deployed"))  # noqa: E731
            self.wait(f"{name} to serve", serves, 90)

    def patch_spec(self, name: str, spec: Object) -> None:
        self._patch("edt", name, "-n", self.namespace, body={"spec": spec})

    def patch_config(self, body: Object) -> None:
        self._patch(DEFAULT_CONFIG, "default", body=body)

    def _patch(self, *arguments: str, body: Object) -> None:
        self.world.kubectl("patch", *arguments, "--type=merge", "-p", json.dumps(body))

    def remove(self, name: str) -> None:
        self.world.kubectl("delete", "edt", name, "-n", self.namespace, "--wait=false")

    def edit_in_aws(self, name: str, **changes: Any) -> None:
        self.world.emulator.edit_tenant(f"{self.namespace}.{name}", changes)


def cloudfront(world: World) -> Any:
    """The account as somebody at a console has it."""
    variables = world.environment()
    return boto3.client(
        "cloudfront",
        endpoint_url=world.emulator.endpoint,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )


def distribution(world: World, id_: str, **more: Any) -> str:
    world.emulator.seed({"distributions": [{"id": id_, **more}]})
    return id_


def states(stage: Stage, name: str) -> set[str]:
    """Of the records to be made."""
    return {each["state"] for each in stage.get(name, "edt")["status"].get("dnsInstructions", ())}


def from_backup(managed: Object) -> Object:
    """The object as a backup of the cluster has it: without status, and of another uid once it is applied."""
    kept = ("name", "namespace", "annotations", "labels")
    metadata = {key: managed["metadata"][key] for key in kept if key in managed["metadata"]}
    return {key: managed[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": metadata}
