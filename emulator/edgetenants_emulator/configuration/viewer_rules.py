"""Rules for the viewer side: aliases, certificate, web ACL, countries, error pages, root object.

Rules: API reference of DistributionConfig, ViewerCertificate, CustomErrorResponse and GeoRestriction;
CloudFront developer guide, "Quotas" and "Custom error pages".
"""

from __future__ import annotations

import re
from functools import lru_cache

from botocore.model import StringShape

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.configuration import countries
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.configuration.submitted import Config, Submitted, items
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol import operations
from edgetenants_emulator.state import identifiers

__all__ = ["check"]

_MOST_ALIASES, _MOST_DEDICATED = 100, 2
_ERRORS = frozenset({400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504})
_RESPONSES = frozenset(map(str, _ERRORS | {200}))
_CLASSIC_ACL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROOT = re.compile(r"(?!/)[A-Za-z0-9_\-.*$/~\"'&]{0,255}")
_PAGE = re.compile(r"/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")


def check(submitted: Submitted) -> None:
    """Check a completed config. Raises AwsError."""
    config = submitted.config
    if len(items(config.get("Aliases"))) > _MOST_ALIASES:
        message = f"Your request exceeds the limit of {_MOST_ALIASES} CNAMEs for a distribution."
        raise refusal(ConfigErrorCode.TOO_MANY_CNAMES, message)
    if not _ROOT.fullmatch(config["DefaultRootObject"]):
        message = "The default root object is too long, begins with a slash or contains an invalid character."
        raise refusal(ConfigErrorCode.INVALID_DEFAULT_ROOT_OBJECT, message)
    _check_certificate(submitted, config["ViewerCertificate"])
    _check_web_acl(submitted, config["WebACLId"])
    _check_countries(config["Restrictions"]["GeoRestriction"])
    _check_references(submitted)
    for response in items(config["CustomErrorResponses"]):
        _check_error_page(submitted, response)


def _check_certificate(submitted: Submitted, certificate: Config) -> None:
    version, method = certificate["MinimumProtocolVersion"], certificate.get("SSLSupportMethod")
    if version not in _versions():
        message = f"The minimum protocol version {version!r} is not valid."
        raise refusal(ConfigErrorCode.INVALID_MINIMUM_PROTOCOL_VERSION, message)
    if certificate["CertificateSource"] == "cloudfront":
        return
    arn = certificate.get("ACMCertificateArn")
    both = certificate.get("IAMCertificateId") and arn
    if both or (arn and acm.issued_names(submitted.account, arn) is None):
        message = "The specified SSL certificate doesn't exist, isn't in us-east-1 region, or isn't valid."
        raise AwsError(ErrorCode.INVALID_VIEWER_CERTIFICATE, message)
    if certificate["CloudFrontDefaultCertificate"] or not method:
        message = "A certificate of your own needs an SSLSupportMethod, and no CloudFrontDefaultCertificate."
        raise AwsError(ErrorCode.INVALID_VIEWER_CERTIFICATE, message)
    if version == "SSLv3" and method == "sni-only":
        message = "You cannot specify SSLv3 as the minimum protocol version with SNI."
        raise refusal(ConfigErrorCode.INVALID_PROTOCOL_SETTINGS, message)
    if method == "vip" and submitted.others(_dedicated) >= _MOST_DEDICATED:
        message = (
            f"Your request exceeds the limit of {_MOST_DEDICATED} certificates on dedicated IP addresses."
        )
        raise refusal(ConfigErrorCode.TOO_MANY_CERTIFICATES, message)


def _dedicated(config: Config) -> bool:
    return bool(config["ViewerCertificate"].get("SSLSupportMethod") == "vip")


@lru_cache(maxsize=1)
def _versions() -> frozenset[str]:
    model = operations.service_model(operations.CLOUDFRONT)
    shape = model.shape_for("MinimumProtocolVersion") if model else None
    return frozenset(shape.enum) if isinstance(shape, StringShape) else frozenset()


def _check_web_acl(submitted: Submitted, web_acl: str) -> None:
    classic = not submitted.tenant_only and _CLASSIC_ACL.fullmatch(web_acl)
    if web_acl and not classic and not identifiers.is_web_acl(web_acl):
        message = (
            "A web ACL ID specified is not valid. Specify the ARN of a global WAFv2 web ACL in us-east-1."
        )
        raise refusal(ConfigErrorCode.INVALID_WEB_ACL_ID, message)


def _check_countries(restriction: Config) -> None:
    locations = items(restriction)
    if (restriction["RestrictionType"] == "none") is bool(locations) or len(set(locations)) < len(locations):
        message = "Specify locations for whitelist and blacklist, each once, and none for none."
        raise refusal(ConfigErrorCode.INVALID_GEO_RESTRICTION_PARAMETER, message)
    wrong = countries.unknown(locations)
    if wrong:
        message = f"Locations are country codes of ISO 3166-1 alpha-2, and these are not: {', '.join(wrong)}."
        raise refusal(ConfigErrorCode.INVALID_LOCATION_CODE, message)


def _check_references(submitted: Submitted) -> None:
    config, world = submitted.config, submitted.world
    policy, list_id = config.get("ContinuousDeploymentPolicyId"), config.get("AnycastIpListId")
    if policy:
        message = f"The continuous deployment policy {policy} doesn't exist."
        raise refusal(ConfigErrorCode.NO_SUCH_CONTINUOUS_DEPLOYMENT_POLICY, message)
    if list_id and world.anycast_lists.get(submitted.account, list_id) is None:
        message = f"The Anycast static IP list {list_id} doesn't exist."
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, message)
    trust_store = ((config.get("ViewerMtlsConfig") or {}).get("TrustStoreConfig") or {}).get("TrustStoreId")
    for missing in (trust_store, (config.get("ConnectionFunctionAssociation") or {}).get("Id")):
        if missing:
            raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"{missing} doesn't exist.")


def _check_error_page(submitted: Submitted, response: Config) -> None:
    if response["ErrorCode"] not in _ERRORS:
        message = f"There can be no custom error page for the status {response['ErrorCode']}."
        raise refusal(ConfigErrorCode.INVALID_ERROR_CODE, message)
    code, page = response.get("ResponseCode"), response.get("ResponsePagePath")
    if code and code not in _RESPONSES:
        message = f"A custom error page cannot be answered with the status {code}."
        raise refusal(ConfigErrorCode.INVALID_RESPONSE_CODE, message)
    if bool(code) is not bool(page):
        message = "The specified list of custom error responses does not exist or is not valid."
        raise submitted.illegal(message)
    if page and (not _PAGE.fullmatch(page) or len(page) > 4096):
        message = "The path of a custom error page begins with a slash and is URL-encoded."
        raise refusal(ConfigErrorCode.INVALID_RELATIVE_PATH, message)
