"""The configuration of a distribution as CloudFront returns it, with CloudFront's defaults.

Sources of the defaults: the API reference of DistributionConfig and its parts, and the output of the AWS
CLI's examples for create-distribution. Members that `tenant-only` does not support get no default there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

__all__ = ["aliases", "completed", "summary"]

Config = Mapping[str, Any]

_EMPTY = {"Quantity": 0}
_OFF = {"Enabled": False, "Quantity": 0}
_DEFAULTS: dict[str, Any] = {
    "CacheBehaviors": _EMPTY,
    "CustomErrorResponses": _EMPTY,
    "DefaultRootObject": "",
    "HttpVersion": "http2",
    "Logging": {"Enabled": False, "IncludeCookies": False, "Bucket": "", "Prefix": ""},
    "OriginGroups": _EMPTY,
    "Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Quantity": 0}},
    "WebACLId": "",
}
_STANDARD_ONLY: dict[str, Any] = {
    "Aliases": _EMPTY,
    "ContinuousDeploymentPolicyId": "",
    "IsIPV6Enabled": True,
    "PriceClass": "PriceClass_All",
    "Staging": False,
}
_ORIGIN: dict[str, Any] = {
    "OriginPath": "",
    "CustomHeaders": _EMPTY,
    "ConnectionAttempts": 3,
    "ConnectionTimeout": 10,
    "OriginShield": {"Enabled": False},
    "OriginAccessControlId": "",
}
_CUSTOM_ORIGIN = {"OriginReadTimeout": 30, "OriginKeepaliveTimeout": 5}
_READS = {"Quantity": 2, "Items": ["HEAD", "GET"]}
_BEHAVIOR: dict[str, Any] = {
    "TrustedKeyGroups": _OFF,
    "AllowedMethods": {**_READS, "CachedMethods": _READS},
    "Compress": False,
    "LambdaFunctionAssociations": _EMPTY,
    "FunctionAssociations": _EMPTY,
    "FieldLevelEncryptionId": "",
    "GrpcConfig": {"Enabled": False},
}
_STANDARD_BEHAVIOR: dict[str, Any] = {"TrustedSigners": _OFF, "SmoothStreaming": False}
_LEGACY_CACHE: dict[str, Any] = {"MinTTL": 0, "DefaultTTL": 86_400, "MaxTTL": 31_536_000}
_FORWARDED: dict[str, Any] = {"Headers": _EMPTY, "QueryStringCacheKeys": _EMPTY}
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
# The AWS CLI's example for list-distributions-by-connection-mode shows these for a tenant-only distribution.
_LISTED = {"Aliases": _EMPTY, "PriceClass": "PriceClass_All", "IsIPV6Enabled": False, "Staging": False}


def completed(given: Config) -> dict[str, Any]:
    """A copy of the config with the defaults that CloudFront returns."""
    config = copy.deepcopy(dict(given))
    config.setdefault("ConnectionMode", "direct")
    standard = config["ConnectionMode"] == "direct"
    _fill(config, _DEFAULTS)
    if standard:
        _fill(config, _STANDARD_ONLY)
    for origin in config["Origins"].get("Items") or ():
        _fill_origin(origin)
    for behavior in [config["DefaultCacheBehavior"], *(config["CacheBehaviors"].get("Items") or ())]:
        _fill_behavior(behavior, standard)
    config["ViewerCertificate"] = _viewer_certificate(config.get("ViewerCertificate") or {}, standard)
    return config


def aliases(config: Config) -> list[str]:
    """The domains of a standard distribution."""
    return list((config.get("Aliases") or {}).get("Items") or [])


def summary(config: Config) -> dict[str, Any]:
    """The members of a config that lists show."""
    return {name: config.get(name, _LISTED.get(name)) for name in _SUMMARY}


def _fill(structure: dict[str, Any], defaults: Config) -> None:
    for name, value in defaults.items():
        if name not in structure:
            structure[name] = copy.deepcopy(value)


def _fill_origin(origin: dict[str, Any]) -> None:
    _fill(origin, _ORIGIN)
    for kind in ("CustomOriginConfig", "VpcOriginConfig"):
        if kind in origin:
            _fill(origin[kind], _CUSTOM_ORIGIN)


def _fill_behavior(behavior: dict[str, Any], standard: bool) -> None:
    _fill(behavior, _BEHAVIOR)
    behavior["AllowedMethods"].setdefault("CachedMethods", copy.deepcopy(_READS))
    if standard:
        _fill(behavior, _STANDARD_BEHAVIOR)
    if "ForwardedValues" in behavior:
        _fill(behavior["ForwardedValues"], _FORWARDED)
        if standard:
            _fill(behavior, _LEGACY_CACHE)


def _viewer_certificate(given: Config, standard: bool) -> dict[str, Any]:
    """The viewer certificate, with the redundant legacy members Certificate and CertificateSource."""
    certificate = {k: v for k, v in given.items() if k not in ("Certificate", "CertificateSource")}
    own = {"acm": "ACMCertificateArn", "iam": "IAMCertificateId"}
    source = str(given.get("CertificateSource", ""))
    if source in own and given.get("Certificate"):
        certificate.setdefault(own[source], given["Certificate"])
    for name, member in own.items():
        if certificate.get(member):
            _fill(
                certificate, {"CloudFrontDefaultCertificate": False, "MinimumProtocolVersion": "TLSv1.2_2021"}
            )
            return {**certificate, "Certificate": certificate[member], "CertificateSource": name}
    # With its own certificate, CloudFront always sets this version (API reference).
    shown = {"CloudFrontDefaultCertificate": True, "MinimumProtocolVersion": "TLSv1"}
    support = {} if standard else {"SSLSupportMethod": "sni-only"}
    return {**support, **certificate, **shown, "CertificateSource": "cloudfront"}
