"""CloudFront's operations that the emulator implements, with their functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from botocore.model import OperationModel

from edgetenants_emulator.certificates import managed as managed_certificates
from edgetenants_emulator.cloudfront import (
    anycast_ip_lists,
    connection_groups,
    distributions,
    domain_control,
    invalidations,
    paging,
    tags,
    tenants,
    web_acls,
)
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol import constraints, request_shape, restxml
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.protocol.operations import CLOUDFRONT, Operation, service_model
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.world import World

__all__ = ["HANDLERS", "answer", "check", "is_ours", "operation_model", "read", "target_of"]

Handler = Callable[[World, str, Mapping[str, Any]], dict[str, Any]]

HANDLERS: dict[str, Handler] = {
    "CreateDistributionTenant": tenants.create,
    "GetDistributionTenant": tenants.get,
    "GetDistributionTenantByDomain": tenants.get_by_domain,
    "UpdateDistributionTenant": tenants.update,
    "DeleteDistributionTenant": tenants.delete,
    "ListDistributionTenants": tenants.list_page,
    "ListDistributionTenantsByCustomization": tenants.list_by_customization,
    "GetManagedCertificateDetails": managed_certificates.details,
    "AssociateDistributionTenantWebACL": web_acls.associate,
    "DisassociateDistributionTenantWebACL": web_acls.disassociate,
    "CreateInvalidationForDistributionTenant": invalidations.create_for_tenant,
    "GetInvalidationForDistributionTenant": invalidations.get_for_tenant,
    "ListInvalidationsForDistributionTenant": invalidations.list_for_tenant,
    "VerifyDnsConfiguration": domain_control.verify,
    "ListDomainConflicts": domain_control.list_conflicts,
    "UpdateDomainAssociation": domain_control.move,
    "CreateConnectionGroup": connection_groups.create,
    "GetConnectionGroup": connection_groups.get,
    "GetConnectionGroupByRoutingEndpoint": connection_groups.get_by_routing_endpoint,
    "UpdateConnectionGroup": connection_groups.update,
    "DeleteConnectionGroup": connection_groups.delete,
    "ListConnectionGroups": connection_groups.list_page,
    "CreateAnycastIpList": anycast_ip_lists.create,
    "GetAnycastIpList": anycast_ip_lists.get,
    "UpdateAnycastIpList": anycast_ip_lists.update,
    "DeleteAnycastIpList": anycast_ip_lists.delete,
    "ListAnycastIpLists": anycast_ip_lists.list_page,
    "CreateDistribution": distributions.create,
    "CreateDistributionWithTags": distributions.create_with_tags,
    "GetDistribution": distributions.get,
    "GetDistributionConfig": distributions.get_config,
    "UpdateDistribution": distributions.update,
    "DeleteDistribution": distributions.delete,
    "ListDistributions": distributions.list_page,
    "ListDistributionsByConnectionMode": distributions.list_by_connection_mode,
    "ListDistributionsByAnycastIpListId": distributions.list_by_anycast_ip_list,
    "CreateInvalidation": invalidations.create,
    "GetInvalidation": invalidations.get,
    "ListInvalidations": invalidations.list_page,
    "TagResource": tags.tag,
    "UntagResource": tags.untag,
    "ListTagsForResource": tags.list_tags,
}

_TAGGING = frozenset({"TagResource", "UntagResource", "ListTagsForResource"})
# The members that identify a request's resource, the most specific first.
_NAMING = ("DistributionTenantId", "Id", "Identifier", "Name", "Resource", "Domain", "RoutingEndpoint")


def is_ours(operation: Operation, request: Request) -> bool:
    """Whether the emulator implements an operation. moto handles the tags of its own kinds."""
    if operation.service != CLOUDFRONT or operation.name not in HANDLERS:
        return False
    arn = Arn.parse(request.query.get("Resource", ""))
    return operation.name not in _TAGGING or arn is None or arn.kind in tags.KINDS


def read(operation: Operation, request: Request, settings: Settings) -> dict[str, Any]:
    """Parse the members of a request and check them against the model. Raises AwsError."""
    model = operation_model(operation.name)
    if not request.body.strip() and _declares(model, ErrorCode.MISSING_BODY):
        message = f"The request to {operation.name} has no body."
        raise AwsError(ErrorCode.MISSING_BODY, message)
    request_shape.check(model, request.body, settings)
    params = restxml.parse(model, request, operation.labels)
    constraints.check(model, params)
    return params


def check(operation: Operation, request: Request, settings: Settings) -> None:
    """Check a request against the model, even if moto handles it. Raises AwsError."""
    params = read(operation, request, settings)
    if restxml.NOT_IN_XML.search(unquote(request.path + request.query_string)):
        message = "The request has characters that an answer cannot hold."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    paging.size(params.get("MaxItems"), settings)


def answer(
    world: World, account: str, operation: Operation, params: Mapping[str, Any], request_id: str
) -> Response:
    """Execute an operation under the world's lock. If it raises AwsError, nothing has changed."""
    with world.lock:
        managed_certificates.advance(world)
        result = HANDLERS[operation.name](world, account, params)
    return restxml.serialize(operation_model(operation.name), result, request_id)


def target_of(params: Mapping[str, Any]) -> str:
    """The resource of a request, for the call log."""
    return next((str(params[name]) for name in _NAMING if params.get(name)), "")


def operation_model(name: str) -> OperationModel:
    """botocore's model of a CloudFront operation."""
    model = service_model(CLOUDFRONT)
    if model is None:
        raise AwsError(ErrorCode.INTERNAL_ERROR, "botocore has no model of CloudFront.")
    return model.operation_model(name)


def _declares(model: OperationModel, code: ErrorCode) -> bool:
    return any(shape.name == code for shape in model.error_shapes)
