"""Whether an adoption would be refused, told before anybody is advised to it.

What takes something over asks the same once more: others may be given something meanwhile.
"""

from __future__ import annotations

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.group import use as group_use
from provider.cloudfront.safety import advice, guards, kept_names, name_keys
from provider.cloudfront.safety.context import Context
from provider.cloudfront.safety.kept_domains import Keeper
from provider.cloudfront.state import identity
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import Observed

__all__ = ["check"]


def check(mr: Managed, seen: Observed, having: Context) -> None:
    """A tenant or connection group is nobody's, and its adoption is about to be offered. Where it cannot be
    told now whether that would be refused, it is offered: the adoption waits for the answer.

    Raises:
        ExternalError: it would be; the message says what works instead, and names nobody.
    """
    _check_kept(mr, seen, having)
    kept_names.check_taking(mr, seen, having)
    if isinstance(seen, ObservedGroup) and _has_others(mr, seen, having):
        raise group_use.not_taken(mr, seen, having)


def _check_kept(mr: Managed, seen: Observed, having: Context) -> None:
    keeper = Keeper(having.kept, having.cloudfront, having.memory, having.installation, having.account)
    try:
        kept = keeper.not_for(mr, seen)
    except NotYet:
        return
    if (name := next(filter(name_keys.is_name, kept), None)) is not None:
        raise guards.invalid(kept[name], Reason.ADOPTION_REFUSED)
    if kept:
        # Not which: the domains of what is not theirs are no business of theirs.
        other_name = advice.sentence(advice.another_name(mr))
        raise guards.invalid(
            f"{identity.noun(mr)} {mr.external_name} exists in CloudFront, and a domain of it is kept for "
            f"another namespace, so it is not taken over. {other_name}; or have an administrator release "
            "that domain, which the provider's log names",
            Reason.ADOPTION_REFUSED,
        )


def _has_others(mr: Managed, group: ObservedGroup, having: Context) -> bool:
    # Once a minute for all who are refused it: each time it lists tenants.
    what = f"others in {group.id} than {identity.namespace_of(mr)}"
    try:
        return having.memory.shared(what, lambda: group_use.has_others(mr, group, having))
    except (ExternalError, NotYet):
        return False
