"""The legacy settings for caching and forwarding, which standard distributions may still use.

Rules: API reference of ForwardedValues; CloudFront developer guide, "Quotas" (legacy cache settings).
"""

from __future__ import annotations

from edgetenants_emulator.configuration import origin_rules
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.configuration.submitted import Config, Submitted, items
from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["check"]

_MOST = 10


def check(submitted: Submitted, behavior: Config) -> None:
    """Check that a cache behavior has a cache policy or valid legacy settings. Raises AwsError."""
    forwarded = behavior.get("ForwardedValues")
    if bool(behavior.get("CachePolicyId")) is (forwarded is not None):
        message = "A cache behavior must include either a CachePolicyId or ForwardedValues."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if forwarded is None:
        return
    _check_cookies(forwarded["Cookies"])
    _check_query_strings(forwarded)
    _check_headers(submitted, behavior, items(forwarded["Headers"]))
    if not behavior["MinTTL"] <= behavior["DefaultTTL"] <= behavior["MaxTTL"]:
        message = "The TTLs must be in the order MinTTL, DefaultTTL, MaxTTL."
        raise refusal(ConfigErrorCode.INVALID_TTL_ORDER, message)


def _check_cookies(cookies: Config) -> None:
    names = items(cookies.get("WhitelistedNames"))
    if (cookies["Forward"] == "whitelist") is not bool(names):
        message = "Name the cookies to forward with whitelist, and only then."
        raise refusal(ConfigErrorCode.INVALID_FORWARD_COOKIES, message)
    if len(names) > _MOST:
        message = f"Your request exceeds the limit of {_MOST} cookies for a cache behavior."
        raise refusal(ConfigErrorCode.TOO_MANY_COOKIE_NAMES, message)


def _check_query_strings(forwarded: Config) -> None:
    keys = items(forwarded["QueryStringCacheKeys"])
    if keys and not forwarded["QueryString"]:
        message = "Query strings that are not forwarded cannot be cache keys."
        raise refusal(ConfigErrorCode.INVALID_QUERY_STRING_PARAMETERS, message)
    if len(keys) > _MOST:
        message = f"Your request exceeds the limit of {_MOST} query strings for a cache behavior."
        raise refusal(ConfigErrorCode.TOO_MANY_QUERY_STRINGS, message)


def _check_headers(submitted: Submitted, behavior: Config, headers: list[str]) -> None:
    if len(headers) > _MOST:
        message = f"Your request exceeds the limit of {_MOST} headers for a cache behavior."
        raise refusal(ConfigErrorCode.TOO_MANY_HEADERS, message)
    targets = [o for o in submitted.origins if o["Id"] == behavior["TargetOriginId"]]
    if any(map(origin_rules.is_bucket, targets)) and {"*", "host"} & {header.lower() for header in headers}:
        message = "All headers, or the Host header, cannot be forwarded to an Amazon S3 origin."
        raise refusal(ConfigErrorCode.INVALID_HEADERS_FOR_S3_ORIGIN, message)
