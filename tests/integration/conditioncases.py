"""Each state of the world that a managed resource's conditions tell of: how it is brought about, and what is
to be read then."""

import json
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
"""A domain of a tenant that somebody made by hand."""

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
        where = ("-n", self.claims.namespace, "--type=merge", "-p", json.dumps(body))
        self.claims.world.kubectl("patch", resource, name, *where)


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
    """Not ready, and nobody's fault."""
    return see(f"Ready=False/{reason}", "Synced=True/ReconcileSuccess", *more, says=says)


SERVED = see(
    "Ready=True/Available",
    "Deployed=True/Deployed",
    "Synced=True/ReconcileSuccess",
    "InSync=True/InSync",
    "CertificateReady=True/NotConfigured",
    "DNSReady=True/DNSNotConfigured",
)


def change(resource: str = "edt", **fields: Any) -> Act:
    """Change spec.forProvider."""
    return lambda stage, name: stage.patch(resource, name, {"spec": {"forProvider": fields}})


def use_config(config: str, kind: str = "ProviderConfig", **fields: Any) -> Act:
    """Change spec.providerConfigRef, and spec.forProvider by the way."""
    body = {"spec": {"providerConfigRef": {"kind": kind, "name": config}, "forProvider": fields}}
    return lambda stage, name: stage.patch("edt", name, body)


def delete(stage: Stage, name: str) -> None:
    resource = stage.state(name)["kind"].lower()
    stage.claims.world.kubectl("delete", resource, name, "-n", stage.claims.namespace, "--wait=false")


def edited_behind(**changes: Any) -> Act:
    """Somebody changes the tenant in AWS."""
    return lambda stage, name: void(
        stage.claims.world.emulator.edit_tenant(stage.external_name(name), changes)
    )


def certificate_becomes(**change: object) -> Act:
    """Somebody serves the tokens of the managed certificate, or it comes to an end."""

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


SERVING = (
    Case("plain", (SERVED,)),
    Case(
        "updating",
        (
            SERVED,
            change(parameters={"tier": "gold"}),
            see("Deployed=False/Deploying", "Ready=True/Available", "InSync=False/UpdatePending"),
            SERVED,
        ),
        stays_ready=True,
    ),
    Case(
        "update-fails",
        (
            SERVED,
            change(parameters={"tier": "gold"}),
            see(
                "Synced=False/ReconcileError",
                "Ready=True/Available",
                "InSync=False/UpdatePending",
                says="AccessDenied: not authorized",
            ),
        ),
        account="readonly",
        stays_ready=True,
    ),
    Case(
        "drifting",
        (
            SERVED,
            edited_behind(Parameters=[{"Name": "tier", "Value": "lead"}]),
            see("InSync=False/DriftDetected", "Ready=True/Available", says="parameters.tier"),
        ),
        spec={"driftPolicy": "Report"},
        fields={"parameters": {"tier": "gold"}},
        stays_ready=True,
    ),
    Case(
        "ineffective",
        (
            SERVED,
            change(parameters=None),
            see("InSync=False/UpdateIneffective", "Ready=True/Available", says="parameters.tier"),
        ),
        fields={"parameters": {"tier": "gold"}},
        stays_ready=True,
    ),
    Case(
        "freezing",
        (
            SERVED,
            use_config("frozen", parameters={"tier": "gold"}),
            see("InSync=False/Frozen", "Ready=True/Available", says="parameters.tier"),
        ),
        account="thawed",
        stays_ready=True,
    ),
    Case(
        "moved-config",
        (
            SERVED,
            use_config("elsewhere"),
            see("Synced=False/ReconcileError", "Ready=True/Available", says="is in account 2000000"),
            use_config("former"),
            SERVED,
        ),
        account="former",
        stays_ready=True,
    ),
)

DISABLED = (
    Case(
        "suspended",
        (
            waits("Disabled", "Deployed=True/Deployed", "InSync=True/InSync", says="enabled asks"),
            change(enabled=True),
            SERVED,
            change(enabled=False),
            waits("Disabled", "InSync=True/InSync"),
        ),
        fields={"enabled": False},
    ),
    Case(
        "disabled-behind",
        (
            SERVED,
            edited_behind(Enabled=False),
            waits("Disabled", "InSync=False/DriftDetected", says="disabled in AWS"),
        ),
        spec={"driftPolicy": "Report"},
        fields={"enabled": True},
    ),
)

