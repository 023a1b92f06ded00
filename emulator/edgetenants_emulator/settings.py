"""What can be set: durations, quotas, page sizes, and readings of what AWS does not say."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from edgetenants_emulator.errors import ErrorCode

__all__ = ["ACCEPTED", "ENVIRONMENT_PREFIX", "Settings"]

ENVIRONMENT_PREFIX = "EDGETENANTS_EMULATOR_SETTING_"
"""Before a setting's name in upper case: the environment variable that the command takes it from."""
ACCEPTED = "accepted"
"""The word of a choice for no refusal at all."""
_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _choice(*words: str) -> Any:
    """A setting that takes one of these words, the first by default."""
    return field(default=str(words[0]), metadata={"choices": tuple(str(word) for word in words)})


@dataclass(frozen=True)
class Settings:
    """One value for the whole emulator; replaced as a whole, never changed in place."""

    deploy_tenant_seconds: float = 45.0
    """Virtual seconds from a tenant's create or update to Deployed."""
    deploy_group_seconds: float = 45.0
    """Virtual seconds from a connection group's create or update to Deployed."""
    deploy_distribution_seconds: float = 300.0
    """Virtual seconds from a distribution's create or update to Deployed."""
    certificate_issue_seconds: float = 60.0
    """Virtual seconds from the proof of control to a managed certificate's issue. AWS does not publish it;
    users report minutes."""
    certificate_timeout_seconds: float = 72 * 3600.0
    """Virtual seconds until ACM gives up (ACM user guide, "HTTP validation times out")."""
    certificate_valid_days: int = 395
    """Virtual days from the issue or renewal of a managed certificate to its end: ACM's 13 months."""
    certificate_renewal_days: int = 60
    """Virtual days before its end that ACM begins to renew it (ACM user guide); 0 for never."""
    expired_certificate_deactivates: bool = False
    """Whether domains become inactive when the managed certificate that covers them expires."""
    invalidation_seconds: float = 60.0
    """Virtual seconds from an invalidation's create to Completed."""
    tenants_per_account: int = 10_000
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    groups_per_account: int = 100
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    groups_per_anycast_ip_list: int = 5
    """Quota of CloudFront's quotas page; EntityLimitExceeded above it."""
    anycast_ip_lists_per_account: int = 10
    """EntityLimitExceeded above it. AWS gives none until asked (General Reference, CloudFront quotas)."""
    tenant_only_distributions_per_account: int = 20
    """Quota of CloudFront's quotas page; TooManyDistributions above it."""
    domains_per_tenant: int = 100
    """Quota of CloudFront's quotas page, where UpdateDistributionTenant's text has 5; EntityLimitExceeded."""
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
    """Paths in progress; BatchTooLarge for one invalidation with more, else TooManyInvalidationsInProgress.
    CloudFront's quotas page has it for a distribution."""
    invalidation_wildcards: int = 15
    """Wildcard paths in progress, of the same page; TooManyInvalidationsInProgress above it."""
    page_size_default: int = 100
    """Items on a page when MaxItems is not given. AWS does not publish it."""
    page_size_max: int = 100
    """Most items on a page, whatever MaxItems says. AWS does not publish it."""
    delete_needs_deployed: bool = True
    """Whether a delete is refused (ResourceNotDisabled) while the disabling is InProgress. AWS does not say;
    one live report saw such a delete succeed, others wait. Refusing is the harder case for a caller."""
    group_disable_needs_no_tenants: bool = True
    """Whether a group with tenants can be disabled. AWS does not say; the model declares ResourceInUse for
    UpdateConnectionGroup, and nothing else could be in use."""
    certificate_attached_by_itself: bool = False
    """Whether an issued managed certificate is attached without an update."""
    certificate_moves_etag: bool = True
    """Whether a managed certificate's change of status gives its tenant a new ETag."""
    disassociated_web_acl_inherits: bool = True
    """Whether a tenant is back at its distribution's web ACL after DisassociateDistributionTenantWebACL;
    otherwise it has none (`disable`)."""
    domain_move_needs_disabled_source: bool = True
    """Whether a domain moves within an account only away from a disabled resource, as the API reference
    says; the developer guide asks for it between accounts alone, where it always holds."""
    customizations_merge: bool = False
    """Whether an update merges Customizations; otherwise what it sends replaces them."""
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
    """Whether a tenant's update is refused (PreconditionFailed) while the one before is InProgress."""
    tenant_update_needs: str = _choice("nothing", "parent", "everything")
    """What an update of a tenant has to say (else InvalidArgument), whatever it changes: nothing, as AWS's
    example has it; the distribution and the domains; or also connection group, Enabled and parameters."""
    group_update_needs_everything: bool = False
    """Whether an update of a connection group has to say both Enabled and Ipv6Enabled (else
    InvalidArgument)."""
    default_group_with_distribution: bool = True
    """Whether the default group is born with the first multi-tenant distribution; else with a tenant."""
    acm_certificates_per_account: int = 2500
    """Quota of ACM's quotas page; EntityLimitExceeded for a managed certificate above it."""
    managed_certificates_count: bool = True
    """Whether managed certificates count against that quota."""
    distribution_update_needs_all: bool = True
    """Whether an update of a distribution that leaves out a member is refused (IllegalUpdate). AWS asks to
    send all; users report it of some."""
    group_names_checked: bool = True
    """Whether a connection group's name keeps to 128 letters, digits, dots, dashes and underscores (else
    InvalidArgument). AWS publishes no pattern for it, but for tenants and Anycast lists."""
    list_lag_seconds: float = 0.0
    """Virtual seconds until a new tenant is in lists."""
    list_lag_of_updates_seconds: float = 0.0
    """Virtual seconds that lists go on showing a tenant as it was before a change, its ETag included."""
    list_lag_of_deletes_seconds: float = 0.0
    """Virtual seconds that lists go on showing a tenant that is deleted."""
    list_marker_skips: int = 0
    """Items that each further page of a list skips."""
    list_marker_repeats: int = 0
    """Items of the page before that each further page repeats; fewer than a page."""
    cloudfront_requests_per_second: float = 0.0
    """Calls that an account may make of each operation of CloudFront; Throttling above it, 0 for no limit."""
    cloudfront_requests_burst: int = 10
    """How many of them at once, after a pause."""
    list_filters_each_page: bool = False
    """Whether a list's filter is applied to a page once it is cut, so that a page may be empty and yet have
    a next one."""
    list_marker_needs_its_item: bool = False
    """Whether a marker is refused (InvalidArgument) when the last item of its page is deleted meanwhile."""
    max_items_above_max_refused: bool = False
    """Whether MaxItems above `page_size_max` is refused (InvalidArgument); otherwise it is cut down."""
    association_filter_both: str = _choice("and", "or", ErrorCode.INVALID_ARGUMENT)
    """What a list's filter with both a distribution and a connection group asks for."""
    association_filter_unknown_refused: bool = True
    """Whether a filter with an id that is not there is refused (EntityNotFound); otherwise it finds none."""
    second_certificate_request_error: str = _choice(
        ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_ALREADY_EXISTS, ErrorCode.INVALID_ASSOCIATION
    )
    """What answers a certificate request while another is pending."""
    uncovered_domain_error: str = _choice(ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_ASSOCIATION, ACCEPTED)
    """What answers a domain that no certificate covers and none is asked for; accepted, it is inactive."""
    parameter_error: str = _choice(
        ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_ASSOCIATION, ErrorCode.ENTITY_NOT_FOUND
    )
    """What answers a parameter that is unknown, or missing and required."""
    standard_parent_error: str = _choice(
        ErrorCode.INVALID_ASSOCIATION, ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_NOT_FOUND
    )
    """What answers a distribution that takes no tenants as a tenant's DistributionId."""
    required_parameter_added: str = _choice(ACCEPTED, ErrorCode.ILLEGAL_UPDATE, ErrorCode.INVALID_ARGUMENT)
    """What answers a new required parameter of a distribution whose tenants do not give it."""
    update_in_progress_error: str = _choice(ErrorCode.PRECONDITION_FAILED, ErrorCode.INVALID_ARGUMENT)
    """What answers an update while InProgress, where `update_needs_deployed` refuses it."""
    delete_in_progress_error: str = _choice(ErrorCode.RESOURCE_NOT_DISABLED, ErrorCode.PRECONDITION_FAILED)
    """What answers the delete of what is disabled but InProgress, where `delete_needs_deployed` refuses it.
    For distributions, DistributionNotDisabled stands for ResourceNotDisabled."""
    delete_lag_seconds: float = 0.0
    """Virtual seconds that such a delete goes on being refused after Deployed."""
    default_group_delete_error: str = _choice(
        ErrorCode.CANNOT_DELETE_ENTITY_WHILE_IN_USE, ErrorCode.ACCESS_DENIED
    )
    """What answers the delete of the default connection group."""
    disassociate_nothing: str = _choice(ErrorCode.INVALID_ARGUMENT, ErrorCode.ENTITY_NOT_FOUND, ACCEPTED)
    """What answers DisassociateDistributionTenantWebACL where there is no web ACL."""
    foreign_arn_error: str = _choice(ErrorCode.ACCESS_DENIED, ErrorCode.ENTITY_NOT_FOUND)
    """What answers an ARN of another account where a tenant or connection group is looked for."""
    foreign_domain_error: str = _choice(ErrorCode.ENTITY_NOT_FOUND, ErrorCode.ACCESS_DENIED)
    """What answers GetDistributionTenantByDomain for a domain that another account has."""
    if_match_star_accepted: bool = False
    """Whether `If-Match: *` stands for any version; otherwise it is InvalidIfMatchVersion."""
    unknown_members_refused: bool = True
    """Whether a request with an element that its operation does not have is refused (MalformedXML); otherwise
    the element is ignored."""
    enabled_by_default: bool = True
    """Whether a tenant or connection group is enabled that is made without saying so."""
    unchanged_update_moves_etag: bool = True
    """Whether an update of a tenant that changes nothing gives a new ETag and a deployment."""
    deployed_moves_modified: bool = False
    """Whether a tenant's LastModifiedTime moves when its deployment ends."""
    domain_lookup_lag_seconds: float = 0.0
    """Virtual seconds until GetDistributionTenantByDomain finds a tenant by a new domain."""
    domain_activation_seconds: float = 0.0
    """Virtual seconds from the attachment of a certificate until an inactive domain is active."""
    tags_lag_seconds: float = 0.0
    """Virtual seconds that ListTagsForResource goes on showing the tags from before a change."""
    route53_insync_seconds: float = 30.0
    """Virtual seconds from a change to INSYNC. Route 53's API reference: generally within 60 seconds."""
    route53_change_seconds: float = 0.0
    """Virtual seconds that a change goes on keeping others from its hosted zone (PriorRequestNotComplete)."""
    dns_propagation_seconds: float = 0.0
    """Virtual seconds until CloudFront and ACM see a change of a record, from when it was written."""
    update_checks_dns: bool = True
    """Whether a certificate request with the token host `cloudfront` is refused in an update, as in a
    create, until the domains point here; otherwise an update is accepted and the certificate waits."""
    verify_attaches_certificate: bool = False
    """Whether VerifyDnsConfiguration attaches an issued managed certificate when the DNS is right."""
    acm_delete_cancels_request: bool = True
    """Whether deleting a pending managed certificate in ACM ends the request; otherwise it stays pending
    until its time-out."""
    certificate_request_lost: bool = False
    """Whether certificate requests are accepted and come to nothing, as where acm:RequestCertificate is
    missing."""
    removed_domain_detaches_certificate: bool = False
    """Whether a tenant loses its certificate with a domain that the certificate names."""
    deployment_times: str = _choice("fixed", "uniform", "exponential")
    """How long deployments take: as set, from half to one and a half times that, or with that mean and a
    long tail. The same chances in every run."""

    request_bytes: int = 1_049_600
    """Bytes that a request's body may have; RequestEntityTooLargeException above it, as AWS's services with a
    limit of a mebibyte answer. CloudFront publishes none."""
    request_seconds: float = 30.0
    """Real seconds that a request may take to arrive; RequestTimeoutException after them."""
    answer_seconds: float = 60.0
    """Real seconds that a client may take to read its answer."""
    connection_idle_seconds: float = 300.0
    """Real seconds that a connection is kept for the next request."""
    role_session_clock: str = _choice("virtual", "real")
    """On which clock sessions of roles end. On the virtual one a session of an hour ends in a minute at rate
    60, and clients refresh it as often; real time is for worlds that run fast."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """The settings that an environment gives. Raises ValueError as `changed` does."""
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
        """The settings that take a word, each with its words, the default first."""
        return {each.name: each.metadata["choices"] for each in fields(cls) if "choices" in each.metadata}

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with some replaced.

        Raises TypeError for no mapping, ValueError for an unknown name, a value of another type, a negative
        number, or a word that is not one of the setting's.
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
        """Name and value of each."""
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
    """What a text stands for; the text itself where it is neither a truth value nor a number."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text
