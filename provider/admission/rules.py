"""What a webhook answers to one write (pure, but for what it asks its facts).

The write is refused only for what the controller would refuse for as long as the object stays as it is. The
rest is a warning. A domain that the object already has is not checked again: an edit of something else must
not fail because of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from apis import kinds
from apis.domains import normalise
from apis.errors import InvalidInput
from edgetenants_runtime.admission.review import Request, Verdict
from edgetenants_runtime.admission.server import Check
from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions
from provider.admission import shape
from provider.cloudfront.checks import preflight
from provider.cloudfront.domain.moves import taken_from
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import guards, kept_domains
from provider.cloudfront.state import desired, identity
from provider.cloudfront.state.distribution import Distribution

__all__ = ["CLAIMS", "MANAGED", "Facts", "checks"]

MANAGED: Final = "/validate-managed-resources"
CLAIMS: Final = "/validate-claims"
"""The paths of the webhooks, as in package/webhooks.yaml."""

_DOMAINS: Final = "spec.forProvider.domains"
_DELETE: Final = "DELETE"


class Facts(Protocol):
    """What this process knows."""

    def kept_for_others(self, domains: frozenset[str], namespace: str) -> Mapping[str, str]:
        """Return those of the domains that are kept for another namespace, each with where its record is."""
        ...

    def distribution(self, mr: Managed, id_: str) -> Distribution | None:
        """Return a distribution, if it is known with the account of this managed resource."""
        ...

    def without_records(self, domains: frozenset[str]) -> tuple[str, ...]:
        """Return those of the domains of which DNS says that they do not exist."""
        ...


def checks(facts: Facts, namespace: str) -> Mapping[str, Check]:
    """Return the check of each path. `namespace` is the provider's own, where Crossplane runs, too.

    The checks let pass what the service accounts of that namespace write: Crossplane and the provider itself.
    They raise BadReview for objects that the CRDs do not allow.
    """
    platform = f"system:serviceaccount:{namespace}:"

    def unless_platform(rules: Callable[[Request, Facts], Verdict]) -> Check:
        return lambda request: Verdict() if request.user.startswith(platform) else rules(request, facts)

    return {MANAGED: unless_platform(_of_managed), CLAIMS: unless_platform(_of_claim)}


def _of_managed(request: Request, facts: Facts) -> Verdict:
    """Return what to answer to a write of a DistributionTenant or ConnectionGroup."""
    shape.check_managed(request)
    old = _managed(request.old, request)
    if request.operation == _DELETE:
        return Verdict(warnings=tuple(_of_deletion(old)) if old else ())
    new = _managed(request.object, request)
    if new is None:
        return Verdict()
    if new.deleted:
        # Nothing may block the removal of finalizers.
        return Verdict(warnings=tuple(_while_deleted(new, old)) if old else ())
    if not judgement.writes(new):
        return Verdict()
    warnings = [*_dangers(new, old)] if old else []
    problems = [*_name(new, old)]
    if new.kind == kinds.DISTRIBUTION_TENANT.kind:
        taken = _taken(_added(new, old), identity.namespace_of(new), _DOMAINS, facts)
        # The holder may give them. Only the provider, which reads owner tags, knows whose consent counts.
        (warnings if taken_from(new) else problems).extend(taken)
        unknown, missing = _parameters(new, old, facts)
        problems += unknown
        warnings += missing
        warnings += _unreachable(_added(new, old), facts)
    if new.controller is not None:
        # Crossplane composes it, whatever user Crossplane is. Its conditions tell what is wrong, and the
        # claim shows them. If it were refused, there would be no conditions.
        return Verdict(warnings=(*problems, *warnings))
    return Verdict(tuple(problems), tuple(warnings))


def _of_claim(request: Request, facts: Facts) -> Verdict:
    """Return the warnings for a TenantClaim. Nothing of a claim is refused: it may wait for a domain, and its
    condition Live says what it waits for."""
    shape.check_claim(request)
    if request.object is None or (request.object.get("metadata") or {}).get("deletionTimestamp"):
        return Verdict()
    added = _claimed(request.object) - _claimed(request.old or {})
    taken = _taken(added, request.namespace, "spec.domains", facts)
    return Verdict(warnings=(*taken, *_unreachable(added, facts)))


# Problems.


def _name(new: Managed, old: Managed | None) -> Iterator[str]:
    name = new.external_name or new.metadata.get("name")
    former = old.external_name or old.name if old else None
    if name is None or name == former:
        # The API server generates the name, or the name was checked before.
        return
    if old and former and judgement.made(old):
        yield guards.renamed(new, former, str(old.at_provider.get("id")))
    elif new.kind == kinds.DISTRIBUTION_TENANT.kind and not judgement.names_by_id(new):
        yield from preflight.name_problems(new, name)


def _taken(added: frozenset[str], namespace: str, field: str, facts: Facts) -> list[str]:
    kept = facts.kept_for_others(added, namespace) if added else {}
    return [kept_domains.taken(field, domain, place) for domain, place in sorted(kept.items())]


def _parameters(new: Managed, old: Managed | None, facts: Facts) -> tuple[list[str], list[str]]:
    """Parameters that the distribution does not define, and those that a new tenant lacks."""
    asked = _asked(new)
    before = _asked(old) if old else None
    if asked is None or asked.distribution_id is None:
        return [], []
    if before and (asked.distribution_id, asked.parameters) == (before.distribution_id, before.parameters):
        return [], []
    distribution = facts.distribution(new, asked.distribution_id)
    if distribution is None or not distribution.multi_tenant:
        return [], []
    unknown = preflight.unknown_parameters(new, asked, distribution)
    # A tenant that exists already may have them.
    return [*unknown], [*preflight.missing_parameters(new, asked, distribution)]


# Warnings.


def _unreachable(added: frozenset[str], facts: Facts) -> Iterator[str]:
    missing = facts.without_records(added) if added else ()
    if missing:
        yield (
            f"DNS has no record of {', '.join(missing)}. Visitors reach a domain when its record leads to "
            "CloudFront; the status shows the record to create"
        )


def _of_deletion(mr: Managed) -> Iterator[str]:
    if guards.is_protected(mr) and _deletes(mr) and judgement.made(mr):
        yield (
            f"{mr.kind} {mr.name}: deletionProtection is on, so the provider holds the deletion of the "
            f"{identity.noun(mr)} until the annotation {guards.CONFIRM_ANNOTATION} confirms it; the "
            "condition Ready shows its value"
        )


def _while_deleted(new: Managed, old: Managed) -> Iterator[str]:
    if (
        guards.is_protected(old)
        and old.spec.get("deletionProtection")
        and not new.spec.get("deletionProtection")
    ):
        yield (
            "spec.deletionProtection: the deletion has started, so turning it off releases nothing. Set the "
            f"annotation {guards.CONFIRM_ANNOTATION} as the condition Ready shows"
        )
    yield from _abandoned(new, old)


def _dangers(new: Managed, old: Managed) -> Iterator[str]:
    yield from _abandoned(new, old)
    if judgement.made(old) and new.provider_config_ref != old.provider_config_ref:
        home = old.at_provider.get("arn")
        yield (
            f"spec.providerConfigRef: the new provider config must lead to the same AWS account ({home}); "
            "otherwise the provider changes nothing"
        )


def _abandoned(new: Managed, old: Managed) -> Iterator[str]:
    if (
        FINALIZER in old.finalizers
        and FINALIZER not in new.finalizers
        and judgement.made(old)
        and _deletes(old)
    ):
        noun = identity.noun(old)
        yield (
            f"metadata.finalizers: without {FINALIZER}, a deletion of this object leaves its {noun} "
            f"{old.external_name or old.name} in AWS"
        )


# Parts.


def _managed(obj: Mapping[str, Any] | None, request: Request) -> Managed | None:
    if obj is None:
        return None
    # The API server fills in the namespace, and a generated name later.
    metadata = {"namespace": request.namespace, **(obj.get("metadata") or {})}
    return Managed({**obj, "kind": request.kind, "metadata": metadata})


def _asked(mr: Managed) -> desired.Tenant | None:
    named = mr if "name" in mr.metadata else Managed({**mr.raw, "metadata": {**mr.metadata, "name": ""}})
    name = named.external_name or named.name
    try:
        return desired.at_creation(named, installation="", name=name)
    except InvalidInput:
        # The API server's rules refuse it, or the controller says what is wrong.
        return None


def _added(new: Managed, old: Managed | None) -> frozenset[str]:
    return kept_domains.asked(new) - (kept_domains.asked(old) if old else frozenset())


def _claimed(claim: Mapping[str, Any]) -> frozenset[str]:
    domains = (claim.get("spec") or {}).get("domains") or ()
    return frozenset(_normalised(str(domain)) for domain in domains)


def _normalised(domain: str) -> str:
    try:
        return normalise(domain)
    except ValueError:
        # The function refuses it, and no one has it.
        return domain


def _deletes(mr: Managed) -> bool:
    try:
        return permissions(mr.management_policies, mr.deletion_policy).delete
    except UnsupportedPolicies:
        return False