UNDER_WAY = (
    Case("racing", (waits("Creating", "Deployed=False/Creating"), SERVED), account="racing"),
    Case(
        "deploying",
        (
            waits("Deploying", "Deployed=False/Deploying", "InSync=False/UpdatePending"),
            delete,
            waits("Disabling", "Deployed=False/Disabling"),
        ),
        fields={"distributionId": SLOW},
    ),
    Case("going", (SERVED, delete, waits("Deleting", "Deployed=False/Deleting"))),
    Case(
        "undying",
        (
            SERVED,
            delete,
            see(
                "Synced=False/ReconcileError",
                "Ready=False/AccessDenied",
                "Deployed=False/Deleting",
                says="delete tenant",
            ),
        ),
        account="undying",
    ),
)

REFUSED = (
    Case("conflict", (refused("DomainConflict", TAKEN),), fields={"domains": [TAKEN]}),
    Case(
        "conflict-elsewhere",
        (refused("DomainConflict", "CNAMEAlreadyExists"),),
        fields={"domains": [TAKEN]},
        account="elsewhere",
    ),
    Case("denied", (refused("AccessDenied", "AccessDenied: not authorized"),), account="denied"),
    Case(
        "invalid",
        (refused("InvalidSpec", "country codes"),),
        fields={"customizations": {"geoRestrictions": {"restrictionType": "whitelist", "locations": ["XX"]}}},
    ),
    Case("broken", (refused("AWSError", "SomethingNew: nobody has heard of it"),), account="broken"),
    Case(
        "many-problems",
        (refused("ValidationFailed", "parameters.colour"),),
        fields={"parameters": {"colour": "red"}},
    ),
    Case("uncovered", (refused("CertificateSANMismatch", "a.b.test"),), fields={"domains": ["a.b.test"]}),
    Case("strict", (refused("MissingParameters", "colour"),), fields={"distributionId": STRICT}),
    Case("bare", (refused("MissingCertificate", BARE),), fields={"distributionId": BARE}),
    Case("orphan", (refused("ParentNotFound", "E1NONE"),), fields={"distributionId": "E1NONE"}),
    Case(
        "groupless",
        (refused("ConnectionGroupNotFound", "cg_none"),),
        fields={"connectionGroupId": "cg_none"},
    ),
    Case("quota", (refused("QuotaExceeded", "limit of 10000"),), account="quota"),
    Case("throttled", (refused("Throttled", "Rate exceeded"),), account="throttled"),
    Case("byhand", (refused("AdoptionRefused", "edgetenants.io/adopt"),)),
    Case(
        "mismatched",
        (
            waits("Deploying"),
            use_config("elsewhere"),
            refused("AccountMismatch", "123456789012"),
            use_config("default", "ClusterProviderConfig"),
            waits("Deploying"),
        ),
        fields={"distributionId": SLOW},
    ),
)

HELD = (
    Case("frozen", (waits("Frozen", says="writes"),), account="frozen"),
    Case(
        "protected",
        (
            SERVED,
            delete,
            waits("DeletionHeld", "Deployed=True/Deployed", says="edgetenants.io/confirm"),
        ),
        spec={"deletionProtection": True},
    ),
)

