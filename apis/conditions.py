"""Condition types and reasons of edgetenants' kinds. Crossplane's own are in
`edgetenants_runtime.api.conditions`.

The lists are complete: no condition has a reason that is missing here. A reason is not removed without a
deprecation note, because users select by it. The docstring under each says what it means, who acts, and
whether it clears without action; the reference is generated from them.
"""

from enum import StrEnum
from typing import Final

NOT_DONE: Final = ". Not done yet: "
AS_IT_IS: Final = "A field whose reference cannot be resolved keeps its value in AWS"
"""InSync of a resource that has everything else, before NOT_DONE."""
"""Separates the two parts of InSync's message: the differences, and what delays the update."""
DNS_UNSEEN: Final = "The state of the records of status.dnsInstructions is unknown: "
"""Starts the part of DNSReady's message, and of a claim's Live, about records that the provider may not
check."""


class TenantConditionType(StrEnum):
    """Condition types of DistributionTenant and ConnectionGroup, in addition to Ready and Synced."""

    DEPLOYED = "Deployed"
    """CloudFront has rolled out the last change everywhere."""
    IN_SYNC = "InSync"
    """AWS has the desired state."""
    CERTIFICATE_READY = "CertificateReady"
    """The requested managed certificate is attached."""
    DNS_READY = "DNSReady"
    """The DNS records that the provider manages are in place."""
    RECONCILING = "Reconciling"
    """A change is in progress."""


