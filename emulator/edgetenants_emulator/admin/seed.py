"""Creates distributions with fixed ids, to which examples and tests can refer."""

from __future__ import annotations

from typing import Any

from edgetenants_emulator.admin import seed_orders
from edgetenants_emulator.admin.seed_orders import DistributionOrder, ParameterOrder
from edgetenants_emulator.certificates import acm
from edgetenants_emulator.cloudfront import connection_groups, distributions, handlers
from edgetenants_emulator.protocol import constraints
from edgetenants_emulator.state.world import World

__all__ = ["seed"]

_CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"
_ORIGIN: dict[str, Any] = {
    "Id": "origin",
    "DomainName": "origin.example.com",
    "CustomOriginConfig": {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"},
}


def seed(world: World, wanted: Any) -> dict[str, Any]:
    """Create the missing multi-tenant distributions, deployed and each with an issued certificate.

    `wanted` is `{"account", "distributions": [{"id", "certificateDomains", "parameters"}]}`. The response
    says for each whether it was created now. Raises AwsError InvalidArgument for an invalid body, and then
    creates nothing.
    """
    order = seed_orders.parse(wanted)
    model = handlers.operation_model("CreateDistribution")
    for each in order.distributions:
        constraints.check(model, {"DistributionConfig": _config(each)})
    with world.lock:
        made = [_distribution(world, order.account, each) for each in order.distributions]
        group = connection_groups.default(world, order.account)
        group.deployed_at = group.created
        return {
            "account": order.account,
            "distributions": made,
            "connectionGroup": {"id": group.id, "routingEndpoint": group.routing_endpoint},
        }


def _distribution(world: World, account: str, wanted: DistributionOrder) -> dict[str, Any]:
    found = world.distributions.get(account, wanted.id)
    created = found is None
    if found is None:
        config = _config(wanted)
        if wanted.certificate_domains:
            config["ViewerCertificate"] = {
                "ACMCertificateArn": acm.issue(account, wanted.certificate_domains),
                "SSLSupportMethod": "sni-only",
                "MinimumProtocolVersion": "TLSv1.2_2021",
            }
        found = distributions.make(world, account, config, {}, fixed_id=wanted.id)
        found.deployed_at = found.created
    return {
        "id": found.id,
        "arn": found.arn,
        "certificateArn": found.certificate_arn,
        "certificateDomains": list(acm.issued_names(account, found.certificate_arn) or ()),
        "created": created,
    }


def _config(wanted: DistributionOrder) -> dict[str, Any]:
    """The configuration without the certificate, which is issued only for new distributions."""
    return {
        "CallerReference": f"seed-{wanted.id}",
        "Comment": "made by the emulator's seed",
        "Enabled": True,
        "ConnectionMode": "tenant-only",
        "Origins": {"Quantity": 1, "Items": [_ORIGIN]},
        "DefaultCacheBehavior": {
            "TargetOriginId": _ORIGIN["Id"],
            "ViewerProtocolPolicy": "redirect-to-https",
            "CachePolicyId": _CACHING_OPTIMIZED,
        },
        "TenantConfig": {"ParameterDefinitions": [_definition(each) for each in wanted.parameters]},
    }


def _definition(wanted: ParameterOrder) -> dict[str, Any]:
    schema: dict[str, Any] = {"Required": wanted.required}
    if wanted.default:
        schema["DefaultValue"] = wanted.default
    return {"Name": wanted.name, "Definition": {"StringSchema": schema}}
