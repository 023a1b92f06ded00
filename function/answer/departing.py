"""Composed resources that the claim no longer wants, and whose deletion would follow an outdated policy.

Crossplane deletes a composed resource that a response omits, as it is: the provider then deletes or orphans
the external resource by the management policies in the resource's spec, not by those that the claim requests
now. If one change sets `onDelete` and removes a domain, a tenant could stay in CloudFront without a managed
resource, or be deleted although it should stay. So such a resource stays composed until its spec has the
claim's policy, and goes with the next call.

    spec of the resource      the claim's onDelete    this call
    Orphan                    Delete                  keeps it, with the policy Delete
    Delete                    Orphan                  keeps it, with the policy Orphan
    (the same)                                        omits it, so Crossplane deletes it

A tenant that has only a parking name never served the claim. It is deleted with its resource, whatever
`onDelete` says.
"""

from collections.abc import Container, Iterator, Mapping

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis.tenant_choices import OnDelete
from edgetenants_runtime.api.managed import DeletionPolicy, ManagementPolicy
from function.answer import response
from function.composed import naming
from function.composed.compose import KEEP, Order
from function.composed.observed import ObservedTenant
from function.protocol import structs

_DELETING = frozenset({ManagementPolicy.ALL, ManagementPolicy.DELETE})


def keep(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    order: Order,
    seen: Mapping[str, ObservedTenant],
) -> bool:
    """Add the resources that must first get the claim's policy to the response; whether there are any.

    Args:
        req: the request.
        rsp: the response, which already has everything that the claim wants.
        order: the claim with its plan and terms.
        seen: the claim's managed resources by their composed resource names.
    """
    departing = {
        name: _with_policy(req.observed.resources[name].resource, order)
        for name in _outdated(req, order, seen, rsp.desired.resources)
    }
    for name, resource in departing.items():
        response.keep(rsp.desired, name, resource, ready=True)
    return bool(departing)


def _outdated(
    req: fnv1.RunFunctionRequest,
    order: Order,
    seen: Mapping[str, ObservedTenant],
    wanted: Container[str],
) -> Iterator[str]:
    orphan = order.terms.on_delete is OnDelete.ORPHAN
    for name, each in seen.items():
        if name in wanted or each.deleted or (orphan and _is_parked(order, name, each)):
            continue
        if _is_orphaned(req.observed.resources[name].resource, order) is (not orphan):
            yield name


def _is_parked(order: Order, name: str, seen: ObservedTenant) -> bool:
    """Whether it is a tenant that lists parking names and nothing else. The plan may have no parking domain
    any more, or another one."""
    domains = seen.asked.domains
    return bool(domains) and all(
        naming.is_parked(None, name, each) and each not in order.claim.domains for each in domains
    )


def _is_orphaned(resource: Struct, order: Order) -> bool | None:
    """Whether the external resource stays in AWS when the resource is deleted. None: it stays, by policies
    that a user set, which the function does not change."""
    if not order.composite.namespaced:
        return structs.text(resource, "spec", "deletionPolicy") == DeletionPolicy.ORPHAN
    if structs.value(resource, "spec", "managementPolicies") is None:
        return False
    policies = frozenset(structs.texts(resource, "spec", "managementPolicies"))
    if policies == frozenset(KEEP):
        return True
    return None if policies.isdisjoint(_DELETING) else False


def _with_policy(resource: Struct, order: Order) -> Struct:
    """The resource as observed, with the claim's policy. It is set even where the function usually omits it:
    another field manager may have set it too, and would keep it."""
    orphan = order.terms.on_delete is OnDelete.ORPHAN
    changed = Struct()
    changed.CopyFrom(resource)
    spec = changed.get_or_create_struct("spec")
    if order.composite.namespaced:
        policies = KEEP if orphan else (ManagementPolicy.ALL,)
        listed = spec.get_or_create_list("managementPolicies")
        listed.Clear()
        listed.extend(map(str, policies))
    else:
        spec["deletionPolicy"] = str(DeletionPolicy.ORPHAN if orphan else DeletionPolicy.DELETE)
    return changed
