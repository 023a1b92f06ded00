"""Errors that only a distribution's configuration can cause, with their HTTP status. `errors` has the others.

Codes and statuses are from botocore's model of CloudFront 2020-05-31. Errors that the emulator cannot cause
(quotas of resources that it does not store, staging distributions) are only available as injected faults.
"""

from __future__ import annotations

from enum import StrEnum

from edgetenants_emulator.errors import AwsError

__all__ = ["ConfigErrorCode", "refusal"]


class ConfigErrorCode(StrEnum):
    """AWS's codes for invalid configurations."""

    ILLEGAL_FIELD_LEVEL_ENCRYPTION = "IllegalFieldLevelEncryptionConfigAssociationWithCacheBehavior"
    """Field-level encryption requires HTTPS and all methods."""
    ILLEGAL_ORIGIN_ACCESS_CONFIGURATION = "IllegalOriginAccessConfiguration"
    """An origin has both an access control and an access identity."""
    INVALID_DEFAULT_ROOT_OBJECT = "InvalidDefaultRootObject"
    """It begins with a slash, is too long or contains an invalid character."""
    INVALID_DOMAIN_NAME_FOR_ORIGIN_ACCESS_CONTROL = "InvalidDomainNameForOriginAccessControl"
    """The origin's domain does not match the type of the access control."""
    INVALID_ERROR_CODE = "InvalidErrorCode"
    """This status cannot have an error page."""
    INVALID_FORWARD_COOKIES = "InvalidForwardCookies"
    """Cookie names without `whitelist`, or `whitelist` without names."""
    INVALID_FUNCTION_ASSOCIATION = "InvalidFunctionAssociation"
    """A function does not exist, or its event is not a viewer event or already has a function."""
    INVALID_GEO_RESTRICTION_PARAMETER = "InvalidGeoRestrictionParameter"
    """Locations with `none`, an empty list, or a duplicate location."""
    INVALID_HEADERS_FOR_S3_ORIGIN = "InvalidHeadersForS3Origin"
    """All headers, or Host, cannot be forwarded to a bucket."""
    INVALID_LAMBDA_FUNCTION_ASSOCIATION = "InvalidLambdaFunctionAssociation"
    """The ARN is not a numbered version in us-east-1, or the event already has a function."""
    INVALID_LOCATION_CODE = "InvalidLocationCode"
    """A location is not a country code of ISO 3166-1 alpha-2."""
    INVALID_MINIMUM_PROTOCOL_VERSION = "InvalidMinimumProtocolVersion"
    """The security policy does not exist."""
    INVALID_ORIGIN = "InvalidOrigin"
    """An origin has neither an S3 nor a custom origin configuration."""
    INVALID_ORIGIN_ACCESS_CONTROL = "InvalidOriginAccessControl"
    """The origin access control does not exist."""
    INVALID_ORIGIN_ACCESS_IDENTITY = "InvalidOriginAccessIdentity"
    """The origin access identity does not exist."""
    INVALID_ORIGIN_KEEPALIVE_TIMEOUT = "InvalidOriginKeepaliveTimeout"
    """It is not from 1 to 120 seconds."""
    INVALID_ORIGIN_READ_TIMEOUT = "InvalidOriginReadTimeout"
    """It is not from 1 to 120 seconds."""
    INVALID_PROTOCOL_SETTINGS = "InvalidProtocolSettings"
    """SSLv3 cannot be combined with SNI."""
    INVALID_QUERY_STRING_PARAMETERS = "InvalidQueryStringParameters"
    """Cache keys of a query string that is not forwarded."""
    INVALID_RELATIVE_PATH = "InvalidRelativePath"
    """A path does not begin with a slash, is too long or not URL-encoded."""
    INVALID_RESPONSE_CODE = "InvalidResponseCode"
    """An error page cannot have this response status."""
    INVALID_TTL_ORDER = "InvalidTTLOrder"
    """The TTLs are not in the order minimum, default, maximum."""
    INVALID_WEB_ACL_ID = "InvalidWebACLId"
    """It is not a web ACL for CloudFront. Multi-tenant distributions require WAFv2."""
    NO_SUCH_CACHE_POLICY = "NoSuchCachePolicy"
    """No managed cache policy has this id; the emulator has no other policies."""
    NO_SUCH_CONTINUOUS_DEPLOYMENT_POLICY = "NoSuchContinuousDeploymentPolicy"
    """The emulator has none."""
    NO_SUCH_FIELD_LEVEL_ENCRYPTION_CONFIG = "NoSuchFieldLevelEncryptionConfig"
    """The emulator has none."""
    NO_SUCH_ORIGIN = "NoSuchOrigin"
    """A cache behavior or origin group names an origin that the configuration does not have."""
    NO_SUCH_ORIGIN_REQUEST_POLICY = "NoSuchOriginRequestPolicy"
    """No managed origin request policy has this id; the emulator has no other policies."""
    NO_SUCH_REALTIME_LOG_CONFIG = "NoSuchRealtimeLogConfig"
    """The emulator has none."""
    NO_SUCH_RESPONSE_HEADERS_POLICY = "NoSuchResponseHeadersPolicy"
    """No managed response headers policy has this id; the emulator has no other policies."""
    REALTIME_LOG_CONFIG_OWNER_MISMATCH = "RealtimeLogConfigOwnerMismatch"
    """The real-time log configuration belongs to another account."""
    TOO_MANY_CACHE_BEHAVIORS = "TooManyCacheBehaviors"
    """More than 75."""
    TOO_MANY_CERTIFICATES = "TooManyCertificates"
    """More than two of an account's certificates on dedicated IP addresses."""
    TOO_MANY_COOKIE_NAMES = "TooManyCookieNamesInWhiteList"
    """More than ten."""
    TOO_MANY_CNAMES = "TooManyDistributionCNAMEs"
    """More than 100 aliases."""
    TOO_MANY_ON_KEY_GROUP = "TooManyDistributionsAssociatedToKeyGroup"
    """The key group's quota of distributions is used up."""
    TOO_MANY_ON_ORIGIN_ACCESS_CONTROL = "TooManyDistributionsAssociatedToOriginAccessControl"
    """The origin access control's quota of distributions is used up."""
    TOO_MANY_WITH_FUNCTIONS = "TooManyDistributionsWithFunctionAssociations"
    """The function's quota of distributions is used up."""
    TOO_MANY_WITH_LAMBDA = "TooManyDistributionsWithLambdaAssociations"
    """The account's quota of distributions with Lambda@Edge is used up."""
    TOO_MANY_WITH_ONE_LAMBDA = "TooManyDistributionsWithSingleFunctionARN"
    """The Lambda function's quota of distributions is used up."""
    TOO_MANY_FUNCTIONS = "TooManyFunctionAssociations"
    """A cache behavior has more than one function per viewer event."""
    TOO_MANY_HEADERS = "TooManyHeadersInForwardedValues"
    """More than ten."""
    TOO_MANY_KEY_GROUPS = "TooManyKeyGroupsAssociatedToDistribution"
    """More than four on a cache behavior."""
    TOO_MANY_LAMBDA_FUNCTIONS = "TooManyLambdaFunctionAssociations"
    """More than 100."""
    TOO_MANY_CUSTOM_HEADERS = "TooManyOriginCustomHeaders"
    """More than 30."""
    TOO_MANY_ORIGIN_GROUPS = "TooManyOriginGroupsPerDistribution"
    """More than ten."""
    TOO_MANY_ORIGINS = "TooManyOrigins"
    """More than 100."""
    TOO_MANY_QUERY_STRINGS = "TooManyQueryStringParameters"
    """More than ten."""
    TOO_MANY_TRUSTED_SIGNERS = "TooManyTrustedSigners"
    """More than five on a cache behavior."""
    TRUSTED_KEY_GROUP_DOES_NOT_EXIST = "TrustedKeyGroupDoesNotExist"
    """The key group does not exist in the account."""
    TRUSTED_SIGNER_DOES_NOT_EXIST = "TrustedSignerDoesNotExist"
    """It is neither `self` nor an account id."""


_NOT_400 = {
    ConfigErrorCode.NO_SUCH_CACHE_POLICY: 404,
    ConfigErrorCode.NO_SUCH_CONTINUOUS_DEPLOYMENT_POLICY: 404,
    ConfigErrorCode.NO_SUCH_FIELD_LEVEL_ENCRYPTION_CONFIG: 404,
    ConfigErrorCode.NO_SUCH_ORIGIN: 404,
    ConfigErrorCode.NO_SUCH_ORIGIN_REQUEST_POLICY: 404,
    ConfigErrorCode.NO_SUCH_REALTIME_LOG_CONFIG: 404,
    ConfigErrorCode.NO_SUCH_RESPONSE_HEADERS_POLICY: 404,
    ConfigErrorCode.REALTIME_LOG_CONFIG_OWNER_MISMATCH: 401,
}


def refusal(code: ConfigErrorCode, message: str) -> AwsError:
    """The error to raise, with its status."""
    return AwsError(code, message, _NOT_400.get(code, 400))
