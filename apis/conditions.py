"""Condition types and reasons of our own kinds. Crossplane's own stand in
`edgetenants_runtime.api.conditions`.

The lists are closed: a reason that is not here is not shown. One that is here is not removed without a note
of deprecation, as people select by it. The docstring under each says what it means, who acts, and whether it
clears by itself; the reference is made from them.
"""

from enum import StrEnum
from typing import Final

NOT_DONE: Final = ". Not done yet: "
"""Divides the message of InSync: what differs, and what holds it up."""
DNS_UNSEEN: Final = "Whether the records of status.dnsInstructions are in place is not known: "
"""Begins what DNSReady, and a claim's Live, say of records that may not be looked at."""


class TenantConditionType(StrEnum):
    """Condition types of DistributionTenant and ConnectionGroup beside Ready and Synced."""

    DEPLOYED = "Deployed"
    """The last change is rolled out to all of CloudFront."""
    IN_SYNC = "InSync"
    """AWS has what was asked."""
    CERTIFICATE_READY = "CertificateReady"
    """The managed certificate that was asked for is attached."""
    DNS_READY = "DNSReady"
    """The DNS records that the provider was asked to make are in place."""
    RECONCILING = "Reconciling"
    """A change is on its way."""


class TenantReadyReason(StrEnum):
    """Reasons of type Ready beside Crossplane's Available, Creating and Deleting. All mean that not every
    domain is served; those that are errors stand in Synced too, in the same words."""

    DEPLOYING = "Deploying"
    """CloudFront is rolling the tenant out for the first time. Nobody needs to act; clears by itself within
    minutes."""
    DISABLING = "Disabling"
    """The tenant is being disabled, so that it can be deleted. Nobody needs to act; clears by itself within
    minutes."""
    DISABLED = "Disabled"
    """The tenant is disabled: as asked with `enabled: false`, or by somebody in AWS. Whoever wants it served
    sets `enabled: true`; does not clear by itself under driftPolicy Report or Suspend."""
    DOMAIN_CONFLICT = "DomainConflict"
    """A domain is served by another distribution or tenant, in this AWS account or in another, or is kept
    for another namespace whose tenant served it. The owner of the domain or an administrator releases it
    there, or it is removed here; then it clears by itself."""
    DOMAIN_VALIDATION_PENDING = "DomainValidationPending"
    """CloudFront cannot see yet that the domain leads to it. The domain's owner makes the records of
    status.dnsInstructions; asked again every five minutes, clears by itself."""
    DOMAIN_INACTIVE = "DomainInactive"
    """CloudFront does not answer for a domain, though nothing known holds it up. Nobody needs to act at
    first; if it stays, look at certificate and DNS of the domain."""
    CERTIFICATE_PENDING = "CertificatePending"
    """The managed certificate is being validated or attached; CertificateReady says which. The domain's owner
    makes the records of status.dnsInstructions where there are any; clears by itself."""
    CERTIFICATE_FAILED = "CertificateFailed"
    """The managed certificate could not be issued, or was revoked; the message has ACM's reason. Its cause
    (often a CAA record) is removed by the domain's owner. Another one is asked for after the time that the
    message says, or at once with the annotation crossplane.io/reconcile-requested-at."""
    CERTIFICATE_EXPIRED = "CertificateExpired"
    """The certificate of the tenant has expired. A managed one is asked for anew by itself once DNS leads to
    CloudFront; a custom one is replaced by whoever gave it."""
    CERTIFICATE_SAN_MISMATCH = "CertificateSANMismatch"
    """The certificate does not cover every domain. Whoever gave the certificate or the domains changes one of
    them; clears by itself then."""
    MISSING_CERTIFICATE = "MissingCertificate"
    """Neither the tenant nor its distribution has a certificate. Whoever wrote the resource adds a
    certificate or a managedCertificateRequest, or the distribution's owner adds one."""
    MISSING_PARAMETERS = "MissingParameters"
    """The distribution requires parameters that are not given; the message names them. Whoever wrote the
    resource adds them."""
    PARENT_NOT_FOUND = "ParentNotFound"
    """The multi-tenant distribution of `distributionId` does not exist, or is not a multi-tenant one. The id
    is corrected or the distribution made; looked at again by itself."""
    CONNECTION_GROUP_NOT_FOUND = "ConnectionGroupNotFound"
    """The connection group of `connectionGroupId` does not exist. The id is corrected or the group made;
    looked at again by itself."""
    CONNECTION_GROUP_DISABLED = "ConnectionGroupDisabled"
    """The tenant's connection group is disabled in AWS, and CloudFront serves none of its tenants. Whoever
    owns the group sets `enabled: true` on its ConnectionGroup, or enables it in AWS; clears by itself within
    two minutes then."""
    VALIDATION_FAILED = "ValidationFailed"
    """What was asked cannot work, as was found before any call that writes; the message lists every problem.
    Whoever wrote the resource corrects it."""
    INVALID_SPEC = "InvalidSpec"
    """AWS refused what was asked as invalid; the message has its words. Whoever wrote the resource corrects
    it, which is tried at once; until then it is tried again less and less often."""
    ACCESS_DENIED = "AccessDenied"
    """AWS refused the credentials or lacks a permission; the message names the call. Whoever runs the
    provider extends the IAM policy; tried again by itself."""
    AWS_ERROR = "AWSError"
    """AWS answered with another error; the message has its words. Tried again by itself."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """A quota of the AWS account is used up. Whoever owns the account asks AWS for more or removes what is
    not needed; tried again slowly by itself."""
    THROTTLED = "Throttled"
    """AWS takes no more requests for the moment. Nobody needs to act; clears by itself."""
    ADOPTION_REFUSED = "AdoptionRefused"
    """A tenant of this name exists in CloudFront, and by its owner tag it is somebody else's, or nobody's. It
    may have been this resource's before. Whoever is sure sets the annotation edgetenants.io/adopt to its id,
    or another external name is chosen; does not clear by itself. Or none exists, and the name is kept for
    another namespace: another one is chosen, or an administrator releases it."""
    ACCOUNT_MISMATCH = "AccountMismatch"
    """The credentials are of another AWS account than the one that the tenant is in. Nothing is written.
    Whoever changed the ProviderConfig puts it back; clears by itself then."""
    UPDATE_INEFFECTIVE = "UpdateIneffective"
    """The tenant does not serve for a difference that the same update, made twice, did not mend. It is not
    repeated until the resource or the tenant changes; whoever wrote the resource looks at the fields that
    InSync names."""
    FROZEN = "Frozen"
    """Writes are frozen, by the ProviderConfig or by the provider's flag --read-only. Whoever froze them
    lifts it; clears by itself then."""
    DELETION_HELD = "DeletionHeld"
    """Nothing is deleted in AWS: deletionProtection is on, AWS does not tell whether a connection group has
    tenants or of which account the credentials are, the provider may have lost its installation id, the
    kind's CRD is itself being deleted, or the provider runs with --hold-deletions. To proceed, set the
    annotation shown in the message; does not clear by itself. Of a new resource: the one that had the
    tenant before is being deleted, and is held so or paused; whoever paused it ends that."""
    RECREATION_HELD = "RecreationHeld"
    """The tenant or connection group is gone from AWS, and is not made anew: for one poll interval, as others
    are looked at first, and then only while too many of the account's are gone at once, which looks like an
    accident. Whoever finds that it is none sets the annotation edgetenants.io/confirm of the ProviderConfig
    as the message says; tenants that come back clear it by themselves. Under driftPolicy Report and Suspend
    it is left so until the policy is Enforce."""


class DeployedReason(StrEnum):
    """Reasons of type Deployed."""

    DEPLOYED = "Deployed"
    """The last change is rolled out. Nobody needs to act."""
    CREATING = "Creating"
    """The tenant is being created. Nobody needs to act; clears by itself."""
    DEPLOYING = "Deploying"
    """A change is being rolled out. Nobody needs to act; clears by itself within minutes."""
    DISABLING = "Disabling"
    """The tenant is being disabled before its deletion. Nobody needs to act; clears by itself within
    minutes."""
    DELETING = "Deleting"
    """The tenant is disabled and waits to be deleted. Nobody needs to act; clears by itself."""


class InSyncReason(StrEnum):
    """Reasons of type InSync."""

    IN_SYNC = "InSync"
    """AWS has what was asked. Nobody needs to act."""
    DRIFT_DETECTED = "DriftDetected"
    """Somebody changed the resource in AWS; status.drift says what. Repaired by itself under driftPolicy
    Enforce, left under Report; so is the deletion of the whole, which the message tells."""
    UPDATE_PENDING = "UpdatePending"
    """A change of the spec was sent and is not rolled out, or waits to be sent: the message says for what.
    Whoever the message names acts, else nobody; clears by itself."""
    UPDATE_INEFFECTIVE = "UpdateIneffective"
    """The same update was made twice and AWS shows the same difference. Not repeated until the resource or
    the tenant changes; whoever wrote the resource looks at the fields that the message names."""
    FROZEN = "Frozen"
    """There are differences, and writes are frozen. Whoever froze them lifts it; clears by itself then."""


class CertificateReason(StrEnum):
    """Reasons of type CertificateReady."""

    VALIDATED = "Validated"
    """The certificate is issued and attached. Nobody needs to act; renewals go by themselves."""
    PENDING_VALIDATION = "PendingValidation"
    """The certificate authority has not seen what it looks for. The domain's owner does what
    status.dnsInstructions and status.atProvider.certificate.validation say; clears by itself."""
    ATTACHING = "Attaching"
    """The certificate is issued and being attached. Nobody needs to act; clears by itself within minutes."""
    CERTIFICATE_FAILED = "CertificateFailed"
    """Validation failed or timed out, or the certificate was revoked; the message has ACM's reason. The
    domain's owner removes the cause. Another one is asked for after the time that the message says, or at
    once with the annotation crossplane.io/reconcile-requested-at."""
    CERTIFICATE_EXPIRED = "CertificateExpired"
    """The certificate has expired. A managed one is asked for anew by itself once DNS leads to CloudFront; a
    custom one is replaced by whoever gave it."""
    NOT_CONFIGURED = "NotConfigured"
    """No managed certificate is asked for. Nobody needs to act; counts as satisfied."""


class DnsReason(StrEnum):
    """Reasons of type DNSReady."""

    DNS_READY = "DNSReady"
    """The records are in place. Nobody needs to act."""
    DNS_NOT_CONFIGURED = "DNSNotConfigured"
    """The provider is not asked to make records. Nobody needs to act, unless the message says that the
    permission lacks by which the provider looks at them; counts as satisfied."""
    DNS_RECORD_CREATING = "DNSRecordCreating"
    """The records are being written. Nobody needs to act; clears by itself."""
    DNS_PROPAGATING = "DNSPropagating"
    """The records are written and not yet on every name server. Nobody needs to act; clears by itself."""
    DNS_ERROR = "DNSError"
    """The records could not be written; the message has the cause. Whoever owns the zone or the configuration
    acts; tried again by itself."""


class ClaimConditionType(StrEnum):
    """Condition types of TenantClaim beside Crossplane's Ready and Synced."""

    LIVE = "Live"
    """CloudFront serves every domain. The reason tells whether visitors get there, or why a domain is not
    served; the message names the next action."""
    RECONCILING = "Reconciling"
    """A change is on its way. A managed resource has it once a change of it was waited for while it was
    Ready, so that what waits by kstatus goes on waiting."""
    DEGRADED = "Degraded"
    """Something needs attention, though domains may be served."""
    SUSPENDED = "Suspended"
    """The claim's tenants are disabled in AWS, as asked."""
    BLOCKED = "Blocked"
    """Nothing goes on until somebody acts."""
    NEEDS_REVIEW = "NeedsReview"
    """Somebody should look at the claim's domains, though nothing waits for that. Only claims that have or
    had something to review have this condition."""


