"""The configuration of a distribution: what CloudFront fills in, and what a tenant-only one cannot have.

The fields that cannot be used with `tenant-only` are those whose documentation says so in the API reference.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from edgetenants_emulator import certificates, parameters
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.settings import Settings

__all__ = ["aliases", "check", "completed", "summary"]

Config = Mapping[str, Any]

_EMPTY = {"Quantity": 0}
_DEFAULTS: dict[str, Any] = {
    "Aliases": _EMPTY,
    "CacheBehaviors": _EMPTY,
    "CustomErrorResponses": _EMPTY,
    "DefaultRootObject": "",
    "HttpVersion": "http2",
    "PriceClass": "PriceClass_All",
    "Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Quantity": 0}},
    "Staging": False,
    "ViewerCertificate": {"CloudFrontDefaultCertificate": True, "MinimumProtocolVersion": "TLSv1"},
    "WebACLId": "",
}
# What was read and is sent again unchanged must pass: only what differs from CloudFront's defaults counts.
_NOT_WITH_TENANTS: dict[str, Callable[[Config], Any]] = {
    "Aliases": lambda config: (config.get("Aliases") or {}).get("Items"),
    "AnycastIpListId": lambda config: config.get("AnycastIpListId"),
    "ContinuousDeploymentPolicyId": lambda config: config.get("ContinuousDeploymentPolicyId"),
    "PriceClass": lambda config: config["PriceClass"] != "PriceClass_All",
    "Staging": lambda config: config["Staging"],
    "ViewerCertificate.IAMCertificateId": lambda config: config["ViewerCertificate"].get("IAMCertificateId"),
}
_NOT_IN_BEHAVIOR_WITH_TENANTS: dict[str, Callable[[Config], Any]] = {
    "ForwardedValues": lambda behavior: behavior.get("ForwardedValues"),
    "MinTTL": lambda behavior: behavior.get("MinTTL"),
    "DefaultTTL": lambda behavior: behavior.get("DefaultTTL"),
    "MaxTTL": lambda behavior: behavior.get("MaxTTL"),
    "SmoothStreaming": lambda behavior: behavior.get("SmoothStreaming"),
    "TrustedSigners": lambda behavior: (behavior.get("TrustedSigners") or {}).get("Enabled"),
}
_SUMMARY = (
    "Aliases",
    "Origins",
    "OriginGroups",
    "DefaultCacheBehavior",
    "CacheBehaviors",
    "CustomErrorResponses",
    "Comment",
    "PriceClass",
    "Enabled",
    "ViewerCertificate",
    "Restrictions",
    "WebACLId",
    "HttpVersion",
    "IsIPV6Enabled",
    "Staging",
    "ConnectionMode",
    "AnycastIpListId",
)


def completed(given: Config) -> dict[str, Any]:
    """A config with the defaults that CloudFront returns; the given one is left as it is."""
    config: dict[str, Any] = {**copy.deepcopy(_DEFAULTS), **copy.deepcopy(dict(given))}
    config.setdefault("ConnectionMode", "direct")
    # IPv6 of tenants is their connection group's affair.
    config.setdefault("IsIPV6Enabled", config["ConnectionMode"] == "direct")
    return config


def aliases(config: Config) -> list[str]:
    """The domains of a standard distribution."""
    return list((config.get("Aliases") or {}).get("Items") or [])


def summary(config: Config) -> dict[str, Any]:
    """What a list shows of a config."""
    return {name: config.get(name) for name in _SUMMARY}


def check(account: str, config: Config, settings: Settings) -> None:
    """Let a completed config pass.

    Raises AwsError InvalidArgument, InvalidViewerCertificate or EntityLimitExceeded.
    """
    _check_certificate(account, config["ViewerCertificate"])
    if config["ConnectionMode"] == "direct":
        if config.get("TenantConfig"):
            raise AwsError(ErrorCode.INVALID_ARGUMENT, "TenantConfig is for the connection mode tenant-only.")
        return
    behaviors = [config["DefaultCacheBehavior"], *((config.get("CacheBehaviors") or {}).get("Items") or ())]
    used = [name for name, differs in _NOT_WITH_TENANTS.items() if differs(config)]
    used += [name for name, differs in _NOT_IN_BEHAVIOR_WITH_TENANTS.items() if any(map(differs, behaviors))]
    if used:
        message = f"These fields aren't supported with the connection mode tenant-only: {', '.join(used)}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    definitions = (config.get("TenantConfig") or {}).get("ParameterDefinitions") or []
    parameters.check_definitions(definitions, settings.parameters_per_distribution)


def _check_certificate(account: str, viewer_certificate: Config) -> None:
    arn = viewer_certificate.get("ACMCertificateArn")
    if arn and certificates.issued_names(account, arn) is None:
        message = "The specified SSL certificate doesn't exist, isn't in us-east-1 region, or isn't valid."
        raise AwsError(ErrorCode.INVALID_VIEWER_CERTIFICATE, message)
