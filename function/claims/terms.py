"""The terms of a claim: its plan's fields, overridden by the claim's as far as the plan allows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apis.errors import Problem, shown
from apis.tags import is_reserved_tag
from apis.tenant_choices import (
    CertificateChoice,
    CertificateMode,
    DnsMode,
    GeoChoice,
    Isolation,
    OnDelete,
    SecurityChoice,
    WebAclChoice,
)
from apis.tenantclaim import TenantClaimSpec
from apis.tenantplans import OverridableField, Plan
from function.claims import domains
from function.claims.claim import Claim, Composite
from function.claims.plans import ChosenPlan
from function.errors import refuse_claim

MOST_PARAMETERS = 50
"""Parameters of one tenant that the managed resource accepts."""
MOST_TAGS = 50
"""Tags of one tenant that the managed resource accepts."""


_NO_CHOICE = SecurityChoice()


@dataclass(frozen=True)
class Terms:
    """The terms of one claim."""

    certificate: CertificateChoice
    dns_mode: DnsMode
    web_acl: WebAclChoice | None
    geo: GeoChoice | None
    dedicated: bool
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    on_delete: OnDelete
    kept: tuple[str, ...] = ()
    """Domains that the plan does not allow, but that the claim already has in CloudFront; sorted."""


def beyond(namespace: str, claim: Claim, plan: Plan) -> frozenset[str]:
    """The domains of the claim that its plan does not allow. Parking names are among them, because a claim
    that has one stops another claim's change of isolation."""
    return frozenset(
        each
        for each in claim.domains
        if not domains.allows(plan.allow, namespace, each) or domains.parks(plan.parking_domain, each)
    )


def agree(composite: Composite, claim: Claim, chosen: ChosenPlan, kept: frozenset[str]) -> Terms:
    """The terms of the claim.

    Args:
        composite: the claim's composite.
        claim: the parsed claim.
        chosen: the claim's plan.
        kept: domains that the plan does not allow, but that the claim already has in CloudFront. A restricted
            plan does not interrupt them.

    Raises:
        Refused: with reason InvalidClaim and everything that the plan does not allow.
    """
    terms = _merge(composite, claim.spec, chosen.plan, kept)
    namespace = composite.owner[0]
    without = beyond(namespace, claim, chosen.plan) - kept
    denied = (
        *_not_allowed(claim.spec, chosen),
        *_denied_domains(namespace, claim, chosen, without),
        *_too_many(claim, chosen),
    )
    refuse_claim(_impossible(claim, chosen, terms), denied)
    return terms


def _merge(composite: Composite, spec: TenantClaimSpec, plan: Plan, kept: frozenset[str]) -> Terms:
    own, planned = spec.security or _NO_CHOICE, plan.security or _NO_CHOICE
    return Terms(
        certificate=spec.certificate or plan.certificate,
        dns_mode=(spec.dns or plan.dns).mode,
        web_acl=own.web_acl or planned.web_acl,
        geo=own.geo or planned.geo,
        dedicated=(spec.connection or plan.connection).dedicated,
        parameters={**(plan.parameters or {}), **(spec.parameters or {})},
        tags={**(plan.tags or {}), **_from_labels(composite, plan), **(spec.tags or {})},
        on_delete=spec.on_delete or plan.allow.on_delete[0],
        kept=tuple(sorted(kept)),
    )


def _from_labels(composite: Composite, plan: Plan) -> dict[str, str]:
    """The labels that the plan maps to tags, except keys that are reserved for AWS, Crossplane or the
    provider."""
    wanted = (key for key in plan.tags_from_labels or () if not is_reserved_tag(key))
    labels = dict(composite.labels)
    return {key: labels[key] for key in wanted if key in labels}


def _set_fields(spec: TenantClaimSpec) -> dict[OverridableField, object]:
    security = spec.security or _NO_CHOICE
    return {
        OverridableField.PARAMETERS: spec.parameters,
        OverridableField.CERTIFICATE: spec.certificate,
        OverridableField.DNS: spec.dns,
        OverridableField.WEB_ACL: security.web_acl,
        OverridableField.GEO: security.geo,
        OverridableField.CONNECTION: spec.connection,
        OverridableField.TAGS: spec.tags,
    }


def _not_allowed(spec: TenantClaimSpec, chosen: ChosenPlan) -> Iterator[Problem]:
    allow = chosen.plan.allow
    for field, asked in _set_fields(spec).items():
        if asked is not None and field not in allow.override:
            claims_may = ", ".join(allow.override) or "nothing"
            expected = f"nothing, as plan {chosen.name} lets its claims set {claims_may}"
            yield Problem(f"spec.{field}", expected, "a value")
    if spec.adopt and not allow.adopt:
        expected = f"nothing, as plan {chosen.name} allows no adoption"
        yield Problem("spec.adopt", expected, shown(spec.adopt.tenant_id))
    if spec.on_delete and spec.on_delete not in allow.on_delete:
        expected = f"one of {', '.join(allow.on_delete)}, as plan {chosen.name} allows"
        yield Problem("spec.onDelete", expected, spec.on_delete)


def _denied_domains(
    namespace: str, claim: Claim, chosen: ChosenPlan, denied: frozenset[str]
) -> Iterator[Problem]:
    for index, domain in enumerate(claim.domains):
        if domain in denied:
            parks = domains.parks(chosen.plan.parking_domain, domain)
            instead = domains.allowed_in_words(chosen.plan.allow, namespace, domain)
            if parks:
                instead = f"no name below {chosen.plan.parking_domain}, which is for changes of isolation"
            # In its stored form, because the written form may look like an allowed domain.
            yield Problem(f"spec.domains[{index}]", f"{instead}, as plan {chosen.name} allows", shown(domain))


def _impossible(claim: Claim, chosen: ChosenPlan, terms: Terms) -> Iterator[Problem]:
    if terms.dns_mode is DnsMode.MANAGED and chosen.plan.dns.config_ref is None:
        expected = f"Manual, as {chosen.path('dns.configRef')} is not set"
        yield Problem("spec.dns.mode", expected, DnsMode.MANAGED)
    if terms.certificate.mode is CertificateMode.MANAGED:
        yield from domains.wildcards(claim.domains)
    if len(terms.parameters) > MOST_PARAMETERS:
        expected = f"at most {MOST_PARAMETERS} together with the plan's"
        yield Problem("spec.parameters", expected, f"{len(terms.parameters)}")
    if len(terms.tags) > MOST_TAGS:
        expected = f"at most {MOST_TAGS} together with the plan's and those of labels"
        yield Problem("spec.tags", expected, f"{len(terms.tags)}")


def _too_many(claim: Claim, chosen: ChosenPlan) -> Iterator[Problem]:
    allow, asked = chosen.plan.allow, len(claim.domains)
    if asked > allow.max_domains:
        yield Problem(
            "spec.domains", f"at most {allow.max_domains} domains, as plan {chosen.name} allows", f"{asked}"
        )
    if claim.spec.isolation is not Isolation.PER_DOMAIN:
        return
    if not allow.max_per_domain:
        yield Problem(
            "spec.isolation", f"Shared, as plan {chosen.name} allows no other", Isolation.PER_DOMAIN
        )
    elif asked > allow.max_per_domain:
        expected = f"at most {allow.max_per_domain} with isolation PerDomain, as plan {chosen.name} allows"
        yield Problem("spec.domains", expected, f"{asked}")
