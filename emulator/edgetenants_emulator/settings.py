"""The settings: durations, quotas, page sizes, and choices for behaviour that AWS does not document."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from edgetenants_emulator.errors import ErrorCode

__all__ = ["ACCEPTED", "ENVIRONMENT_PREFIX", "Settings"]

ENVIRONMENT_PREFIX = "EDGETENANTS_EMULATOR_SETTING_"
"""The prefix of the environment variables; a setting's name in upper case follows."""
ACCEPTED = "accepted"
"""The value of a choice that disables the refusal."""
_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _choice(*words: str) -> Any:
    """A setting with one of these values. The first is the default."""
    return field(default=str(words[0]), metadata={"choices": tuple(str(word) for word in words)})


@dataclass(frozen=True)
class Settings:
    """The settings of an emulator. They are replaced as a whole, never changed in place."""

    deploy_tenant_seconds: float = 45.0
    """Virtual seconds from a tenant's create or update to Deployed."""
    deploy_group_seconds: float = 45.0
    """Virtual seconds from a connection group's create or update to Deployed."""
    deploy_distribution_seconds: float = 300.0
    """Virtual seconds from a distribution's create or update to Deployed."""
    certificate_issue_seconds: float = 60.0
    """Virtual seconds from the proof of control to the issue of a managed certificate. AWS does not publish
    it; users report minutes."""
    certificate_timeout_seconds: float = 72 * 3600.0
    """Virtual seconds until the validation times out (ACM user guide, "HTTP validation times out")."""
    certificate_valid_days: int = 395
    """Virtual days from the issue or renewal of a managed certificate to its expiry: ACM's 13 months."""
    certificate_renewal_days: int = 60
    """Virtual days before its expiry at which ACM starts to renew it (ACM user guide); 0 disables
    renewals."""
    expired_certificate_deactivates: bool = False
    """Whether domains become inactive when their managed certificate expires."""
    invalidation_seconds: float = 60.0
    """Virtual seconds from the creation of an invalidation to Completed."""
    tenants_per_account: int = 10_000
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    groups_per_account: int = 100
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    groups_per_anycast_ip_list: int = 5
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    anycast_ip_lists_per_account: int = 10
    """EntityLimitExceeded above it. AWS grants none by default (General Reference, CloudFront quotas)."""
    tenant_only_distributions_per_account: int = 20
    """Quota of CloudFront's quotas page; TooManyDistributions above it."""
    domains_per_tenant: int = 100
    """Quota of CloudFront's quotas page (UpdateDistributionTenant's reference has 5); EntityLimitExceeded."""
    parameters_per_distribution: int = 5
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    parameters_per_tenant: int = 5
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    parameters_per_field: int = 2
    """Quota of CloudFront's quotas page, for one origin's domain name or path; EntityLimitExceeded."""
    distributions_per_account: int = 500
    """Quota of CloudFront's quotas page, for both connection modes together; TooManyDistributions."""
    distributions_per_reference: int = 100
    """Quota of CloudFront's quotas page, for one key group, function or origin access control."""
    distributions_with_lambda: int = 500
    """Quota of CloudFront's quotas page, for an account and for one Lambda function."""
    tags_per_resource: int = 50
    """Quota of CloudFront's quotas page; InvalidTagging above it."""
    invalidation_paths: int = 3000
    """Maximum paths in progress; BatchTooLarge for one invalidation with more, or else
    TooManyInvalidationsInProgress. CloudFront's quotas page states it for a distribution."""
    invalidation_wildcards: int = 15
    """Maximum wildcard paths in progress, from the same page; TooManyInvalidationsInProgress above it."""
    page_size_default: int = 100
    """Items per page without MaxItems. AWS does not publish it."""
    page_size_max: int = 100
    """Maximum items per page, whatever MaxItems is. AWS does not publish it."""
    delete_needs_deployed: bool = True
    """Whether a delete is refused (ResourceNotDisabled) while the disabling is InProgress. AWS does not
    document it; in one report such a delete succeeded, other users wait. The refusal is the harder case for a
    caller."""
    group_disable_needs_no_tenants: bool = True
    """Whether only a group without tenants can be disabled. AWS does not document it; the model declares
    ResourceInUse for UpdateConnectionGroup, and nothing but tenants could use a group."""
    certificate_attached_by_itself: bool = False
    """Whether an issued managed certificate is attached without an update."""
    certificate_moves_etag: bool = True
    """Whether a status change of a managed certificate gives its tenant a new ETag."""
    disassociated_web_acl_inherits: bool = True
    """Whether a tenant has its distribution's web ACL after DisassociateDistributionTenantWebACL; otherwise
    it has none (`disable`)."""
    domain_move_needs_disabled_source: bool = True
    """Whether the source must be disabled to move a domain within an account, as the API reference says. The
    developer guide requires it only between accounts, where it always applies."""
    customizations_merge: bool = False
    """Whether an update merges Customizations; otherwise it replaces them."""
    empty_customizations_clear: bool = True
    """Whether `Customizations: {}` in an update clears them; otherwise it is ignored."""
    empty_parameters_clear: bool = True
    """Whether `Parameters: []` in an update clears them; otherwise it is ignored."""
    unknown_parameters_refused: bool = True
    """Whether parameters that the distribution does not define are refused (InvalidArgument)."""
    tags_move_etag: bool = False
    """Whether TagResource and UntagResource give a resource a new ETag."""
    get_returns_tags: bool = False
    """Whether Get of a tenant or connection group returns its tags."""
    update_needs_deployed: bool = False
    """Whether a tenant's update is refused (PreconditionFailed) while the previous one is InProgress."""
    tenant_update_needs: str = _choice("nothing", "parent", "everything")
    """The required members of an update of a tenant (else InvalidArgument): nothing, as in AWS's example; the
    distribution and the domains; or also connection group, Enabled and parameters."""
    group_update_needs_everything: bool = False
    """Whether an update of a connection group must contain both Enabled and Ipv6Enabled (else
    InvalidArgument)."""
    default_group_with_distribution: bool = True
    """Whether the default group is created with the first multi-tenant distribution; otherwise with a
    tenant."""
    acm_certificates_per_account: int = 2500
    """Quota of ACM's quotas page; EntityLimitExceeded for a managed certificate above it."""
    managed_certificates_count: bool = True
    """Whether managed certificates count against that quota."""
    distribution_update_needs_all: bool = True
    """Whether an update of a distribution that omits a member is refused (IllegalUpdate). AWS asks callers to
    send all members; users report refusals for some of them."""
    group_names_checked: bool = True
    """Whether a connection group's name must have at most 128 letters, digits, dots, dashes and underscores
    (else InvalidArgument). AWS publishes a pattern only for tenants and Anycast lists."""
    list_lag_seconds: float = 0.0
    """Virtual seconds until lists contain a new tenant."""
    list_lag_of_updates_seconds: float = 0.0
    """Virtual seconds for which lists still show the old state of a changed tenant, including its ETag."""
    list_lag_of_deletes_seconds: float = 0.0
    """Virtual seconds for which lists still show a deleted tenant."""
    list_marker_skips: int = 0
    """How many items each further page of a list skips."""
    list_marker_repeats: int = 0
    """How many items of the previous page each further page repeats; less than a page."""
    cloudfront_requests_per_second: float = 0.0
    """Allowed calls per account and CloudFront operation; Throttling above it, 0 for no limit."""
    cloudfront_requests_burst: int = 10
    """The burst of this limit."""
    list_filters_each_page: bool = False
    """Whether a filter is applied after the list is split into pages, so that a page can be empty and have a
    next page."""
    list_marker_needs_its_item: bool = False
    """Whether a marker is refused (InvalidArgument) after the last item of its page is deleted."""
    max_items_above_max_refused: bool = False
    """Whether MaxItems above `page_size_max` is refused (InvalidArgument); otherwise it is reduced."""
    association_filter_both: str = _choice("and", "or", ErrorCode.INVALID_ARGUMENT)
    """The meaning of a filter with both a distribution and a connection group."""
    association_filter_unknown_refused: bool = True
    """Whether a filter with an unknown id is refused (EntityNotFound); otherwise the list is empty."""
    second_certificate_request_error: str = _choice(
        ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_ALREADY_EXISTS, ErrorCode.INVALID_ASSOCIATION
    )
    """The error for a certificate request while another one is pending."""
    uncovered_domain_error: str = _choice(ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_ASSOCIATION, ACCEPTED)
    """The error for a domain that no certificate covers, without a certificate request. If accepted, the
    domain is inactive."""
    parameter_error: str = _choice(
        ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_ASSOCIATION, ErrorCode.ENTITY_NOT_FOUND
    )
    """The error for an unknown parameter, or a missing required one."""
    standard_parent_error: str = _choice(
        ErrorCode.INVALID_ASSOCIATION, ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_NOT_FOUND
    )
    """The error for a tenant's DistributionId if the distribution is not multi-tenant."""
    required_parameter_added: str = _choice(ACCEPTED, ErrorCode.ILLEGAL_UPDATE, ErrorCode.INVALID_ARGUMENT)
    """The error for a new required parameter of a distribution whose tenants do not set it."""
    update_in_progress_error: str = _choice(ErrorCode.PRECONDITION_FAILED, ErrorCode.INVALID_ARGUMENT)
    """The error for an update while InProgress, if `update_needs_deployed` refuses it."""
    delete_in_progress_error: str = _choice(ErrorCode.RESOURCE_NOT_DISABLED, ErrorCode.PRECONDITION_FAILED)
    """The error for a delete of a disabled resource while InProgress, if `delete_needs_deployed` refuses it.
    For distributions, it is DistributionNotDisabled instead of ResourceNotDisabled."""
    delete_lag_seconds: float = 0.0
    """Virtual seconds for which such a delete is still refused after Deployed."""
    default_group_delete_error: str = _choice(
        ErrorCode.CANNOT_DELETE_ENTITY_WHILE_IN_USE, ErrorCode.ACCESS_DENIED
    )
    """The error for a delete of the default connection group."""
    disassociate_nothing: str = _choice(ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_NOT_FOUND, ACCEPTED)
    """The error for DisassociateDistributionTenantWebACL without a web ACL."""
    foreign_arn_error: str = _choice(ErrorCode.ACCESS_DENIED, ErrorCode.ENTITY_NOT_FOUND)
    """The error for another account's ARN as the identifier of a tenant or connection group."""
    foreign_domain_error: str = _choice(ErrorCode.ENTITY_NOT_FOUND, ErrorCode.ACCESS_DENIED)
    """The error of GetDistributionTenantByDomain for a domain of another account."""
    if_match_star_accepted: bool = False
    """Whether `If-Match: *` matches any version; otherwise it is InvalidIfMatchVersion."""
    unknown_members_refused: bool = True
    """Whether a request with an element that its operation does not have is refused (MalformedXML); otherwise
    the element is ignored."""
    enabled_by_default: bool = True
    """Whether a tenant or connection group is enabled if its create omits Enabled."""
    unchanged_update_moves_etag: bool = True
    """Whether an update of a tenant without changes causes a new ETag and a deployment."""
    deployed_moves_modified: bool = False
    """Whether a tenant's LastModifiedTime changes when its deployment ends."""
    domain_lookup_lag_seconds: float = 0.0
    """Virtual seconds until GetDistributionTenantByDomain finds a tenant by a new domain."""
    domain_activation_seconds: float = 0.0
    """Virtual seconds from the attachment of a certificate until an inactive domain is active."""
    tags_lag_seconds: float = 0.0
    """Virtual seconds for which ListTagsForResource still shows the tags before a change."""
    route53_insync_seconds: float = 30.0
    """Virtual seconds from a change to INSYNC. Route 53's API reference: generally within 60 seconds."""
    route53_change_seconds: float = 0.0
    """Virtual seconds for which a change blocks other changes of its zone (PriorRequestNotComplete)."""
    dns_propagation_seconds: float = 0.0
    """Virtual seconds from the change of a record until CloudFront and ACM see it."""
    update_checks_dns: bool = True
    """Whether an update with a certificate request (token host `cloudfront`) is refused until the domains
    point here, like a create; otherwise the update is accepted and the certificate waits."""
    verify_attaches_certificate: bool = False
    """Whether VerifyDnsConfiguration attaches an issued managed certificate if the DNS is correct."""
    acm_delete_cancels_request: bool = True
    """Whether deleting a pending managed certificate in ACM cancels the request; otherwise it stays pending
    until its timeout."""
    certificate_request_lost: bool = False
    """Whether certificate requests are accepted without effect, as without the permission
    acm:RequestCertificate."""
    removed_domain_detaches_certificate: bool = False
    """Whether a tenant loses its certificate when one of the certificate's domains is removed."""
    deployment_times: str = _choice("fixed", "uniform", "exponential")
    """The distribution of deployment times: as set, from half to one and a half times that, or with that mean
    and a long tail. The random numbers are the same in every run."""

    request_bytes: int = 1_049_600
    """Maximum bytes of a request's body; RequestEntityTooLargeException above it, like AWS's services with a
    limit of one mebibyte. CloudFront does not publish its limit."""
    request_seconds: float = 30.0
    """Maximum real seconds for a request to arrive; then RequestTimeoutException."""
    answer_seconds: float = 60.0
    """Maximum real seconds for a client to read its response."""
    connection_idle_seconds: float = 300.0
    """Maximum real seconds that an idle connection is kept open."""
    role_session_clock: str = _choice("virtual", "real")
    """The clock that ends sessions of roles. With the virtual clock at rate 60, a session of an hour ends
    after a minute, and clients refresh it as often; use real time at high rates."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """The settings from environment variables. Raises ValueError like `changed`."""
        given = {
            name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
            for name, value in environment.items()
            if name.startswith(ENVIRONMENT_PREFIX)
        }
        choices = cls.choices()
        return cls().changed(
            {name: value if name in choices else _parsed(value) for name, value in given.items()}
        )

    @classmethod
    def choices(cls) -> dict[str, tuple[str, ...]]:
        """The settings with a fixed set of values, the default first."""
        return {each.name: each.metadata["choices"] for each in fields(cls) if "choices" in each.metadata}

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """A copy of the settings with changes.

        Raises TypeError if `changes` is not a mapping, ValueError for an unknown name, a value of another
        type, a negative number, or a value that the setting does not allow.
        """
        if not isinstance(changes, Mapping):
            raise TypeError('settings: expected an object such as {"deploy_tenant_seconds": 5}')
        known, choices = self.as_json(), self.choices()
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"unknown setting {name!r}; {_meant(name, known)}")
            if name in choices:
                _check_word(name, value, choices[name])
            else:
                _check(name, value, type(getattr(Settings, name)))
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)


def _meant(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"


def _check(name: str, value: Any, kind: type) -> None:
    accepted, words = _KINDS[kind]
    if type(value) not in accepted:
        raise ValueError(f"setting {name!r}: expected {words}, got {value!r}")
    if not 0 <= value < float("inf"):
        raise ValueError(f"setting {name!r}: expected {words} of at least 0, got {value}")


def _check_word(name: str, value: Any, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"setting {name!r}: expected {', '.join(words[:-1])} or {words[-1]}, got {value!r}")


def _parsed(text: str) -> bool | float | str:
    """The value of a string: a boolean, a number, or else the string itself."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text