class TenantReadyReason(StrEnum):
    """Reasons of type Ready, in addition to Crossplane's Available, Creating and Deleting. All mean that not
    every domain is served. Synced has the errors among them too, with the same message."""

    DEPLOYING = "Deploying"
    """CloudFront is rolling out the tenant for the first time. No action is needed; clears within minutes."""
    DISABLING = "Disabling"
    """The tenant is being disabled before its deletion. No action is needed; clears within minutes."""
    DISABLED = "Disabled"
    """The tenant is disabled: by `enabled: false`, or in AWS. To serve again, the resource's author sets
    `enabled: true`; this does not clear without action under driftPolicy Report or Suspend."""
    DOMAIN_CONFLICT = "DomainConflict"
    """Another distribution or tenant, in this AWS account or in another, has a domain, or the domain is kept
    for another namespace whose tenant served it. The owner of the domain or an administrator releases it
    there, or the resource's author removes it here; then this clears."""
    DOMAIN_VALIDATION_PENDING = "DomainValidationPending"
    """CloudFront does not see yet that the domain leads to it, or the TXT record that proves a domain is
    required and missing. The domain's owner creates the records of status.dnsInstructions; the provider
    retries every five minutes, and this clears."""
    DOMAIN_INACTIVE = "DomainInactive"
    """CloudFront does not answer for a domain, for no known reason. No action is needed at first; if it
    lasts, check the domain's certificate and DNS. Or the tenant does not have the domain yet: the message
    says why, and what to do."""
    CERTIFICATE_PENDING = "CertificatePending"
    """The managed certificate is being validated or attached; CertificateReady says which. The domain's owner
    creates the records of status.dnsInstructions, if there are any; then this clears."""
    CERTIFICATE_FAILED = "CertificateFailed"
    """The managed certificate could not be issued, or was revoked; the message has ACM's reason. The domain's
    owner removes the cause (often a CAA record). The provider requests another certificate after the time in
    the message, or at once with the annotation crossplane.io/reconcile-requested-at."""
    CERTIFICATE_EXPIRED = "CertificateExpired"
    """The tenant's certificate has expired. The provider requests another managed certificate once DNS leads
    to CloudFront; the resource's author replaces a custom one."""
    CERTIFICATE_SAN_MISMATCH = "CertificateSANMismatch"
    """The certificate does not cover every domain. The resource's author changes the certificate or the
    domains; then this clears."""
    MISSING_CERTIFICATE = "MissingCertificate"
    """Neither the tenant nor its distribution has a certificate. The resource's author adds a certificate or
    a managedCertificateRequest, or the distribution's owner adds one."""
    MISSING_PARAMETERS = "MissingParameters"
    """Parameters that the distribution requires are missing; the message names them. The resource's author
    adds them."""
    PARENT_NOT_FOUND = "ParentNotFound"
    """The distribution of `distributionId` does not exist, or is not multi-tenant. The resource's author
    corrects the id, or the distribution's owner creates it; the provider retries."""
    CONNECTION_GROUP_NOT_FOUND = "ConnectionGroupNotFound"
    """The connection group of `connectionGroupId` does not exist. The resource's author corrects the id, or
    the group's owner creates it; the provider retries."""
    CONNECTION_GROUP_DISABLED = "ConnectionGroupDisabled"
    """The tenant's connection group is disabled in AWS, so CloudFront serves none of its tenants. The group's
    owner sets `enabled: true` on its ConnectionGroup, or enables it in AWS; this clears within two
    minutes."""
    VALIDATION_FAILED = "ValidationFailed"
    """Checks before the first write found that the desired state cannot work; the message lists every
    problem. The resource's author corrects them."""
    INVALID_SPEC = "InvalidSpec"
    """AWS refused the desired state as invalid; the message has its words. The resource's author corrects it,
    and the provider tries a change at once. Until then it retries less and less often."""
    ACCESS_DENIED = "AccessDenied"
    """AWS refused the credentials, or a permission is missing; the message names the call. The platform team
    extends the IAM policy; the provider retries."""
    AWS_ERROR = "AWSError"
    """AWS answered with another error; the message has its words. The provider retries."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """A quota of the AWS account is used up. The account's owner requests an increase or removes unused
    resources; those that wait are created in order."""
    THROTTLED = "Throttled"
    """AWS is throttling requests. No action is needed; the provider retries."""
    ADOPTION_REFUSED = "AdoptionRefused"
    """A tenant of this name exists in CloudFront, and its owner tag names another owner or none. It may have
    belonged to this resource before. To adopt it, set the annotation edgetenants.io/adopt to its id;
    otherwise, use another external name. Or no such tenant exists, but the name is kept for another
    namespace: use another name, or an administrator releases it. Does not clear without action."""
    ACCOUNT_MISMATCH = "AccountMismatch"
    """The credentials belong to another AWS account than the tenant, or than the one to which its creation
    was sent. The provider writes nothing. The platform team restores the ProviderConfig; then this clears."""
    UPDATE_INEFFECTIVE = "UpdateIneffective"
    """The tenant does not serve because of a difference that two identical updates did not change. The
    provider does not repeat the update until the resource or the tenant changes. The resource's author checks
    the fields that InSync names."""
    FROZEN = "Frozen"
    """Writes are frozen, by the ProviderConfig, by the provider's flag --read-only or by a dry run: the
    tenant or group is not created, or the tenant does not get new domains. The platform team unfreezes
    them; then this clears."""
    DELETION_HELD = "DeletionHeld"
    """The provider deletes nothing in AWS: deletionProtection is on, AWS does not show whether a connection
    group has tenants or to which account the credentials belong, the creation was sent to another account
    than that of the credentials, the provider may have lost its installation id, a restored backup had the
    owner reference of an object that does not exist, the kind's CRD is itself being deleted, or the provider
    runs with --hold-deletions. To proceed, set the annotation or the field shown in the message; this does
    not clear without action. Or the tenant is gone, and DNS records that the resource made lead to another
    tenant, which does not manage them; this clears when it does, or no tenant has the domain. On a new
    resource: the resource that had the tenant before is being deleted, and its deletion is held or paused;
    resume it if it is paused."""
    RECREATION_HELD = "RecreationHeld"
    """The tenant or connection group is gone from AWS, and its recreation is on hold: for one poll interval,
    in which the provider checks the others first, and then only while too many of the account's are gone at
    once, which looks like an accident. If it is not one, set the annotation edgetenants.io/confirm of the
    ProviderConfig as the message says; this also clears when the tenants are back. Under driftPolicy Report
    and Suspend, recreation is on hold until the policy is Enforce."""


class DeployedReason(StrEnum):
    """Reasons of type Deployed."""

    DEPLOYED = "Deployed"
    """The last change is rolled out. No action is needed."""
    CREATING = "Creating"
    """The tenant is being created. No action is needed; clears when it exists."""
    DEPLOYING = "Deploying"
    """A change is being rolled out. No action is needed; clears within minutes."""
    DISABLING = "Disabling"
    """The tenant is being disabled before its deletion. No action is needed; clears within minutes."""
    DELETING = "Deleting"
    """The tenant is disabled and waits to be deleted. No action is needed; clears when it is deleted."""


class InSyncReason(StrEnum):
    """Reasons of type InSync."""

    IN_SYNC = "InSync"
    """AWS has the desired state. No action is needed."""
    DRIFT_DETECTED = "DriftDetected"
    """The resource was changed in AWS; status.drift shows the differences. If it is gone from AWS, the
    message says so, and Ready what its recreation waits for; Unknown if AWS does not say whether it is gone.
    The provider repairs it under driftPolicy Enforce, and leaves it under Report."""
    UPDATE_PENDING = "UpdatePending"
    """A change of the spec was sent and is not rolled out yet, or waits to be sent: the message says why. No
    action is needed unless the message names someone who must act; clears when the change is rolled out."""
    UPDATE_INEFFECTIVE = "UpdateIneffective"
    """Two identical updates did not change the difference in AWS. The provider does not repeat the update
    until the resource or the tenant changes. The resource's author checks the fields that the message
    names."""
    FROZEN = "Frozen"
    """There are differences, and writes are frozen. The platform team unfreezes them; then this clears."""


class CertificateReason(StrEnum):
    """Reasons of type CertificateReady."""

    VALIDATED = "Validated"
    """The certificate is issued and attached. No action is needed; CloudFront renews it, or the provider has
    requested another one in its place, as the message says."""
    RENEWAL_BLOCKED = "RenewalBlocked"
    """The certificate is issued and attached (status True), but AWS has not renewed it and it ends within 60
    days. The message has its end, the domains that block the renewal, and the next action: the domain's owner
    creates the records again, or the author removes the domain. If only names that the tenant no longer has
    block it, the provider requests another certificate for the present domains."""
    PENDING_VALIDATION = "PendingValidation"
    """The certificate authority has not validated the domains yet. The domain's owner follows
    status.dnsInstructions and status.atProvider.certificate.validation; then this clears. Or the provider
    does not request the certificate yet: the message says why, and nothing has to be validated before."""
    ATTACHING = "Attaching"
    """The certificate is issued and being attached. No action is needed; clears within minutes."""
    CERTIFICATE_FAILED = "CertificateFailed"
    """Validation failed or timed out, or the certificate was revoked; the message has ACM's reason. The
    domain's owner removes the cause. The provider requests another certificate after the time in the message,
    or at once with the annotation crossplane.io/reconcile-requested-at."""
    CERTIFICATE_EXPIRED = "CertificateExpired"
    """The certificate has expired. The provider requests another managed certificate once DNS leads to
    CloudFront; the resource's author replaces a custom one."""
    NOT_CONFIGURED = "NotConfigured"
    """No managed certificate is requested. No action is needed; treated as ready."""


