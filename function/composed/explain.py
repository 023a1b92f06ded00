"""Why a claim is composed as it is: the value of each choice, and where it comes from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apis.tenantplans import Plan
from function.claims.claim import Composite
from function.composed.compose import Order

CLAIM, DEFAULT = "the claim", "the default"


@dataclass(frozen=True)
class Because:
    """One choice."""

    what: str
    value: str
    who: str
    """Where it comes from: the claim, its plan, a label of the claim, or the default."""


def reasons(order: Order) -> tuple[Because, ...]:
    """Every choice behind a claim's composed resources, in the order of its fields."""
    return tuple(_reasons(order))


def _reasons(order: Order) -> Iterator[Because]:
    spec, plan, terms = order.claim.spec, order.chosen.plan, order.terms
    planned = f"plan {order.chosen.name}"
    yield Because("plan", order.chosen.name, CLAIM if spec.plan else "defaultPlan")
    yield Because("distributionId", plan.distribution_id, planned)
    yield Because("name in CloudFront", order.external_name(), f"{planned}, name {plan.name}")
    yield from _domains(order)
    yield Because("isolation", spec.isolation, _who(set_="isolation" in spec.model_fields_set))
    security, plan_security = spec.security, plan.security
    chosen = (
        ("certificate", terms.certificate.mode, spec.certificate, "certificate" in plan.model_fields_set),
        ("dns", terms.dns_mode, spec.dns, "dns" in plan.model_fields_set),
        (
            "security.webAcl",
            terms.web_acl.mode if terms.web_acl else "Inherit",
            security and security.web_acl,
            bool(plan_security and plan_security.web_acl),
        ),
        (
            "security.geo",
            terms.geo.model_dump_json(exclude_none=True) if terms.geo else "as the distribution says",
            security and security.geo,
            bool(plan_security and plan_security.geo),
        ),
        (
            "connection",
            "dedicated" if terms.dedicated else "shared",
            spec.connection,
            "connection" in plan.model_fields_set,
        ),
    )
    for what, value, asked, by_plan in chosen:
        yield Because(what, str(value), CLAIM if asked is not None else planned if by_plan else DEFAULT)
    yield from _pairs("parameters", terms.parameters, {CLAIM: spec.parameters, planned: plan.parameters})
    yield from _tags(order, planned)
    yield Because("onDelete", terms.on_delete, CLAIM if spec.on_delete else f"{planned}, allow.onDelete")


def _domains(order: Order) -> Iterator[Because]:
    for asked, domain in zip(order.claim.spec.domains, order.claim.domains, strict=True):
        written = "" if asked == domain else f", written {asked}"
        kept = (
            f", kept though plan {order.chosen.name} does not allow it" if domain in order.terms.kept else ""
        )
        yield Because("domain", domain, f"{CLAIM}{written}{kept}")


def _who(*, set_: bool) -> str:
    return CLAIM if set_ else DEFAULT


def _pairs(
    what: str, merged: Mapping[str, str], layers: Mapping[str, Mapping[str, str] | None]
) -> Iterator[Because]:
    for key, value in sorted(merged.items()):
        who = next(who for who, pairs in layers.items() if key in (pairs or {}))
        yield Because(f"{what}.{key}", value, who)


def _tags(order: Order, planned: str) -> Iterator[Because]:
    spec, plan = order.claim.spec, order.chosen.plan
    labels = _labels(order.composite, plan)
    layers = {CLAIM: spec.tags, "a label of the claim": labels, planned: plan.tags}
    yield from _pairs("tags", order.terms.tags, layers)


def _labels(composite: Composite, plan: Plan) -> dict[str, str]:
    labels = dict(composite.labels)
    return {key: labels[key] for key in plan.tags_from_labels or () if key in labels}
