"""Each state of the world that a managed resource's conditions tell of: how it is brought about, and what is
to be read then."""

from tests.integration.condition_scripts import (
    BARE,
    SELF_HOSTED,
    SLOW,
    STRICT,
    TAKEN,
    Case,
    certificate_becomes,
    change,
    delete,
    edited_behind,
    follow_instructions,
    records_are,
    refused,
    see,
    use_config,
    waits,
)

SERVED = see(
    "Ready=True/Available",
    "Deployed=True/Deployed",
    "Synced=True/ReconcileSuccess",
    "InSync=True/InSync",
    "CertificateReady=True/NotConfigured",
    "DNSReady=True/DNSNotConfigured",
)


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
            waits("Disabled", "Deployed=True/Deployed", "InSync=True/InSync", says="enabled is false"),
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
    Case(
        "in-disabled-group",
        (waits("ConnectionGroupDisabled", says="To enable it"),),
        fields={"connectionGroupIdRef": {"name": "group-suspended"}},
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
