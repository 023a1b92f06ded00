"""Rules for multi-tenant distributions: unsupported members, and places for parameters.

Rules: CloudFront developer guide, "How multi-tenant distributions work" (unsupported features) and "Quotas";
API reference, DistributionConfig and CacheBehavior ("This field only supports standard distributions").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from edgetenants_emulator.configuration import parameters
from edgetenants_emulator.configuration.submitted import Config, Submitted, items, texts
from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["PLACEHOLDER", "check"]

PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
"""A placeholder for a parameter in an origin's domain name or path."""

# A member that is off or empty is allowed.
_NOT_IN_CONFIG: dict[str, Callable[[Config], Any]] = {
    "Aliases": lambda config: items(config.get("Aliases")),
    "AnycastIpListId": lambda config: config.get("AnycastIpListId"),
    "ContinuousDeploymentPolicyId": lambda config: config.get("ContinuousDeploymentPolicyId"),
    "IsIPV6Enabled": lambda config: config.get("IsIPV6Enabled"),
    "Logging (standard logging, legacy)": lambda config: config["Logging"].get("Enabled"),
    "PriceClass": lambda config: config.get("PriceClass", "None") != "None",
    "Staging": lambda config: config.get("Staging"),
    "ViewerCertificate.IAMCertificateId": lambda config: config["ViewerCertificate"].get("IAMCertificateId"),
    "ViewerCertificate.SSLSupportMethod other than sni-only": lambda config: (
        config["ViewerCertificate"].get("SSLSupportMethod", "sni-only") != "sni-only"
    ),
}
_NOT_IN_ORIGIN: dict[str, Callable[[Config], Any]] = {
    "S3OriginConfig.OriginAccessIdentity": lambda origin: (origin.get("S3OriginConfig") or {}).get(
        "OriginAccessIdentity"
    ),
}
_NOT_IN_BEHAVIOR: dict[str, Callable[[Config], Any]] = {
    "ForwardedValues": lambda behavior: "ForwardedValues" in behavior,
    "MinTTL": lambda behavior: "MinTTL" in behavior,
    "DefaultTTL": lambda behavior: "DefaultTTL" in behavior,
    "MaxTTL": lambda behavior: "MaxTTL" in behavior,
    "SmoothStreaming": lambda behavior: behavior.get("SmoothStreaming"),
    "TrustedSigners": lambda behavior: (
        (behavior.get("TrustedSigners") or {}).get("Enabled") or items(behavior.get("TrustedSigners"))
    ),
}
# Free text.
_FREE_TEXT = frozenset({"CallerReference", "Comment", "TenantConfig"})


def check(submitted: Submitted) -> None:
    """Check a completed config of a multi-tenant distribution.

    Raises AwsError InvalidArgument, or EntityLimitExceeded for too many parameters.
    """
    config = submitted.config
    used = [name for name, has in _NOT_IN_CONFIG.items() if has(config)]
    used += [name for name, has in _NOT_IN_ORIGIN.items() if any(map(has, submitted.origins))]
    used += [name for name, has in _NOT_IN_BEHAVIOR.items() if any(map(has, submitted.behaviors))]
    if used:
        message = f"These fields aren't supported with the connection mode tenant-only: {', '.join(used)}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    definitions = (config.get("TenantConfig") or {}).get("ParameterDefinitions") or []
    settings = submitted.world.settings
    parameters.check_definitions(definitions, settings.parameters_per_distribution)
    _check_places(submitted, {definition["Name"] for definition in definitions})


def _check_places(submitted: Submitted, defined: set[str]) -> None:
    limit = submitted.world.settings.parameters_per_field
    for origin in submitted.origins:
        for field in ("DomainName", "OriginPath"):
            _check_field(f"{field} of origin {origin['Id']}", origin[field], defined, limit)
    elsewhere = {name: value for name, value in submitted.config.items() if name not in _FREE_TEXT}
    origins = [_without(origin, "DomainName", "OriginPath") for origin in submitted.origins]
    for text in texts({**elsewhere, "Origins": origins}):
        if PLACEHOLDER.search(text):
            message = f"Parameters are allowed in an origin's domain name and path only, not in {text!r}."
            raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def _check_field(place: str, text: str, defined: set[str], limit: int) -> None:
    names = PLACEHOLDER.findall(text)
    unknown = sorted(set(names) - defined)
    if unknown or "{" in PLACEHOLDER.sub("", text) or "}" in PLACEHOLDER.sub("", text):
        what = f"parameters that are not defined: {', '.join(unknown)}" if unknown else "a broken parameter"
        raise AwsError(ErrorCode.INVALID_ARGUMENT, f"The {place} contains {what}.")
    if len(names) > limit:
        message = f"The {place} exceeds the limit of {limit} parameters in a field."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)


def _without(origin: Config, *names: str) -> dict[str, Any]:
    return {name: value for name, value in origin.items() if name not in names}
