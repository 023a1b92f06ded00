"""What can be set: durations, quotas, page sizes, and readings of what AWS does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

__all__ = ["ENVIRONMENT_PREFIX", "Settings"]

ENVIRONMENT_PREFIX = "EDGETENANTS_EMULATOR_SETTING_"
"""Before a setting's name in upper case: the environment variable that the command takes it from."""


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
    list_marker_skips: int = 0
    """Items that each further page of a list skips."""
    list_marker_repeats: int = 0
    """Items of the page before that each further page repeats; fewer than a page."""
    cloudfront_requests_per_second: float = 0.0
    """Calls that an account may make of each operation of CloudFront; Throttling above it, 0 for no limit."""
    cloudfront_requests_burst: int = 10
    """How many of them at once, after a pause."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """The settings that an environment gives. Raises ValueError as `changed` does."""
        given = {
            name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
            for name, value in environment.items()
            if name.startswith(ENVIRONMENT_PREFIX)
        }
        return cls().changed({name: _parsed(name, value) for name, value in given.items()})

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with some replaced.

        Raises ValueError for an unknown name, a value of another type, or a negative number.
        """
        known = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"there is no setting {name!r}; known: {', '.join(sorted(known))}")
            _check(name, value, known[name])
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """Name and value of each."""
        return asdict(self)


def _check(name: str, value: Any, kind: type) -> None:
    accepted = {float: (int, float), int: (int,), bool: (bool,)}[kind]
    if type(value) not in accepted:
        raise ValueError(f"setting {name!r} takes a {kind.__name__}, not {value!r}")
    if value < 0:
        raise ValueError(f"setting {name!r} cannot be negative, and {value} is")


def _parsed(name: str, text: str) -> bool | int | float:
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError as error:
        raise ValueError(f"setting {name!r} takes true, false or a number, not {text!r}") from error