class LiveReason(StrEnum):
    """Reasons of type Live. Where a tenant cannot be made or served, Live has the reason that the tenant's
    own Ready has (TenantReadyReason), so that the claim's column says what is wrong."""

    LIVE = "Live"
    """Every domain is served, and nothing is known to keep visitors from it. Nobody needs to act."""
    SERVED = "Served"
    """CloudFront serves every domain (status True), and DNS does not lead the visitors of some there. The
    domain's owner makes the records of status.dnsInstructions; clears by itself within an hour."""
    CREATING = "Creating"
    """The tenants are being created. Nobody needs to act; clears by itself."""
    WAITING_FOR_DNS = "WaitingForDNS"
    """DNS records are missing. The domain's owner makes those of status.dnsInstructions; clears by itself."""
    ISSUING_CERTIFICATE = "IssuingCertificate"
    """The certificate is being validated or attached. Nobody needs to act once the DNS records are there;
    clears by itself."""
    DEPLOYING = "Deploying"
    """CloudFront is rolling the tenants out. Nobody needs to act; clears by itself within minutes."""
    SUSPENDED = "Suspended"
    """The claim is suspended. Whoever wants it served sets `suspended: false`."""
    DELETING = "Deleting"
    """The tenants are being deleted. Nobody needs to act; clears by itself."""
    INVALID_CLAIM = "InvalidClaim"
    """The claim asks for something that cannot be or that its plan does not allow; the message names the
    fields. The claim's author corrects them."""
    PLAN_NOT_FOUND = "PlanNotFound"
    """There is no plan of that name, or no default plan; the message lists those that there are. The claim's
    author names another, or the platform team adds it."""
    PLAN_INVALID = "PlanInvalid"
    """The claim's plan is broken; the message names its fields. The platform team corrects it."""
    BLOCKED = "Blocked"
    """A step waits for somebody; the condition Blocked says what for."""
    FAILED = "Failed"
    """A tenant cannot be made or served, and its Ready has no reason that is documented. The message has its
    words; whoever runs the provider looks at its log."""


