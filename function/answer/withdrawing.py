"""Domains that a refused claim must not get any more, because its plan no longer allows them.

A refusal changes nothing that exists. But a managed resource that still waits for such a domain would get it
as soon as its holder gives it up. So the first call that refuses the claim takes the domain out of the
resource, and omits a resource that then has no domain, so that Crossplane deletes it. Domains that the claim
has in CloudFront stay.
"""

from collections.abc import Mapping

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function.answer import response
from function.composed import compose
from function.composed.observed import ObservedTenant


def keep_rest(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    seen: Mapping[str, ObservedTenant],
    withdrawn: frozenset[str],
) -> bool:
    """Add all resources of the claim to the response, without these domains. False, and nothing is added: no
    resource asks for them.

    Args:
        req: the request.
        rsp: the response.
        seen: the claim's managed resources by their composed resource names.
        withdrawn: the domains; none of them is in CloudFront for this claim.
    """
    asking = {name for name, each in seen.items() if _asks(name, each, withdrawn)}
    if not asking:
        return False
    for name, each in seen.items():
        resource = req.observed.resources[name].resource
        if name in asking:
            rest = _rest(each, withdrawn)
            if not rest:
                continue
            resource = _with_domains(resource, rest)
        response.keep(rsp.desired, name, resource, ready=each.ready.holds)
    return True


def _asks(name: str, seen: ObservedTenant, withdrawn: frozenset[str]) -> bool:
    if compose.is_group(name) or seen.deleted or seen.asked.domains.isdisjoint(withdrawn):
        return False
    # A tenant in CloudFront is never deleted for this, even if its domains are unknown.
    return not seen.exists or bool(_rest(seen, withdrawn))


def _rest(seen: ObservedTenant, withdrawn: frozenset[str]) -> frozenset[str]:
    """The domains that it still may ask for; those that it has in CloudFront if there are no others."""
    return seen.asked.domains - withdrawn or frozenset(seen.domain_states)


def _with_domains(resource: Struct, domains: frozenset[str]) -> Struct:
    changed = Struct()
    changed.CopyFrom(resource)
    asked = changed.get_or_create_struct("spec").get_or_create_struct("forProvider")
    listed = asked.get_or_create_list("domains")
    listed.Clear()
    listed.extend(sorted(domains))
    return changed
