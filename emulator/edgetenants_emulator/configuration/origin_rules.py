"""Origins and origin groups of a configuration.

Rules: API reference of Origin, CustomOriginConfig and OriginGroup; CloudFront developer guide, "Quotas" and
"Origin settings" (HTTP port, HTTPS port).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from edgetenants_emulator.configuration import referenced
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.configuration.submitted import Config, Submitted, items
from edgetenants_emulator.configuration.tenant_only_rules import PLACEHOLDER
from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["check", "is_bucket"]

_MOST_ORIGINS, _MOST_GROUPS, _MOST_HEADERS = 100, 10, 30
_HOST = re.compile(
    r"([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)
_BUCKET = re.compile(r".+\.s3(\.dualstack)?([.-][a-z]{2}-[a-z-]+-\d)?\.amazonaws\.com(\.cn)?")
_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*")
# The origin domains for each type of origin access control.
_OF_TYPE = {
    "s3": _BUCKET,
    "lambda": re.compile(r".+\.lambda-url\..+"),
    "mediapackagev2": re.compile(r".+\.mediapackagev2\..+"),
    "mediastore": re.compile(r".+\.mediastore\..+"),
}


def is_bucket(origin: Config) -> bool:
    """Whether an origin is an S3 bucket, and not a bucket's website endpoint."""
    return _BUCKET.fullmatch(_plain(origin["DomainName"])) is not None


def check(submitted: Submitted) -> None:
    """Check the origins of a completed config. Raises AwsError."""
    origins = submitted.origins
    if len(origins) > _MOST_ORIGINS:
        message = f"Your request exceeds the limit of {_MOST_ORIGINS} origins for a distribution."
        raise refusal(ConfigErrorCode.TOO_MANY_ORIGINS, message)
    names = [origin["Id"] for origin in origins]
    if len(set(names)) < len(names) or "" in names:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The ids of origins must be unique and not empty.")
    for origin in origins:
        _check_place(origin)
        _check_kind(submitted, origin)
        _check_ports(origin)
        _check_times(origin)
        _check_access(submitted, origin)
    _check_groups(submitted, set(names))


def _check_place(origin: Config) -> None:
    if not _HOST.fullmatch(_plain(origin["DomainName"])) or len(origin["DomainName"]) > 253:
        message = f"The parameter Origin DomainName is not valid: {origin['DomainName']!r}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    path = _plain(origin["OriginPath"])
    if not _PATH.fullmatch(path) or len(path) > 255:
        message = (
            "An origin path begins with a slash, ends without one, and is URL-encoded, up to 255 characters."
        )
        raise refusal(ConfigErrorCode.INVALID_RELATIVE_PATH, message)
    headers = items(origin["CustomHeaders"])
    if len(headers) > _MOST_HEADERS:
        message = f"Your request exceeds the limit of {_MOST_HEADERS} custom headers for an origin."
        raise refusal(ConfigErrorCode.TOO_MANY_CUSTOM_HEADERS, message)


def _check_kind(submitted: Submitted, origin: Config) -> None:
    kinds = [k for k in ("CustomOriginConfig", "S3OriginConfig", "VpcOriginConfig") if k in origin]
    if not kinds:
        message = "The specified origin server does not exist or is not valid."
        raise refusal(ConfigErrorCode.INVALID_ORIGIN, message)
    if len(kinds) > 1:
        message = "You must specify either a CustomOrigin or an S3Origin. You cannot specify both."
        raise submitted.illegal(message)
    if kinds == ["S3OriginConfig"] and not is_bucket(origin):
        message = "The parameter Origin DomainName does not refer to a valid S3 bucket."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if kinds == ["VpcOriginConfig"]:
        message = f"The VPC origin {origin['VpcOriginConfig']['VpcOriginId']} doesn't exist."
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, message)