CERTIFICATES = (
    Case(
        "dns-first",
        (
            waits(
                "DomainValidationPending",
                "CertificateReady=False/PendingValidation",
                "Deployed=False/Creating",
            ),
            see("Ready=False/DomainValidationPending", shows=records_are("Unknown")),
            follow_instructions,
            see("CertificateReady=True/Validated", "Ready=True/Available", "InSync=True/InSync"),
            see("CertificateReady=True/Validated", shows=records_are("Present")),
        ),
        fields={
            "domains": ["www.dns-first.test"],
            "managedCertificateRequest": {"validationTokenHost": "cloudfront"},
        },
    ),
    Case(
        "self-hosted",
        (
            waits("CertificatePending", "CertificateReady=False/PendingValidation"),
            see("Ready=False/CertificatePending", shows=records_are("Missing", "Missing")),
            lambda stage, name: follow_instructions(stage, name, most=1),
            see("Ready=False/CertificatePending", shows=records_are("Present", "Missing")),
            certificate_becomes(served=True),
            see("CertificateReady=True/Validated", "Ready=True/Available"),
        ),
        fields={"domains": ["a.hosted.test", "b.hosted.test"], "managedCertificateRequest": SELF_HOSTED},
    ),
    Case(
        "failing",
        (
            see("Ready=False/CertificatePending", "Deployed=True/Deployed"),
            certificate_becomes(status="failed", reason="CAA_ERROR"),
            waits("CertificateFailed", "CertificateReady=False/CertificateFailed", says="CAA_ERROR"),
        ),
        fields={"domains": ["www.failing.test"], "managedCertificateRequest": SELF_HOSTED},
    ),
    Case(
        "never-good",
        (
            see("Ready=False/CertificatePending", "Deployed=True/Deployed"),
            certificate_becomes(status="expired"),
            waits("CertificateExpired", "CertificateReady=False/CertificateExpired"),
        ),
        fields={"domains": ["www.never.test"], "managedCertificateRequest": SELF_HOSTED},
    ),
    Case(
        "expired",
        (
            see("Ready=False/CertificatePending", "Deployed=True/Deployed"),
            certificate_becomes(served=True),
            see("CertificateReady=True/Validated", "Ready=True/Available", "Deployed=True/Deployed"),
            certificate_becomes(status="expired"),
            waits(
                "CertificateExpired",
                "CertificateReady=False/PendingValidation",
                "Deployed=True/Deployed",
                says="AWS says expired. The certificate authority waits",
            ),
            certificate_becomes(served=True),
            see("CertificateReady=True/Validated", "Ready=True/Available"),
        ),
        fields={"domains": ["www.expired.test"], "managedCertificateRequest": SELF_HOSTED},
    ),
    Case(
        "attaching",
        (
            waits("CertificatePending", "CertificateReady=False/PendingValidation"),
            certificate_becomes(served=True),
            see("CertificateReady=False/Attaching", "Synced=False/ReconcileError"),
        ),
        fields={"domains": ["www.attaching.test"], "managedCertificateRequest": SELF_HOSTED},
        account="readonly",
    ),
    Case(
        "inactive",
        (waits("DomainInactive", "Deployed=True/Deployed", says="www.inactive.test"),),
        fields={"domains": ["www.inactive.test"]},
        account="blind",
    ),
    Case(
        "without-effect",
        (
            waits("DomainInactive", "InSync=True/InSync"),
            change(parameters=None),
            waits("UpdateIneffective", "InSync=False/UpdateIneffective", says="parameters.tier"),
        ),
        fields={"domains": ["www.without.test"], "parameters": {"tier": "gold"}},
        account="blind",
    ),
    Case(
        "records",
        (see("DNSReady=False/DNSError", "Ready=True/Available"),),
        fields={"dns": {"configRef": {"kind": "ClusterProviderConfig", "name": "default"}}},
    ),
)

GROUP = "ConnectionGroup"
GROUP_SERVED = see("Ready=True/Available", "Deployed=True/Deployed", "InSync=True/InSync")
GROUPS = (
    Case(
        "group",
        (
            GROUP_SERVED,
            change("ecg", ipv6Enabled=False),
            see("Ready=True/Available", "Deployed=False/Deploying", "InSync=False/UpdatePending"),
            GROUP_SERVED,
            delete,
            waits("Disabling", "Deployed=False/Disabling"),
            waits("Deleting", "Deployed=False/Deleting"),
        ),
        kind=GROUP,
    ),
    Case("group-suspended", (waits("Disabled"),), fields={"enabled": False}, kind=GROUP),
    Case("group-frozen", (waits("Frozen", "Deployed=False/Creating"),), account="frozen", kind=GROUP),
    Case("group-quota", (refused("QuotaExceeded", "limit of 100"),), account="quota", kind=GROUP),
    Case(
        "group-protected",
        (GROUP_SERVED, delete, waits("DeletionHeld", "Deployed=True/Deployed")),
        spec={"deletionProtection": True},
        kind=GROUP,
    ),
)

CASES = (*SERVING, *DISABLED, *UNDER_WAY, *REFUSED, *HELD, *CERTIFICATES, *GROUPS)
