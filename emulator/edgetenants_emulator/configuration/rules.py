"""The rules for a distribution's configuration. Each rule raises the error that the model declares.

    quantities ─▶ complete? (updates) ─▶ connection mode ─▶ origins ─▶ cache behaviors ─▶ viewers

Rules: API reference of DistributionConfig and its parts; CloudFront developer guide, "Quotas" and "How
multi-tenant distributions work" (unsupported features).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgetenants_emulator.configuration import behavior_rules, origin_rules, tenant_only_rules, viewer_rules
from edgetenants_emulator.configuration.submitted import Config, Submitted, items
from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["check", "check_complete", "check_quantities"]

# Members whose omission AWS refuses according to users ("… is required for updates"), and similar ones. Newer
# members (OriginShield, GrpcConfig, …) are optional, because older clients do not support them.
_ALWAYS = (
    "CacheBehaviors",
    "CustomErrorResponses",
    "DefaultRootObject",
    "HttpVersion",
    "Logging",
    "Restrictions",
    "ViewerCertificate",
    "WebACLId",
)
_STANDARD = ("Aliases", "PriceClass")
_OF_ORIGIN = ("OriginPath", "CustomHeaders")
_OF_CUSTOM_ORIGIN = ("OriginReadTimeout", "OriginKeepaliveTimeout")
_OF_BEHAVIOR = ("AllowedMethods", "Compress", "FieldLevelEncryptionId", "LambdaFunctionAssociations")


def check(submitted: Submitted) -> None:
    """Check a completed config. Raises AwsError."""
    if submitted.tenant_only:
        tenant_only_rules.check(submitted)
    elif submitted.config.get("TenantConfig"):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "TenantConfig is for the connection mode tenant-only.")
    _check_comment(submitted.config)
    origin_rules.check(submitted)
    behavior_rules.check(submitted)
    viewer_rules.check(submitted)


def check_quantities(config: Any, path: str = "") -> None:
    """Check the quantities of a config as sent. Raises AwsError InconsistentQuantities."""
    if isinstance(config, Mapping):
        if "Quantity" in config and config["Quantity"] != len(config.get("Items") or ()):
            message = (
                f"The value of Quantity and the size of Items don't match{f' in {path}' if path else ''}."
            )
            raise AwsError(ErrorCode.INCONSISTENT_QUANTITIES, message)
        for name, value in config.items():
            check_quantities(value, name if name != "Items" else path)
    elif isinstance(config, list):
        for value in config:
            check_quantities(value, path)


def check_complete(config: Config) -> None:
    """Check that an update has all members, because it replaces the config. Raises AwsError IllegalUpdate."""
    for name in _missing(config):
        raise AwsError(ErrorCode.ILLEGAL_UPDATE, f"{name} is required for updates.")


def _missing(config: Config) -> Iterator[str]:
    wanted = _ALWAYS if config.get("ConnectionMode") == "tenant-only" else (*_ALWAYS, *_STANDARD)
    yield from (name for name in wanted if name not in config)
    for origin in items(config["Origins"]):
        yield from (name for name in _OF_ORIGIN if name not in origin)
        custom = origin.get("CustomOriginConfig", dict.fromkeys(_OF_CUSTOM_ORIGIN))
        yield from (name for name in _OF_CUSTOM_ORIGIN if name not in custom)
    for behavior in [config["DefaultCacheBehavior"], *items(config.get("CacheBehaviors"))]:
        yield from (name for name in _OF_BEHAVIOR if name not in behavior)


def _check_comment(config: Config) -> None:
    if len(config["Comment"]) > 128:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The comment cannot be longer than 128 characters.")
    if not config["CallerReference"]:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The caller reference cannot be empty.")