def _check_ports(origin: Config) -> None:
    custom = origin.get("CustomOriginConfig", {})
    for name in ("HTTPPort", "HTTPSPort"):
        port = custom.get(name, 80)
        if port not in (80, 443) and not 1024 <= port <= 65_535:
            message = f"The parameter {name} is not valid: {port}. It must be 80, 443 or from 1024 to 65535."
            raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def _check_times(origin: Config) -> None:
    custom = origin.get("CustomOriginConfig") or origin.get("S3OriginConfig") or {}
    read = custom.get("OriginReadTimeout", 30)
    if not 1 <= read <= 120:
        message = "The origin read timeout is from 1 to 120 seconds."
        raise refusal(ConfigErrorCode.INVALID_ORIGIN_READ_TIMEOUT, message)
    if not 1 <= custom.get("OriginKeepaliveTimeout", 5) <= 120:
        message = "The origin keep-alive timeout is from 1 to 120 seconds."
        raise refusal(ConfigErrorCode.INVALID_ORIGIN_KEEPALIVE_TIMEOUT, message)
    if not (1 <= origin["ConnectionAttempts"] <= 3 and 1 <= origin["ConnectionTimeout"] <= 10):
        message = "An origin has 1 to 3 connection attempts, of 1 to 10 seconds."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if origin.get("ResponseCompletionTimeout", read) < read:
        message = "The response completion timeout cannot be less than the origin read timeout."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    shield = origin["OriginShield"]
    if shield["Enabled"] and not shield.get("OriginShieldRegion"):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "Origin Shield needs an OriginShieldRegion.")


def _check_access(submitted: Submitted, origin: Config) -> None:
    control = origin["OriginAccessControlId"]
    identity = (origin.get("S3OriginConfig") or {}).get("OriginAccessIdentity")
    if control and identity:
        message = "An origin cannot contain both an origin access control and an origin access identity."
        raise refusal(ConfigErrorCode.ILLEGAL_ORIGIN_ACCESS_CONFIGURATION, message)
    if identity:
        message = f"The origin access identity {identity} doesn't exist."
        raise refusal(ConfigErrorCode.INVALID_ORIGIN_ACCESS_IDENTITY, message)
    if control:
        _check_access_control(submitted, origin, control)


def _check_access_control(submitted: Submitted, origin: Config, control: str) -> None:
    kind = referenced.access_control_type(submitted.account, control)
    if kind is None:
        message = f"The origin access control {control} doesn't exist."
        raise refusal(ConfigErrorCode.INVALID_ORIGIN_ACCESS_CONTROL, message)
    domain = _OF_TYPE.get(kind)
    if domain and not domain.fullmatch(_plain(origin["DomainName"])):
        message = (
            f"The origin {origin['DomainName']} doesn't go with an origin access control of type {kind}."
        )
        raise refusal(ConfigErrorCode.INVALID_DOMAIN_NAME_FOR_ORIGIN_ACCESS_CONTROL, message)
    limit = submitted.world.settings.distributions_per_reference
    using = submitted.others(
        lambda config: any(o.get("OriginAccessControlId") == control for o in items(config["Origins"]))
    )
    if using >= limit:
        message = f"The origin access control {control} exceeds the limit of {limit} distributions."
        raise refusal(ConfigErrorCode.TOO_MANY_ON_ORIGIN_ACCESS_CONTROL, message)


def _check_groups(submitted: Submitted, origins: set[str]) -> None:
    groups = items(submitted.config["OriginGroups"])
    if len(groups) > _MOST_GROUPS:
        message = f"Your request exceeds the limit of {_MOST_GROUPS} origin groups for a distribution."
        raise refusal(ConfigErrorCode.TOO_MANY_ORIGIN_GROUPS, message)
    for group in groups:
        _check_known(origins, (member["OriginId"] for member in items(group["Members"])))
    targets = origins | {group["Id"] for group in groups}
    _check_known(targets, (behavior["TargetOriginId"] for behavior in submitted.behaviors))


def _check_known(known: set[str], wanted: Iterable[str]) -> None:
    for name in wanted:
        if name not in known:
            message = f"No origin exists with the specified Origin Id {name!r}."
            raise refusal(ConfigErrorCode.NO_SUCH_ORIGIN, message)


def _plain(text: str) -> str:
    """The text with a letter instead of each parameter, because the parameters' values are not known."""
    return PLACEHOLDER.sub("x", text)
