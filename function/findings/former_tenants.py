"""The former tenants of a claim: DistributionTenants that it composed before, and that still exist because
their deletion is held or fails. A claim that is deleted and created again leaves such tenants behind, and so
does a change of its isolation or domains. Crossplane no longer observes them for the function, so the
function requires them by their labels: by Crossplane's, which those of earlier versions have, and by its own,
as Crossplane removes its labels from a composed resource when it deletes that.

Only two kinds of claims need them, so that others cost nothing more: a suspended one, which says whether
anything is still served, and one with a tenant that fails to get its domains, which a former one may have.
"""

from collections.abc import Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from edgetenants_runtime.api.annotations import LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE
from function.claims.claim import LONGEST_LABEL, Composite
from function.composed import compose, observed
from function.composed.observed import ObservedTenant
from function.findings.other_tenants import IN_CONFLICT
from function.protocol import requirements, structs

REQUIREMENT: Final = "former-tenants"
OWN_REQUIREMENT: Final = "former-tenants-by-claim"
"""By the function's own label."""
NESTED_REQUIREMENT: Final = "former-tenants-by-label"
"""For a composite whose label names another one: that may be its own author's doing."""


def require(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    seen: Iterable[ObservedTenant],
) -> None:
    """Require all DistributionTenants of the claim, if it needs its former tenants.

    Args:
        req: the request.
        rsp: the response.
        composite: the claim's composite.
        seen: the claim's managed resources that Crossplane observed.
    """
    if not _are_needed(req, composite, seen):
        return
    kind = kinds.DISTRIBUTION_TENANT if composite.namespaced else kinds.LEGACY_DISTRIBUTION_TENANT
    for name, labels in _labels(composite).items():
        selector = requirements.with_labels(kind, labels, composite.namespace)
        requirements.require(req, rsp, name, selector)


def gather(
    req: fnv1.RunFunctionRequest, composite: Composite, seen: Iterable[ObservedTenant]
) -> tuple[ObservedTenant, ...] | None:
    """The former tenants, by name; empty if the claim does not need them, and None if Crossplane has not read
    them yet."""
    if not _are_needed(req, composite, seen):
        return ()
    answers = [requirements.answer(req, name) for name in _labels(composite)]
    present = {structs.text(each.resource, "metadata", "name") for each in req.observed.resources.values()}
    found: dict[str, ObservedTenant] = {}
    for answer in answers:
        if answer is None:
            return None
        own = (item.resource for item in answer.items if _is_own(item.resource, composite))
        found |= {each.name: each for each in map(observed.read, own) if each.name not in present}
    return tuple(found[name] for name in sorted(found))


def _is_own(tenant: Struct, composite: Composite) -> bool:
    """Whether this composite, or an earlier one of its claim, composed the tenant. Composites of other kinds
    may have the same name, and labels can be copied. The uid differs if the claim was created again."""
    api_version, kind, name = structs.texts_at(observed.controller(tenant), ("apiVersion", "kind", "name"))
    if (_group(api_version), kind) != (_group(composite.api_version), composite.kind):
        return False
    return name == composite.name or composite.claim is not None


def _group(api_version: str) -> str:
    return api_version.partition("/")[0]


def _are_needed(req: fnv1.RunFunctionRequest, composite: Composite, seen: Iterable[ObservedTenant]) -> bool:
    if not is_suspended(req) and not any(map(_lacks_domains, seen)):
        return False
    values = (value for labels in _labels(composite).values() for value in labels.values())
    return all(0 < len(value) <= LONGEST_LABEL for value in values) and requirements.readable(req)


def _lacks_domains(seen: ObservedTenant) -> bool:
    """Whether it fails to get a domain, or the claim's own connection group fails to come."""
    fails = seen.synced.denied or seen.ready.reason in IN_CONFLICT
    served = seen.exists and seen.active >= seen.asked.domains
    return fails and not seen.deleted and not served


def is_suspended(req: fnv1.RunFunctionRequest) -> bool:
    """Whether the claim requests suspension, even if other fields are invalid."""
    return structs.flag(req.observed.composite.resource, "spec", "suspended") or False


def _labels(composite: Composite) -> dict[str, dict[str, str]]:
    """The labels of the tenants, by requirement."""
    own = {OWN_REQUIREMENT: compose.claim_label(composite)}
    if composite.claim is not None:
        # A legacy composite's name is random: a claim that is created again gets another composite.
        names = zip((LABEL_CLAIM_NAMESPACE, LABEL_CLAIM_NAME), composite.claim, strict=True)
        return own | {REQUIREMENT: dict(names)}
    wanted = own | {REQUIREMENT: {LABEL_COMPOSITE: composite.name}}
    # A composite that another one composes has the other one's name there, and its tenants have it too.
    label = dict(composite.labels).get(LABEL_COMPOSITE)
    if label and label != composite.name:
        wanted[NESTED_REQUIREMENT] = {LABEL_COMPOSITE: label}
    return wanted