class DnsReason(StrEnum):
    """Reasons of type DNSReady."""

    DNS_READY = "DNSReady"
    """The records are in place. No action is needed."""
    DNS_NOT_CONFIGURED = "DNSNotConfigured"
    """The provider is not configured to manage records; treated as ready. No action is needed, unless the
    message says that the provider lacks the permission to check them."""
    DNS_RECORD_CREATING = "DNSRecordCreating"
    """The provider is writing the records. No action is needed; clears when they are written."""
    DNS_PROPAGATING = "DNSPropagating"
    """The records are written, but not on every name server yet. No action is needed; clears when they
    are."""
    DNS_ERROR = "DNSError"
    """The provider cannot write the records of a domain, or leaves records that it did not make; the message
    has the cause. The owner of the zone or of the configuration acts; the provider retries."""


class ClaimConditionType(StrEnum):
    """Condition types of TenantClaim, in addition to Crossplane's Ready and Synced."""

    LIVE = "Live"
    """CloudFront serves every domain. The reason says whether DNS leads visitors there, or why a domain is
    not served; the message names the next action."""
    RECONCILING = "Reconciling"
    """A change is in progress. A managed resource gets this condition with the first change that takes time
    while it is Ready, so that tools that use kstatus keep waiting."""
    DEGRADED = "Degraded"
    """Something needs attention, even if the domains are served."""
    SUSPENDED = "Suspended"
    """The claim's tenants are disabled in AWS, as requested."""
    BLOCKED = "Blocked"
    """A step or change waits until someone acts."""
    NEEDS_REVIEW = "NeedsReview"
    """The claim's author should review the domains or settings; nothing waits for it. Only claims that have
    or had something to review have this condition."""