class ReconcilingReason(StrEnum):
    """Reasons of type Reconciling. A managed resource has the condition only once a change of it was waited
    for while it was Ready; InSync then says for what."""

    CREATING = "Creating"
    """The tenants are being created. Nobody needs to act; clears by itself."""
    UPDATING = "Updating"
    """A change is being rolled out, or waits to be sent. Nobody needs to act, unless another condition says
    so; clears by itself."""
    STABLE = "Stable"
    """No change is on its way. Nobody needs to act."""


class DegradedReason(StrEnum):
    """Reasons of type Degraded."""

    DRIFTED = "Drifted"
    """A tenant was changed in AWS and is left so under driftPolicy Report. Whoever owns it decides."""
    TENANT_FAILED = "TenantFailed"
    """A tenant cannot be made or served, or a change of it fails; the message has its reason and next
    action. Clears by itself once that is mended."""
    DNS_RECORD_LOST = "DNSRecordLost"
    """Visitors got to every domain, and DNS does not lead those of some to CloudFront any more; Live says
    what to do. Clears by itself within an hour once the records are back."""
    CLAIM_REFUSED = "ClaimRefused"
    """The claim cannot be composed as it stands, and what exists stays as it is; the message says why, or
    Live where not every domain is served. Clears by itself once claim or plan are corrected."""
    RECOVERED = "Recovered"
    """Nothing needs attention."""


