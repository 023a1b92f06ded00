"""A tenant's customizations, which replace its distribution's: web ACL, certificate, countries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.configuration import countries
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.identifiers import is_web_acl

__all__ = ["settled"]


def settled(account: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The customizations as CloudFront keeps and returns them: locations sorted, empty parts absent.

    Raises AwsError InvalidArgument for a part that breaks a rule.
    """
    kept: dict[str, Any] = {}
    if "WebAcl" in given:
        kept["WebAcl"] = _web_acl(given["WebAcl"])
    if "Certificate" in given:
        kept["Certificate"] = _certificate(account, given["Certificate"])
    if "GeoRestrictions" in given:
        kept["GeoRestrictions"] = _geo_restrictions(given["GeoRestrictions"])
    return kept


def _web_acl(given: Mapping[str, str]) -> dict[str, str]:
    if given["Action"] == "disable" and given.get("Arn"):
        message = "To disable the web ACL, specify no ARN."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if given["Action"] == "override" and not is_web_acl(given.get("Arn", "")):
        message = "To override the web ACL, specify the ARN of a global WAFv2 web ACL in us-east-1."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    return dict(given)


def _certificate(account: str, given: Mapping[str, str]) -> dict[str, str]:
    if acm.issued_names(account, given["Arn"]) is None:
        message = f"The certificate {given['Arn']} doesn't exist, isn't issued, or isn't in us-east-1."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    return dict(given)


def _geo_restrictions(given: Mapping[str, Any]) -> dict[str, Any]:
    kind, locations = given["RestrictionType"], sorted(given.get("Locations") or [])
    if (kind == "none") is bool(locations):
        message = "Specify locations for the restriction types whitelist and blacklist, and only for those."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if len(set(locations)) < len(locations):
        raise AwsError(
            ErrorCode.INVALID_ARGUMENT, "The list of locations contains a location more than once."
        )
    wrong = countries.unknown(locations)
    if wrong:
        message = f"Locations are ISO 3166-1 alpha-2 country codes, and these are not: {', '.join(wrong)}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    return {"RestrictionType": kind, "Locations": locations} if locations else {"RestrictionType": kind}
