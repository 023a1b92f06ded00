"""Ready-made distributions with fixed ids, so that examples and tests can name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_emulator import certificates, connection_groups, distributions
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.world import DEFAULT_ACCOUNT, World

__all__ = ["seed"]

_CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"
_ORIGIN: dict[str, Any] = {
    "Id": "origin",
    "DomainName": "origin.example.com",
    "CustomOriginConfig": {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"},
}


def seed(world: World, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Make the multi-tenant distributions that are not there yet, each with an issued certificate, deployed.

    `wanted` is `{"account", "distributions": [{"id", "certificateDomains", "parameters"}]}`; the answer says
    of each whether it was made now. Raises AwsError InvalidArgument for what is not understood.
    """
    _check(wanted)
    account = str(wanted.get("account", DEFAULT_ACCOUNT))
    with world.lock:
        made = [_distribution(world, account, each) for each in wanted.get("distributions", ())]
        group = connection_groups.default(world, account)
        group.deployed_at = group.created
        return {
            "account": account,
            "distributions": made,
            "connectionGroup": {"id": group.id, "routingEndpoint": group.routing_endpoint},
        }


def _check(wanted: Any) -> None:
    given = wanted.get("distributions", ()) if isinstance(wanted, dict) else None
    fits = isinstance(given, (list, tuple)) and all(isinstance(each, dict) for each in given)
    if not fits or set(wanted) - {"account", "distributions"}:
        message = 'A seed is {"account", "distributions": [{"id", "certificateDomains", "parameters"}]}.'
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def _distribution(world: World, account: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if not wanted.get("id"):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "Each distribution of a seed needs an id.")
    found = world.distributions.get(account, wanted["id"])
    created = found is None
    if found is None:
        config = _config(account, wanted)
        found = distributions.make(world, account, config, {}, fixed_id=wanted["id"])
        found.deployed_at = found.created
    return {
        "id": found.id,
        "arn": found.arn,
        "certificateArn": found.certificate_arn,
        "certificateDomains": list(certificates.issued_names(account, found.certificate_arn) or ()),
        "created": created,
    }


def _config(account: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    names = list(wanted.get("certificateDomains") or ())
    definitions = [_definition(each) for each in wanted.get("parameters") or ()]
    config: dict[str, Any] = {
        "CallerReference": f"seed-{wanted['id']}",
        "Comment": "made by the emulator's seed",
        "Enabled": True,
        "ConnectionMode": "tenant-only",
        "Origins": {"Quantity": 1, "Items": [_ORIGIN]},
        "DefaultCacheBehavior": {
            "TargetOriginId": _ORIGIN["Id"],
            "ViewerProtocolPolicy": "redirect-to-https",
            "CachePolicyId": _CACHING_OPTIMIZED,
        },
        "TenantConfig": {"ParameterDefinitions": definitions},
    }
    if names:
        config["ViewerCertificate"] = {
            "ACMCertificateArn": certificates.issue(account, names),
            "SSLSupportMethod": "sni-only",
            "MinimumProtocolVersion": "TLSv1.2_2021",
        }
    return config


def _definition(wanted: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"Required": bool(wanted.get("required", False))}
    if wanted.get("default"):
        schema["DefaultValue"] = wanted["default"]
    return {"Name": wanted["name"], "Definition": {"StringSchema": schema}}
