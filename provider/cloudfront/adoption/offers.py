"""Checks whether an adoption would be refused, before a message advises a user to adopt.

The adoption itself checks this again, as the state may change meanwhile.
"""

from __future__ import annotations

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.group import use as group_use
from provider.cloudfront.safety import advice, guards, kept_names, name_keys
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView
from provider.cloudfront.safety.kept_domains import Keeper, KeptDomains
from provider.cloudfront.state import identity
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import Observed

__all__ = ["check"]


def check(mr: Managed, seen: Observed, account: AccountAccess, cluster: ClusterView) -> None:
    """Check the adoption of a tenant or connection group without an owner, before the provider offers it.

    If the checks cannot decide now, the provider offers it: the adoption itself waits for the answer.

    Raises:
        ExternalError: the adoption would be refused. The message says what to do instead, and names no other
            owner.
    """
    _check_kept(mr, seen, account, cluster.kept)
    kept_names.check_taking(mr, seen, account, cluster)
    if isinstance(seen, ObservedGroup) and _has_others(mr, seen, account, cluster):
        raise group_use.not_taken(mr, seen, account.installation)


def _check_kept(mr: Managed, seen: Observed, account: AccountAccess, kept: KeptDomains) -> None:
    keeper = Keeper(kept, account.cloudfront, account.memory, account.installation, account.id)
    try:
        refusals = keeper.not_for(mr, seen)
    except NotYet:
        return
    if (name := next(filter(name_keys.is_name, refusals), None)) is not None:
        raise guards.invalid(refusals[name], Reason.ADOPTION_REFUSED)
    if refusals:
        # Do not name the domain: this namespace may not learn the domains of tenants that it does not own.
        other_name = advice.sentence(advice.another_name(mr))
        raise guards.invalid(
            f"{identity.noun(mr)} {mr.external_name} exists in CloudFront but cannot be adopted: one of "
            f"its domains is kept for another namespace. {other_name}; or ask an administrator to release "
            "that domain, which the provider's log names",
            Reason.ADOPTION_REFUSED,
        )


def _has_others(mr: Managed, group: ObservedGroup, account: AccountAccess, cluster: ClusterView) -> bool:
    # Once a minute for all resources that are refused, as each check lists tenants.
    what = f"others in {group.id} than {identity.namespace_of(mr)}"
    try:
        return account.memory.shared.get(what, lambda: group_use.has_others(mr, group, account, cluster))
    except (ExternalError, NotYet):
        return False