class SuspendedReason(StrEnum):
    """Reasons of type Suspended."""

    MANUALLY_SUSPENDED = "ManuallySuspended"
    """The claim says `suspended: true`, and AWS has its tenants disabled. Whoever wants it served sets it to
    false."""
    ACTIVE = "Active"
    """The claim is not suspended, or AWS still has one of its tenants enabled."""


class BlockedReason(StrEnum):
    """Reasons of type Blocked."""

    AWAITING_APPROVAL = "AwaitingApproval"
    """A step would move or delete something that is served, and waits for the annotation
    edgetenants.io/confirm that the message names. The claim's author confirms, or takes the change back."""
    POLICY_DENIED = "PolicyDenied"
    """The plan does not allow what the claim asks for. The claim's author takes it back, or the platform team
    allows it."""
    WRITES_FROZEN = "WritesFrozen"
    """A change of a tenant waits because nothing may be written to AWS: the ProviderConfig says writes
    Frozen, the provider runs with --read-only, or the managed resource is in a dry run. Whoever froze them
    lifts it; clears by itself then."""
    MISSING_DEPENDENCIES = "MissingDependencies"
    """A source of plans is missing or not readable. The platform team restores it; clears by itself then."""
    UNBLOCKED = "Unblocked"
    """Nothing is blocked."""


class NeedsReviewReason(StrEnum):
    """Reasons of type NeedsReview."""

    PLAN_EXCEEDED = "PlanExceeded"
    """The claim keeps domains that its plan does not allow, as they are in CloudFront already; the message
    names them. The claim's author takes them out, or the platform team allows them."""
    LOOKALIKE_DOMAIN = "LookalikeDomain"
    """A domain mixes scripts, or looks like another one in plain ASCII; the message says which. It is served
    as asked; somebody sees whether it is the name that was meant."""
    NOTHING_TO_REVIEW = "NothingToReview"
    """There is nothing to review any more."""