class LiveReason(StrEnum):
    """Reasons of type Live. If a tenant cannot be created or served, Live has the reason of the tenant's
    Ready (TenantReadyReason), so that the claim's column shows what is wrong."""

    LIVE = "Live"
    """Every domain is served, and no problem is known that keeps visitors away. No action is needed."""
    SERVED = "Served"
    """CloudFront serves every domain (status True), but DNS does not lead the visitors of some there. The
    domain's owner creates the records of status.dnsInstructions; this clears within an hour."""
    CREATING = "Creating"
    """The tenants are being created. No action is needed; clears when they exist."""
    WAITING_FOR_DNS = "WaitingForDNS"
    """DNS records are missing. The domain's owner creates those of status.dnsInstructions; then this
    clears."""
    ISSUING_CERTIFICATE = "IssuingCertificate"
    """The certificate is being validated or attached. No action is needed once the DNS records exist; clears
    when the certificate is attached."""
    DEPLOYING = "Deploying"
    """CloudFront is rolling out the tenants. No action is needed; clears within minutes."""
    SUSPENDED = "Suspended"
    """The claim is suspended. To serve again, the claim's author sets `suspended: false`."""
    DELETING = "Deleting"
    """The tenants are being deleted. No action is needed; clears when they are deleted."""
    INVALID_CLAIM = "InvalidClaim"
    """The claim is invalid, or its plan does not allow it; the message names the fields. The claim's author
    corrects them."""
    PLAN_NOT_FOUND = "PlanNotFound"
    """There is no plan of that name, or no default plan; the message lists the existing plans. The claim's
    author names another plan, or the platform team adds it."""
    PLAN_INVALID = "PlanInvalid"
    """The claim's plan is invalid; the message names its fields. The platform team corrects it."""
    BLOCKED = "Blocked"
    """A step waits until someone acts; the condition Blocked says which."""
    FAILED = "Failed"
    """A tenant cannot be created or served, and its Ready has no documented reason. The message quotes the
    tenant's; the platform team checks the provider's log."""


class ReconcilingReason(StrEnum):
    """Reasons of type Reconciling. A managed resource gets the condition with the first change that takes
    time while it is Ready; InSync then says what the change waits for."""

    CREATING = "Creating"
    """The tenants are being created. No action is needed; clears when they exist."""
    UPDATING = "Updating"
    """A change is being rolled out, or waits to be sent. No action is needed unless another condition says
    so; clears when the change is rolled out."""
    STABLE = "Stable"
    """No change is in progress. No action is needed."""


class DegradedReason(StrEnum):
    """Reasons of type Degraded."""

    DRIFTED = "Drifted"
    """A tenant was changed in AWS, and driftPolicy Report leaves it so. The tenant's owner decides."""
    TENANT_FAILED = "TenantFailed"
    """A tenant cannot be created or served, or its update fails; the message has the reason and the next
    action. Clears once that is fixed."""
    DNS_RECORD_LOST = "DNSRecordLost"
    """DNS led visitors to every domain before, but no longer does for some; Live says what to do. Clears
    within an hour once the records are back."""
    RENEWAL_BLOCKED = "RenewalBlocked"
    """CloudFront serves the domains, but AWS cannot renew the certificate of a tenant and it ends within 60
    days. The message has its end, the domains that block the renewal, and the next action. Clears within a
    day once AWS renews the certificate or the provider has replaced it."""
    CLAIM_REFUSED = "ClaimRefused"
    """The function refuses the claim, and existing resources do not change. The message says why; if not
    every domain is served, Live does. Clears once the claim or its plan is corrected."""
    RECOVERED = "Recovered"
    """Nothing needs attention."""


class SuspendedReason(StrEnum):
    """Reasons of type Suspended."""

    MANUALLY_SUSPENDED = "ManuallySuspended"
    """The claim has `suspended: true`, and its tenants are disabled in AWS. To serve again, the claim's
    author sets it to false."""
    ACTIVE = "Active"
    """The claim is not suspended, or one of its tenants is still enabled in AWS. If the status is Unknown,
    one of them may be: the message says why that is unknown."""


class BlockedReason(StrEnum):
    """Reasons of type Blocked."""

    AWAITING_APPROVAL = "AwaitingApproval"
    """A step would move or delete a served tenant, and waits for the annotation edgetenants.io/confirm in the
    message. The claim's author confirms the step or reverts the change."""
    POLICY_DENIED = "PolicyDenied"
    """The plan does not allow something that the claim asks for. The claim's author reverts it, or the
    platform team allows it."""
    WRITES_FROZEN = "WritesFrozen"
    """A change of a tenant waits because the provider may not write to AWS: the ProviderConfig has writes
    Frozen, the provider runs with --read-only, or the managed resource is in a dry run. The platform team
    ends that; then this clears."""
    MISSING_DEPENDENCIES = "MissingDependencies"
    """A source of plans is missing or not readable. The platform team restores it; then this clears."""
    UNBLOCKED = "Unblocked"
    """Nothing is blocked."""


