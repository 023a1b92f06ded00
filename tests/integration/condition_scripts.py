"""The parts of a case of condition_cases.py: a managed resource, acts, and what must be seen after each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.integration.claims import Claims
from tests.integration.test_certificates import admin
from tests.integration.watching import Object

SLOW = "E1SLOW"
"""A distribution whose tenants are not rolled out within a test."""
BARE = "E1BARE"
"""A distribution without a certificate."""
STRICT = "E1STRICT"
"""A distribution that requires the parameter `colour`."""
LONG = 7200
"""Virtual seconds that no test lasts."""
TAKEN = "taken.example.com"
"""A domain of a tenant that a user made by hand."""

OWN_DISTRIBUTION = "E1EDGETENANTS"
SELF_HOSTED = {"validationTokenHost": "self-hosted"}


@dataclass(frozen=True)
class Stage:
    """What a case acts upon."""

    claims: Claims
    state: Callable[[str], Object]
    """The newest state of a managed resource."""

    def external_name(self, name: str) -> str:
        return f"{self.claims.namespace}.{name}"

    def patch(self, resource: str, name: str, body: Object) -> None:
        self.claims.reader.patch(resource, name, self.claims.namespace, body)


Act = Callable[[Stage, str], None]


@dataclass(frozen=True)
class See:
    """Conditions that stand together in one state, as type=status/reason."""

    conditions: tuple[str, ...]
    says: str = ""
    """Words in the message of the first one."""
    shows: Callable[[Object], object] = lambda _: True
    """What else must be so of the resource."""


@dataclass(frozen=True)
class Case:
    """One managed resource and its script: acts, and what must be seen after each, in order."""

    name: str
    script: tuple[See | Act, ...]
    fields: Object = field(default_factory=dict)
    """Of spec.forProvider."""
    spec: Object = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    account: str = ""
    """The account of its own that it lives in; else that of the sandbox."""
    stays_ready: bool = False
    """Once Ready, it is so in every state that follows."""
    kind: str = "DistributionTenant"

    @property
    def resource(self) -> str:
        return "ecg" if self.kind == "ConnectionGroup" else "edt"

    def manifest(self, namespace: str) -> Object:
        annotations = {"crossplane.io/external-name": f"{namespace}.{self.name}", **self.annotations}
        tenant = {"distributionId": self.distribution, "domains": [f"{self.name}.example.com"]}
        spec: Object = {"forProvider": {**(tenant if self.resource == "edt" else {}), **self.fields}}
        if self.account:
            spec["providerConfigRef"] = {"kind": "ProviderConfig", "name": self.account}
        return {
            "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
            "kind": self.kind,
            "metadata": {"name": self.name, "namespace": namespace, "annotations": annotations},
            "spec": {**spec, **self.spec},
        }

    @property
    def distribution(self) -> str:
        return distribution_of(self.account) if self.account else OWN_DISTRIBUTION


@dataclass(frozen=True)
class Account:
    """An AWS account with a provider config of its own, and what goes wrong in it."""

    number: str
    faults: tuple[Object, ...] = ()
    writes: str = "Enabled"


def distribution_of(account: str) -> str:
    return f"E1{account.upper()}"


def failing(operation: str, code: str, message: str, status: int = 400, **more: Any) -> Object:
    error = {"code": code, "status": status, "message": message}
    how = more if "count" in more else {"every": True}
    return {"operation": operation, "action": "fail", "error": error, **how}


def create_fails(code: str, message: str, status: int = 400, **more: Any) -> tuple[Object, ...]:
    return (failing("CreateDistributionTenant", code, message, status, **more),)


ACCOUNTS = {
    "frozen": Account("200000000001", writes="Frozen"),
    "thawed": Account("200000000001"),
    "elsewhere": Account("200000000003"),
    "denied": Account("200000000004", create_fails("AccessDenied", "not authorized", 403)),
    "quota": Account(
        "200000000005",
        (
            failing("CreateDistributionTenant", "EntityLimitExceeded", "limit of 10000 reached"),
            failing("CreateConnectionGroup", "EntityLimitExceeded", "limit of 100 reached"),
        ),
    ),
    "throttled": Account("200000000006", create_fails("Throttling", "Rate exceeded")),
    "broken": Account("200000000007", create_fails("SomethingNew", "nobody has heard of it")),
    "racing": Account("200000000008", create_fails("EntityAlreadyExists", "it exists", 409, count=1)),
    "readonly": Account(
        "200000000009", (failing("UpdateDistributionTenant", "AccessDenied", "not authorized", 403),)
    ),
    "undying": Account(
        "200000000010", (failing("DeleteDistributionTenant", "AccessDenied", "not authorized", 403),)
    ),
    "blind": Account(
        "200000000011", (failing("DescribeCertificate", "AccessDeniedException", "not authorized"),)
    ),
    "former": Account("200000000012"),
}
"""By the name of the provider config."""


def see(*conditions: str, says: str = "", shows: Callable[[Object], object] = lambda _: True) -> See:
    return See(conditions, says, shows)


def refused(reason: str, says: str = "") -> See:
    """An error of a resource that serves nothing: Synced says it in the same words."""
    return see(f"Ready=False/{reason}", "Synced=False/ReconcileError", says=says)


def waits(reason: str, *more: str, says: str = "") -> See:
    """Not ready, and no one's fault."""
    return see(f"Ready=False/{reason}", "Synced=True/ReconcileSuccess", *more, says=says)


def change(resource: str = "edt", **fields: Any) -> Act:
    """Change spec.forProvider."""
    return lambda stage, name: stage.patch(resource, name, {"spec": {"forProvider": fields}})


def use_config(config: str, kind: str = "ProviderConfig", **fields: Any) -> Act:
    """Change spec.providerConfigRef, and spec.forProvider by the way."""
    body = {"spec": {"providerConfigRef": {"kind": kind, "name": config}, "forProvider": fields}}
    return lambda stage, name: stage.patch("edt", name, body)


def delete(stage: Stage, name: str) -> None:
    resource = stage.state(name)["kind"].lower()
    stage.claims.reader.delete(resource, name, stage.claims.namespace)


def edited_behind(**changes: Any) -> Act:
    """A user changes the tenant in AWS."""
    return lambda stage, name: void(
        stage.claims.world.emulator.edit_tenant(stage.external_name(name), changes)
    )


def certificate_becomes(**change: object) -> Act:
    """A user serves the tokens of the managed certificate, or it comes to an end."""

    def act(stage: Stage, name: str) -> None:
        path = f"managed-certificates/{stage.external_name(name)}"
        admin(stage.claims.world, "PATCH", path, change)

    return act


def follow_instructions(stage: Stage, name: str, most: int = 99) -> None:
    """Make records of status.dnsInstructions, as the domain's owner would."""
    for record in stage.state(name)["status"]["dnsInstructions"][:most]:
        stage.claims.world.emulator.make_record(record["name"], record["type"], record["value"])


def records_are(*states: str) -> Callable[[Object], object]:
    """The states of status.dnsInstructions, in the order of its records."""
    return lambda mr: tuple(r["state"] for r in mr["status"].get("dnsInstructions", [])) == states


def void(_: object) -> None:
    """Acts answer nothing."""
