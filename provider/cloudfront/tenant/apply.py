"""Doing what a plan says: a thin loop.

Each action is one call. What a call changed is in `Effects` even when a later one fails, and the next plan
starts from what is there, so nothing has to be undone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.disabling import Said, first_taken
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant.actions import (
    Action,
    AttachCertificate,
    CreateTenant,
    DeleteTenant,
    DisableTenant,
    MoveDomain,
    RequestCertificate,
    TagTenant,
    UntagTenant,
    UpdateTenant,
    Wait,
)

__all__ = ["ActionFailed", "Effects", "run"]


@dataclass
class Effects:
    """What was done so far."""

    tenant: ObservedTenant | None
    """The tenant as the last answer has it; None before its creation and after its deletion."""
    story: list[str]
    """What was done, in words, in order."""
    wait: Wait | None = None
    requested: bool = False
    """A certificate was asked for."""
    said: Said | None = None
    """What AWS was told when it took the disabling."""

    @property
    def message(self) -> str:
        """The story on one line."""
        return ", ".join(self.story)


class ActionFailed(Exception):  # noqa: N818 - says what happened
    """An action's call failed."""

    def __init__(self, action: Action, cause: AwsError, effects: Effects) -> None:
        super().__init__(f"{type(action).__name__}: {cause}")
        self.action = action
        self.cause = cause
        self.effects = effects
        """What was done before."""


def run(actions: tuple[Action, ...], seen: ObservedTenant | None, cloudfront: CloudFront) -> Effects:
    """Do the actions in order. Each write uses the ETag of the answer before it.

    Raises:
        ActionFailed: at the first call that fails; those after it were not made.
    """
    effects = Effects(seen, [])
    for action in actions:
        try:
            _one(action, effects, cloudfront)
        except AwsError as error:
            raise ActionFailed(action, error, effects) from error
        effects.story.append(str(action))
    return effects


def _one(action: Action, effects: Effects, cloudfront: CloudFront) -> None:
    tenant = effects.tenant
    match action:
        case CreateTenant(wanted):
            effects.tenant = replace(cloudfront.create_tenant(wanted), tags=wanted.tags)
            effects.requested = wanted.certificate_request is not None
        case UpdateTenant(id_, wanted, _, emptied, request):
            updated = cloudfront.update_tenant(id_, _etag(tenant), wanted, emptied, request)
            effects.tenant = replace(updated, tags=_tags(tenant))
            effects.requested |= request is not None
        case MoveDomain(id_, _, domain, _):
            etag = cloudfront.move_domain(domain, id_, _etag(tenant))
            effects.tenant = tenant and tenant.given(domain, etag)
        case RequestCertificate(id_, wanted, request):
            updated = cloudfront.update_tenant(id_, _etag(tenant), wanted, request=request)
            effects.tenant = replace(updated, tags=_tags(tenant))
            effects.requested = True
        case DisableTenant() | AttachCertificate():
            effects.tenant = replace(_updated(action, effects, cloudfront), tags=_tags(tenant))
        case TagTenant(arn, tags):
            cloudfront.tag(arn, tags)
            effects.tenant = tenant and replace(tenant, tags={**(tenant.tags or {}), **tags})
        case UntagTenant(arn, keys):
            cloudfront.untag(arn, keys)
            left = {key: value for key, value in (_tags(tenant) or {}).items() if key not in keys}
            effects.tenant = tenant and replace(tenant, tags=left)
        case DeleteTenant(id_, _):
            cloudfront.delete_tenant(id_, _etag(tenant))
            effects.tenant = None
        case Wait():
            effects.wait = action


def _updated(
    action: DisableTenant | AttachCertificate, effects: Effects, cloudfront: CloudFront
) -> ObservedTenant:
    etag = _etag(effects.tenant)
    if isinstance(action, AttachCertificate):
        return cloudfront.update_tenant(action.id, etag, action.tenant)
    ways = dict(action.ways)
    effects.said, disabled = first_taken(
        tuple(ways), lambda way: cloudfront.update_tenant(action.id, etag, ways[way])
    )
    return disabled


def _etag(tenant: ObservedTenant | None) -> str:
    return tenant.etag if tenant else ""


def _tags(tenant: ObservedTenant | None) -> dict[str, str] | None:
    return None if tenant is None or tenant.tags is None else dict(tenant.tags)
