"""The errors that only a distribution's configuration brings, with their HTTP status; for the rest, `errors`.

Codes and statuses are those of botocore's model of CloudFront 2020-05-31. The ones that nothing here can
bring (quotas of what is not kept, staging distributions) are left to injected faults.
"""

from __future__ import annotations

from enum import StrEnum

from edgetenants_emulator.errors import AwsError

__all__ = ["ConfigErrorCode", "refusal"]


class ConfigErrorCode(StrEnum):
    """What is wrong with a configuration, in AWS's word."""

    ILLEGAL_FIELD_LEVEL_ENCRYPTION = "IllegalFieldLevelEncryptionConfigAssociationWithCacheBehavior"
    """Field-level encryption needs HTTPS and all methods."""
    ILLEGAL_ORIGIN_ACCESS_CONFIGURATION = "IllegalOriginAccessConfiguration"
    """An origin has both an access control and an access identity."""
    INVALID_DEFAULT_ROOT_OBJECT = "InvalidDefaultRootObject"
    """It begins with a slash, is too long or has a character that none may have."""
    INVALID_DOMAIN_NAME_FOR_ORIGIN_ACCESS_CONTROL = "InvalidDomainNameForOriginAccessControl"
    """The origin's domain is not of the access control's kind."""
    INVALID_ERROR_CODE = "InvalidErrorCode"
    """There can be no error page for this status."""
    INVALID_FORWARD_COOKIES = "InvalidForwardCookies"
    """Names of cookies without `whitelist`, or the reverse."""
    INVALID_FUNCTION_ASSOCIATION = "InvalidFunctionAssociation"
    """A function is not there, or its event is not one of viewers' or is taken."""
    INVALID_GEO_RESTRICTION_PARAMETER = "InvalidGeoRestrictionParameter"
    """Locations with `none`, a list without any, or one twice."""
    INVALID_HEADERS_FOR_S3_ORIGIN = "InvalidHeadersForS3Origin"
    """All headers, or Host, cannot go to a bucket."""
    INVALID_LAMBDA_FUNCTION_ASSOCIATION = "InvalidLambdaFunctionAssociation"
    """The ARN is not of a numbered version in us-east-1, or the event is taken."""
    INVALID_LOCATION_CODE = "InvalidLocationCode"
    """A location is no country code of ISO 3166-1 alpha-2."""
    INVALID_MINIMUM_PROTOCOL_VERSION = "InvalidMinimumProtocolVersion"
    """There is no such security policy."""
    INVALID_ORIGIN = "InvalidOrigin"
    """An origin says neither how a bucket nor how a server is asked."""
    INVALID_ORIGIN_ACCESS_CONTROL = "InvalidOriginAccessControl"
    """There is no such origin access control."""
    INVALID_ORIGIN_ACCESS_IDENTITY = "InvalidOriginAccessIdentity"
    """There is no such origin access identity."""
    INVALID_ORIGIN_KEEPALIVE_TIMEOUT = "InvalidOriginKeepaliveTimeout"
    """It is not from 1 to 120 seconds."""
    INVALID_ORIGIN_READ_TIMEOUT = "InvalidOriginReadTimeout"
    """It is not from 1 to 120 seconds."""
    INVALID_PROTOCOL_SETTINGS = "InvalidProtocolSettings"
    """SSLv3 does not go with SNI."""
    INVALID_QUERY_STRING_PARAMETERS = "InvalidQueryStringParameters"
    """Cache keys of a query string that is not forwarded."""
    INVALID_RELATIVE_PATH = "InvalidRelativePath"
    """A path does not begin with a slash, is too long or not URL-encoded."""
    INVALID_RESPONSE_CODE = "InvalidResponseCode"
    """An error page cannot be answered with this status."""
    INVALID_TTL_ORDER = "InvalidTTLOrder"
    """Not the minimum first, then the default, then the maximum."""
    INVALID_WEB_ACL_ID = "InvalidWebACLId"
    """It is no web ACL for CloudFront; under tenants only one of WAFv2 is."""
    NO_SUCH_CACHE_POLICY = "NoSuchCachePolicy"
    """No managed cache policy has this id, and there are no others here."""
    NO_SUCH_CONTINUOUS_DEPLOYMENT_POLICY = "NoSuchContinuousDeploymentPolicy"
    """There are none here."""
    NO_SUCH_FIELD_LEVEL_ENCRYPTION_CONFIG = "NoSuchFieldLevelEncryptionConfig"
    """There are none here."""
    NO_SUCH_ORIGIN = "NoSuchOrigin"
    """A cache behavior or origin group names an origin that the configuration does not have."""
    NO_SUCH_ORIGIN_REQUEST_POLICY = "NoSuchOriginRequestPolicy"
    """No managed origin request policy has this id, and there are no others here."""
    NO_SUCH_REALTIME_LOG_CONFIG = "NoSuchRealtimeLogConfig"
    """There are none here."""
    NO_SUCH_RESPONSE_HEADERS_POLICY = "NoSuchResponseHeadersPolicy"
    """No managed response headers policy has this id, and there are no others here."""
    REALTIME_LOG_CONFIG_OWNER_MISMATCH = "RealtimeLogConfigOwnerMismatch"
    """A real-time log configuration of another account."""
    TOO_MANY_CACHE_BEHAVIORS = "TooManyCacheBehaviors"
    """More than 75."""
    TOO_MANY_CERTIFICATES = "TooManyCertificates"
    """More than two of an account's certificates on dedicated IP addresses."""
    TOO_MANY_COOKIE_NAMES = "TooManyCookieNamesInWhiteList"
    """More than ten."""
    TOO_MANY_CNAMES = "TooManyDistributionCNAMEs"
    """More than 100 aliases."""
    TOO_MANY_ON_KEY_GROUP = "TooManyDistributionsAssociatedToKeyGroup"
    """A key group serves its quota of distributions."""
    TOO_MANY_ON_ORIGIN_ACCESS_CONTROL = "TooManyDistributionsAssociatedToOriginAccessControl"
    """An origin access control serves its quota of distributions."""
    TOO_MANY_WITH_FUNCTIONS = "TooManyDistributionsWithFunctionAssociations"
    """A function serves its quota of distributions."""
    TOO_MANY_WITH_LAMBDA = "TooManyDistributionsWithLambdaAssociations"
    """The account's quota of distributions with Lambda@Edge is used up."""
    TOO_MANY_WITH_ONE_LAMBDA = "TooManyDistributionsWithSingleFunctionARN"
    """A Lambda function serves its quota of distributions."""
    TOO_MANY_FUNCTIONS = "TooManyFunctionAssociations"
    """A cache behavior has one for each event of viewers'."""
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
    """The account has no such key group."""
    TRUSTED_SIGNER_DOES_NOT_EXIST = "TrustedSignerDoesNotExist"
    """It is neither `self` nor an account's number."""


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