class NeedsReviewReason(StrEnum):
    """Reasons of type NeedsReview."""

    PLAN_EXCEEDED = "PlanExceeded"
    """The claim keeps domains that its plan does not allow, because it already has them in CloudFront; the
    message names them. The claim's author removes them, or the platform team allows them."""
    LOOKALIKE_DOMAIN = "LookalikeDomain"
    """A domain mixes scripts, or looks like another one in plain ASCII; the message says which. It is served
    as requested; the claim's author checks that it is the intended name."""
    SETTINGS_KEPT = "SettingsKept"
    """AWS has a web ACL, geographic restrictions or parameters that neither the claim nor its plan sets, and
    they stay. The platform team checks them, and removes them in AWS if they are not intended."""
    NOTHING_TO_REVIEW = "NothingToReview"
    """There is no longer anything to review."""


class SourceConditionType(StrEnum):
    """Condition types of TenantSource."""

    READY = "Ready"
    """The last read was complete, and every valid row has its object."""
    SYNCED = "Synced"
    """The table was read completely, and the objects were written."""
    DEGRADED = "Degraded"
    """Something needs attention; rows without a problem are not affected."""
    SUSPENDED = "Suspended"
    """The TenantSource reads and writes nothing, as requested."""


class SourceReadyReason(StrEnum):
    """Reasons of type Ready of a TenantSource."""

    FOLLOWING = "Following"
    """The objects follow the rows. No action is needed."""
    IMPORTING = "Importing"
    """Rows wait for their object, because of maxNew or maxNotLive; the message says which. Clears when they
    are created."""
    NOT_READ = "NotRead"
    """The table could not be read completely, or the objects could not be written; Synced says why. The
    objects stay as they are."""
    SUSPENDED = "Suspended"
    """`suspend: true` stops the TenantSource. To go on, its author sets it to false."""
    DELETING = "Deleting"
    """The TenantSource is being deleted, and its objects with it (onDelete Delete). Clears when they are
    gone. If its spec does not say which objects these are, the message says what to set."""


class SourceSyncedReason(StrEnum):
    """Reasons of type Synced of a TenantSource."""

    SYNCED = "Synced"
    """The last read was complete. No action is needed."""
    INVALID_SPEC = "InvalidSpec"
    """The spec is invalid, or its template does not fit the kind; the message lists every problem. Nothing is
    read or written. The author corrects it."""
    UNREACHABLE = "Unreachable"
    """The store does not answer. The owner of the store acts; the next read retries."""
    ACCESS_DENIED = "AccessDenied"
    """The store refuses the credentials, the ServiceAccount may not read the ConfigMap or Secret, or the
    flags of edgetenants-sources do not allow the host; the message says which. The author or the platform
    team acts; the next read retries."""
    INVALID_CONFIGURATION = "InvalidConfiguration"
    """The store cannot be read as configured: for example, the ConfigMap or its key does not exist. The
    author acts; the next read retries."""
    INVALID_DATA = "InvalidData"
    """The store's contents are not in the expected form. The owner of the table corrects them; the next read
    retries."""
    INCOMPLETE = "Incomplete"
    """The read did not reach the end, so that nothing follows from it. The next read retries."""
    WRITE_FAILED = "WriteFailed"
    """The API server refused or did not answer a write, or a read of the TenantSource before a removal; or
    the record of rows that are gone could not be read or stored. The message has its words. The next read
    retries."""
    SUSPENDED = "Suspended"
    """`suspend: true` stops the TenantSource. To go on, its author sets it to false."""


class SourceDegradedReason(StrEnum):
    """Reasons of type Degraded of a TenantSource."""

    ROWS_INVALID = "RowsInvalid"
    """Rows have a problem; status.problems lists them. Their objects keep the last good state. The owner of
    the table corrects the rows; then this clears."""
    REMOVAL_HELD = "RemovalHeld"
    """Too many rows are gone at once, or all of them, which looks like an accident; none of their objects is
    suspended or deleted. If it is not one, set the annotation edgetenants.io/confirm of the TenantSource to
    the token of status.removal. This also clears when the rows are back, and an hour after other removals
    that were too many with these."""
    AS_EXPECTED = "AsExpected"
    """Nothing needs attention."""


class SourceSuspendedReason(StrEnum):
    """Reasons of type Suspended of a TenantSource."""

    MANUALLY_SUSPENDED = "ManuallySuspended"
    """`suspend: true`. To go on, the author sets it to false."""
    ACTIVE = "Active"
    """The TenantSource reads its table."""
