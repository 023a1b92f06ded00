"""What a managed resource says: the finding, its cause in AWS's words, and the next action."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.config.resolved import ResolvedConfig
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from provider.cloudfront.account import sessions
from provider.cloudfront.aws.domain_calls import Conflict, DomainCalls
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.certificate import conditions as certificate_conditions
from provider.cloudfront.safety import advice
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.desired import Tenant
from tests.unit.provider.cloudfront.certificate.test_certificates import requested
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, NOT_OWNED, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, World, managed

CREATE, UPDATE = "CreateDistributionTenant", "UpdateDistributionTenant"
ELSEWHERE = "ListDomainConflicts"
TAKEN = "One or more of the CNAMEs you provided are already associated with a different resource"
"""CloudFront's words, which do not say which."""


def refusing(operation: str, code: str, words: str, **asked) -> World:
    world = World(managed({**FOR_PROVIDER, **asked}))
    world.cloudfront.refuse[operation] = AwsError(operation, code, words, status=400)
    return world


# Domains that another client has.


def test_a_domain_of_another_account_is_named_before_the_tenant_exists():
    world = World(managed(FOR_PROVIDER))
    held = Conflict("shop.acme.com", "distribution-tenant", "***abc", "******789012")
    world.cloudfront.elsewhere = {"shop.acme.com": held}
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert world.error.message == (
        "spec.forProvider.domains: shop.acme.com is served by distribution-tenant ***abc of account "
        "******789012. Release the domain there, or remove it here"
    )


def test_where_cloudfront_tells_of_nobody_the_domains_and_the_way_on_are_told():
    world = refusing(CREATE, "CNAMEAlreadyExists", TAKEN)
    world.reconcile()
    assert world.error.message == (
        "spec.forProvider.domains: a distribution or tenant has one of acme.example.com, shop.acme.com, and "
        "AWS does not say which one; no tenant of this account has it. Ask its owner to release the domain "
        "in AWS, or remove the domain here. To find out which domain it is, add one at a time. "
        f"AWS: CNAMEAlreadyExists: {TAKEN}"
    )
    world.cloudfront.refuse.clear()
    world.settle()
    world.edit(domains=[*FOR_PROVIDER["domains"], "new.example.com"])
    world.cloudfront.refuse[UPDATE] = AwsError(UPDATE, "CNAMEAlreadyExists", TAKEN)
    world.reconcile()
    assert (
        "a distribution or tenant has new.example.com, and AWS does not say which one" in world.error.message
    )
    assert "one domain at a time" not in world.error.message


@pytest.mark.parametrize(
    "own",
    [
        {"managedCertificateRequest": {"validationTokenHost": "self-hosted"}},
        {"customizations": {"certificate": {"arn": "arn:aws:acm:us-east-1:123456789012:certificate/own"}}},
    ],
)
def test_cloudfront_is_not_asked_by_a_certificate_that_does_not_cover_the_domains(own):
    world = refusing(CREATE, "CNAMEAlreadyExists", TAKEN, **own)
    cloudfront: FakeCloudFront = world.cloudfront
    cloudfront.certificates["arn:aws:acm:us-east-1:123456789012:certificate/own"] = next(
        iter(cloudfront.certificates.values())
    )
    calls = world.reconcile()
    assert CREATE in calls
    assert ELSEWHERE not in calls


class Asked(DomainCalls):
    """ListDomainConflicts, as botocore is called."""

    def __init__(self):
        self._cloudfront, self.by = self, []

    def list_domain_conflicts(self, Domain, DomainControlValidationResource):  # noqa: N803
        self.by.append((Domain, DomainControlValidationResource))
        return {}


def test_other_accounts_are_asked_for_by_a_tenant_or_by_a_distribution():
    calls = Asked()
    calls.conflicts("a.example.com", "dt_1")
    calls.conflicts("a.example.com", "E1")
    assert [by for _, by in calls.by] == [{"DistributionTenantId": "dt_1"}, {"DistributionId": "E1"}]


# What a claim's author can do, and what the author of a managed resource can.

CLAIM = {"apiVersion": "platform.edgetenants.io/v1alpha1", "kind": "TenantClaim", "name": "acme", "uid": "c"}


def composed(world: World, owner: dict[str, str] = CLAIM) -> World:
    """A claim composes the resource."""
    world.obj["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return world


def test_a_deletion_that_its_tag_holds_up_advises_what_can_be_done_without_the_claim():
    world = composed(World())
    world.settle()
    world.cloudfront.edit("dt_1", tags={})
    world.restart()
    world.delete()
    world.reconcile()
    told = world.condition("Ready")[2]
    assert "set the annotation edgetenants.io/adopt of DistributionTenant acme to dt_1" in told
    assert "spec.adopt" not in told


@pytest.mark.parametrize(
    ("owner", "advised"),
    [
        (
            CLAIM,
            (
                "set spec.adopt.tenantId of the claim to dt_1, which its plan must allow (allow.adopt); or "
                "create the claim under another name"
            ),
        ),
        (
            {**CLAIM, "apiVersion": "example.com/v1", "kind": "XSite"},
            (
                "set the annotation edgetenants.io/adopt to dt_1; or choose another name with the annotation "
                "crossplane.io/external-name"
            ),
        ),
    ],
)
def test_an_adoption_is_advised_to_who_can_follow(owner, advised):
    world = composed(World(), owner)
    world.cloudfront.add(name="shop.acme")
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert world.condition("Ready")[2] == (
        f"tenant shop.acme (dt_1) exists in CloudFront, and it has no owner. To adopt it, {advised}"
    )


def test_the_groups_of_claims_are_taken_over_by_the_platform_team():
    world = composed(Groups())
    world.cloudfront.add_group("shop.front", tags={})
    world.reconcile()
    assert "have the platform team set the annotation edgetenants.io/adopt of this" in world.error.message


@pytest.mark.parametrize(
    ("by_claim", "where"),
    [
        (True, "spec.parameters of the claim, or parameters of its plan"),
        (False, "spec.forProvider.parameters"),
    ],
)
def test_parameters_are_added_and_removed_where_somebody_wrote_them(by_claim, where):
    world = World(managed({**FOR_PROVIDER, "parameters": {"other": "x"}}))
    world.cloudfront.put_distribution(DISTRIBUTION, parameters={"tenantName": True})
    (composed(world) if by_claim else world).reconcile()
    assert f"requires tenantName. Add them to {where}" in world.error.message
    assert f"defines tenantName. Remove it from {where}" in world.error.message


@pytest.mark.parametrize(
    ("by_claim", "advised"), [(True, "Correct the claim or its plan"), (False, "Correct the resource")]
)
@pytest.mark.parametrize("operation", ["CreateDistributionTenant", "UpdateDistributionTenant"])
def test_what_aws_refuses_is_corrected_where_somebody_wrote_it(operation, by_claim, advised):
    world = World()
    if operation.startswith("Update"):
        world.settle()
        world.edit(parameters={"tier": "gold"})
    world.cloudfront.refuse[operation] = AwsError(operation, "InvalidArgument", "not valid", status=400)
    (composed(world) if by_claim else world).reconcile()
    assert str(world.error).endswith(
        f"InvalidArgument: not valid. {advised}; the provider retries as soon as it changes"
    )


@pytest.mark.parametrize("code", ["AccessDenied", "ExpiredToken"])
def test_what_is_refused_otherwise_is_no_fault_of_a_claim(code):
    world = composed(World())
    refusal = AwsError("CreateDistributionTenant", code, "no", status=403)
    world.cloudfront.refuse["CreateDistributionTenant"] = refusal
    world.reconcile()
    assert "Correct" not in str(world.error)


def test_a_certificate_is_chosen_in_the_claim():
    world = composed(World(managed({**FOR_PROVIDER, "domains": ["www.customer.test"]})))
    world.reconcile()
    assert world.ready() == ("False", "CertificateSANMismatch")
    assert world.error.message.endswith("Set spec.certificate of the claim, or certificate of its plan")


# What continues only after a while, and what only after a user's word.


def ask_for_a_look(world: World, when: str = "now") -> None:
    """The runtime reconciles at once, and answers in status."""
    world.obj["metadata"]["annotations"]["crossplane.io/reconcile-requested-at"] = when


def test_a_certificate_that_failed_says_when_the_next_is_asked_for():
    world = requested()
    for times, pause in enumerate(["10 minutes", "20 minutes", "40 minutes", "80 minutes", "2 hours"], 1):
        world.cloudfront.settle_certificate("failed", "CAA_ERROR")
        world.settle()
        assert world.ready() == ("False", "CertificateFailed")
        told = world.condition("Ready")[2]
        assert (
            f"The provider requests another one {pause} after it saw this; or immediately when the spec "
            "changes, or the annotation crossplane.io/reconcile-requested-at of this resource is set to a "
            "new value, but at most three times per hour."
        ) in told
        writes = world.status_writes
        world.clock.advance(500)
        world.reconcile()
        assert world.status_writes == writes, "nothing that moves is written"
        world.clock.advance(600 * 2**times)
        world.settle()


def test_a_requested_reconcile_asks_for_the_certificate_at_once_and_once():
    world = requested()
    world.cloudfront.settle_certificate("failed", "CAA_ERROR")
    world.settle()
    assert UPDATE not in world.reconcile()
    ask_for_a_look(world)
    assert UPDATE in world.reconcile()
    world.obj["status"]["lastHandledReconcileAt"] = "now"
    world.settle()
    world.cloudfront.settle_certificate("failed", "CAA_ERROR")
    world.settle()
    assert UPDATE not in world.reconcile(), "what was answered asks for nothing more"


def test_a_requested_reconcile_looks_where_dns_leads_at_once():
    world = World()
    world.cloudfront.pointing = set(FOR_PROVIDER["domains"])
    world.settle()
    world.clock.advance(4000)
    world.settle()
    assert world.reconcile() == ["GetDistributionTenant"]
    ask_for_a_look(world)
    assert "VerifyDnsConfiguration" in world.reconcile()
    world.obj["status"]["lastHandledReconcileAt"] = "now"
    assert world.reconcile() == ["GetDistributionTenant"]


ON_HOLD = (
    "is on hold; its Ready condition says how to proceed. To take the tenant over, do not confirm that "
    "deletion. Instead, set spec.managementPolicies of DistributionTenant acme to [Observe]. This resource "
    "then changes it to its own spec"
)


@pytest.mark.parametrize(
    ("annotations", "ready", "says"),
    [
        (
            {"crossplane.io/paused": "true"},
            None,
            "while it is paused. Remove the annotation crossplane.io/paused of DistributionTenant acme",
        ),
        (
            {},
            "DeletionHeld",
            ON_HOLD,
        ),
    ],
)
def test_who_waits_for_a_predecessor_says_what_that_one_waits_for(annotations, ready, says):
    before = managed(uid="before", annotations=annotations)
    before["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    before["status"] = {"atProvider": {"id": "dt_1"}}
    if ready:
        told = {"type": "Ready", "status": "False", "reason": ready, "message": "confirm it"}
        before["status"]["conditions"] = [{**told, "lastTransitionTime": "2026-01-02T00:00:00Z"}]
    world = World(peers=lambda *_: [Managed(before)])
    tags = {"edgetenants.io/owner": "cluster-1/DistributionTenant/shop/shop.acme"}
    world.cloudfront.add(name="shop.acme", tags=tags)
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert says in world.error.message
    assert world.condition("Ready") == ("False", "DeletionHeld", world.error.message)


def test_who_waits_for_a_predecessor_that_others_hold_names_their_finalizers():
    before = managed(uid="before")
    before["metadata"] |= {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["example.com/keep"]}
    before["status"] = {"atProvider": {"id": "dt_1"}}
    world = World(peers=lambda *_: [Managed(before)])
    tags = {"edgetenants.io/owner": "cluster-1/DistributionTenant/shop/shop.acme"}
    world.cloudfront.add(name="shop.acme", tags=tags)
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert world.error.message.endswith(
        "The deletion of DistributionTenant acme waits for other finalizers: example.com/keep. "
        "The controllers that set them must remove them"
    )
    assert world.condition("Ready") == ("False", "DeletionHeld", world.error.message)


# What AWS refuses for a while.


def test_a_domain_that_does_not_lead_here_yet_asks_for_dns_and_not_for_another_argument():
    world = refusing(CREATE, "InvalidArgument", NOT_OWNED)
    world.reconcile()
    assert isinstance(world.error, NotYet)
    assert world.ready() == ("False", "DomainValidationPending")
    assert world.condition("Ready")[2] == (
        "create tenant shop.acme: CloudFront does not see yet that the domains point to it. Create the "
        "records of status.dnsInstructions; the provider retries every five minutes. AWS: InvalidArgument: "
        f"{NOT_OWNED}"
    )
    assert world.status["dnsInstructions"], "the records that the message speaks of"


def test_a_quota_names_who_acts():
    world = refusing(CREATE, "EntityLimitExceeded", "You have exceeded the maximum number of tenants.")
    world.reconcile()
    assert world.ready() == ("False", "QuotaExceeded")
    assert world.condition("Ready")[2] == (
        "create tenant shop.acme: EntityLimitExceeded: You have exceeded the maximum number of tenants. The "
        'account\'s owner must request an increase of "distribution tenants per account" in Service Quotas, '
        "or delete distribution tenants that are not needed. Then the provider creates those that wait: "
        "namespaces take turns, and within each the oldest comes first"
    )


def test_a_quota_of_one_resource_is_no_quota_of_the_account():
    world = refusing(CREATE, "EntityLimitExceeded", "At most 5 domains.")
    world.reconcile()
    assert world.ready() == ("False", "QuotaExceeded")
    assert world.condition("Ready")[2] == (
        "create tenant shop.acme: EntityLimitExceeded: At most 5 domains. A quota of the AWS account is used "
        "up: the account's owner must request an increase from AWS, or remove what is not needed. The "
        "provider retries every ten minutes"
    )


# Credentials that AWS does not take any more.

SECRET = {"secretRef": {"namespace": "crossplane-system", "name": "aws", "key": "creds"}}
FILE = b"[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = secret\n"
HOPS = {"assumeRoleChain": [{"roleARN": "arn:aws:iam::123456789012:role/edge"}]}


@pytest.mark.parametrize(
    ("source", "block", "namespace", "operation", "says"),
    [
        (
            "Secret",
            SECRET,
            "",
            "",
            "Renew them in Secret crossplane-system/aws, key creds; the provider reads it again",
        ),
        (
            "Secret",
            SECRET,
            "team",
            "",
            "Renew them in Secret team/aws, key creds; the provider reads it again immediately",
        ),
        (
            "Environment",
            {"env": {"name": "KEYS"}},
            "",
            "",
            "in the environment variable KEYS of the provider",
        ),
        ("Filesystem", {"fs": {"path": "/keys"}}, "", "", "Renew them in the file /keys of the provider"),
        ("InjectedIdentity", {}, "", "", "Check the AWS identity of the provider's process"),
        (
            "Secret",
            SECRET,
            "",
            "AssumeRole",
            "Check the roles of spec.assumeRoleChain or spec.webIdentity of",
        ),
    ],
)
def test_credentials_that_ran_out_say_where_they_are_renewed(
    monkeypatch, source, block, namespace, operation, says
):
    def refused(_):
        raise AwsError(operation or "GetCallerIdentity", "ExpiredToken", "The token is expired.", status=403)

    monkeypatch.setattr(sessions.CloudFrontCalls, "caller", refused)
    kind = "ProviderConfig" if namespace else "ClusterProviderConfig"
    config = ResolvedConfig(
        key=ProviderConfigKey(kind, "default", namespace),
        spec={"credentials": {"source": source, **block}, **(HOPS if operation else {})},
        uid="u",
        generation=1,
        source=source,
        credentials=FILE if source in ("Secret", "Environment", "Filesystem") else None,
    )
    with pytest.raises(ExternalError) as caught:
        sessions.Accounts(FakeClock()).of(config)
    told = caught.value.message
    assert "default: get the caller's account: ExpiredToken: The token is expired. " in told
    assert says in told
    assert caught.value.conditions[0].message == told
    assert "AKIA" not in told


# Two that write to one tenant.


def test_who_writes_against_another_writer_is_told_of_it():
    world = World()
    world.settle()
    for times in range(1, 4):
        world.cloudfront.edit("dt_1", parameters={"tenantName": f"foreign {times}"})
        world.reconcile()
        told = "Another client changed tenant shop.acme three times within ten minutes: another provider of"
        assert (told in world.events[-1]) is (times == 3)
    assert "installation cluster-1, or another tool. Stop one of the two" in world.events[-1]
    assert not world.events[-1].startswith("update: ")
    world.clock.advance(700)
    world.settle()
    world.cloudfront.edit("dt_1", parameters={"tenantName": "foreign"})
    world.reconcile()
    assert "Another client" not in world.events[-1]


@pytest.mark.parametrize("kind", ["tenant", "group"])
def test_what_is_repaired_again_and_again_is_not_in_sync_until_that_ends(kind):
    world = World() if kind == "tenant" else Groups({"ipv6Enabled": True})
    world.settle()
    told = []
    for _ in range(4):
        if kind == "tenant":
            world.cloudfront.edit("dt_1", parameters={"tenantName": "foreign"})
        else:
            world.cloudfront.groups[world.group.id] = replace(world.group, ipv6_enabled=False)
        for _ in range(2):
            world.reconcile()
            world.cloudfront.deploy()
            told.append(world.condition("InSync"))
    assert "DriftDetected" not in {each[1] for each in told[:4]}
    writes = world.status_writes
    assert {each[:2] for each in told[4:]} == {("False", "DriftDetected")}
    assert len({each[2] for each in told[4:]}) == 1, "one message while it goes on"
    assert "Another client changed" in told[-1][2]
    assert world.ready()[0] == "True"
    world.clock.advance(601)
    world.settle()
    assert world.condition("InSync")[:2] == ("True", "InSync")
    assert world.status_writes > writes


def test_an_update_that_always_meets_another_writer_says_so():
    world = World()
    world.settle()
    world.edit(parameters={"tenantName": "b"})
    world.cloudfront.refuse[UPDATE] = AwsError(UPDATE, "PreconditionFailed", "stale", status=412)
    world.reconcile()
    assert "stale. Another client changed it at the same time." in world.error.message
    assert "another provider of this installation or another tool also writes to it" in world.error.message


# DNS that leads elsewhere after a tenant went live.


def test_a_record_that_somebody_removed_is_told_once():
    world = World()
    domains = FOR_PROVIDER["domains"]
    world.cloudfront.pointing = set(domains)
    world.settle()
    world.clock.advance(4000)
    world.settle()
    assert {each["state"] for each in world.status["dnsInstructions"]} == {"Present"}
    world.cloudfront.pointing = {domains[0]}
    world.clock.advance(25 * 3600)
    assert world.client.observe(world.mr).drifted == (
        f"DNS no longer leads {domains[1]} to CloudFront, so visitors do not get there. Create the records "
        "of status.dnsInstructions again"
    )
    world.clock.advance(25 * 3600)
    world.reconcile()
    assert world.ready() == ("True", "Available"), "CloudFront answers for it all the same"
    world.clock.advance(25 * 3600)
    assert world.client.observe(world.mr).drifted == ""


# Deletions.


def test_a_group_that_is_only_disabled_is_not_told_as_deleted():
    world = Groups()
    world.settle()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    for _ in range(3):
        world.reconcile()
        world.clock.advance(20)
    assert isinstance(world.error, NotYet)
    assert not [
        group for group in world.cloudfront.groups.values() if group.name == "shop.front" and group.enabled
    ]
    assert not [event for event in world.events if event.startswith("delete")]


ADOPTS = {"crossplane.io/external-name": "dt_missing", "edgetenants.io/adopt": "dt_missing"}


@pytest.mark.parametrize(
    ("annotations", "by_claim", "where"),
    [
        (ADOPTS, True, "spec.adopt.tenantId of the claim"),
        (ADOPTS, False, "metadata.annotations[crossplane.io/external-name]"),
        ({"crossplane.io/external-name": "x" * 200}, True, "metadata.name of the claim"),
        ({"crossplane.io/external-name": ".a"}, True, "metadata.name of the claim"),
        ({"crossplane.io/external-name": ".a"}, False, "metadata.annotations[crossplane.io/external-name]"),
    ],
)
def test_the_name_is_wrong_where_somebody_wrote_it(annotations, by_claim, where):
    world = World(managed(FOR_PROVIDER, annotations=annotations))
    (composed(world) if by_claim else world).reconcile()
    assert world.ready() == ("False", "ValidationFailed")
    assert world.condition("Ready")[2].startswith(f"{where}: ")


def test_many_tenants_to_take_from_are_nothing_that_a_claims_author_removes():
    mine, claims = managed(), composed(World()).obj
    assert "Remove the ids" in advice.sources(Managed(mine))
    assert advice.sources(Managed(claims)).startswith("The domains belong to many tenants: each reconcile")
    assert advice.sources(Managed(claims)).endswith("No action is needed")


def test_a_claim_is_suspended_and_a_tenant_disabled():
    assert advice.disabling(Managed(managed())) == "set spec.forProvider.enabled to false there"
    assert advice.disabling(Managed(composed(World()).obj)) == "suspend its claim"


@pytest.mark.parametrize(
    ("enabled", "policy", "says"),
    [
        (
            True,
            "Report",
            ", and the drift policy keeps it so. Enable it there, or set spec.driftPolicy to Enforce.",
        ),
        (None, "Enforce", ". Set spec.forProvider.enabled to true to enable it."),
    ],
)
def test_who_enables_a_tenant_that_was_disabled_in_aws(enabled, policy, says):
    asked = {key: value for key, value in FOR_PROVIDER.items() if key != "enabled"}
    world = World(managed(asked if enabled is None else {**asked, "enabled": enabled}, driftPolicy=policy))
    world.settle()
    if enabled is None:
        world.obj["spec"]["forProvider"].pop("enabled", None)
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    assert world.condition("Ready")[2] == f"The tenant is disabled in AWS{says}"


def test_a_tenant_that_the_provider_may_not_enable_is_enabled_in_aws():
    world = World(managed(managementPolicies=["Observe", "Create"]))
    world.settle()
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    assert world.condition("Ready")[2] == "The tenant is disabled in AWS. Enable it there."


def test_a_tenant_that_was_disabled_waits_while_nothing_may_be_written():
    world = World()
    world.settle()
    world.context["frozen"] = "spec.writes of ClusterProviderConfig default is Frozen"
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    assert world.ready() == ("False", "Disabled")
    why = "The provider does not enable it because spec.writes of ClusterProviderConfig default is Frozen."
    assert why in world.condition("Ready")[2]


# Where no one needs to act, the message says that, too.

NO_ACTION = "No action is needed."


def test_a_roll_out_says_that_it_clears_by_itself():
    world = World()
    world.cloudfront.deploys = False
    world.reconcile()
    world.reconcile()
    assert world.ready() == ("False", "Deploying")
    for type_ in ("Ready", "Deployed", "InSync"):
        assert world.condition(type_)[2].endswith(NO_ACTION), type_


def test_so_does_a_deletion_under_way():
    world = World()
    world.settle()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    world.reconcile()
    world.reconcile()
    assert world.ready() == ("False", "Disabling")
    assert world.condition("Ready")[2].endswith(NO_ACTION)
    world.cloudfront.deploy()
    world.reconcile()
    status, reason, message = world.condition("Deployed")
    assert (status, reason) == ("False", "Deleting")
    assert message.endswith("is being deleted. No action is needed, unless Ready shows that AWS refuses it.")


def test_what_does_not_exist_yet_leads_to_what_it_waits_for():
    world = refusing("CreateDistributionTenant", "AccessDenied", "no")
    world.reconcile()
    assert world.condition("Deployed")[2] == "The tenant does not exist yet. Ready shows what it waits for."


def test_writes_that_are_frozen_say_who_lifts_that():
    world = World(frozen="spec.writes of ProviderConfig a is Frozen")
    world.reconcile()
    assert world.condition("Ready")[2].endswith(
        "writes nothing to AWS for tenant shop.acme. Writes resume when that setting is removed"
    )


def test_an_update_without_effect_says_what_to_do_with_the_fields():
    world = World()
    world.settle()
    world.cloudfront.keeps_ineffective = frozenset({"parameters"})
    world.edit(parameters={"tier": "gold"})
    for _ in range(4):
        world.reconcile()
    assert world.condition("InSync")[1] == "UpdateIneffective"
    assert world.condition("InSync")[2].endswith(
        "set these fields to the values in AWS, or change the values in AWS"
    )


def test_a_certificate_that_failed_says_by_which_permission_its_reason_is_read():
    asked, seen = Tenant("a", certificate_request=Request("self-hosted")), FakeCloudFront().add()
    for reason, told in ((None, "permit acm:DescribeCertificate"), ("CAA_ERROR", "CAA_")):
        failed = Certificate("arn:1", "failed", failure_reason=reason, requests=1)
        message = certificate_conditions.derive(asked, seen, failed).message
        assert f"AWS says failed ({'' if reason else 'to see ACM'}" in message
        assert told in message
        assert ("DescribeCertificate" in message) is (reason is None)
