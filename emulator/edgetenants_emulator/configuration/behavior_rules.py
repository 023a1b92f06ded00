"""Cache behaviors of a configuration.

Rules: API reference of DefaultCacheBehavior and CacheBehavior; CloudFront developer guide, "Quotas" and
"Restrictions on edge functions".
"""

from __future__ import annotations

import re
from functools import partial

from edgetenants_emulator.configuration import legacy_cache_rules, referenced
from edgetenants_emulator.configuration.config_errors import ConfigErrorCode, refusal
from edgetenants_emulator.configuration.submitted import Config, Submitted, items
from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["check"]

_MOST_BEHAVIORS, _MOST_KEY_GROUPS, _MOST_SIGNERS, _MOST_LAMBDAS = 75, 4, 5, 100
_PATTERN = re.compile(r"[A-Za-z0-9_\-.*$/~\"'@:+&?]+")
_LAMBDA = re.compile(r"arn:aws:lambda:us-east-1:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}:[0-9]+")
_ALL_METHODS = {"GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"}
_METHODS = ({"GET", "HEAD"}, {"GET", "HEAD", "OPTIONS"}, _ALL_METHODS)
_POLICIES = {
    "CachePolicyId": (referenced.CACHE_POLICIES, ConfigErrorCode.NO_SUCH_CACHE_POLICY),
    "OriginRequestPolicyId": (
        referenced.ORIGIN_REQUEST_POLICIES,
        ConfigErrorCode.NO_SUCH_ORIGIN_REQUEST_POLICY,
    ),
    "ResponseHeadersPolicyId": (
        referenced.RESPONSE_HEADERS_POLICIES,
        ConfigErrorCode.NO_SUCH_RESPONSE_HEADERS_POLICY,
    ),
}


def check(submitted: Submitted) -> None:
    """Check the cache behaviors of a completed config. Raises AwsError."""
    _check_patterns(submitted)
    _check_lambda_quotas(submitted)
    for behavior in submitted.behaviors:
        _check_methods(behavior)
        _check_policies(behavior)
        legacy_cache_rules.check(submitted, behavior)
        _check_signers(behavior)
        _check_key_groups(submitted, behavior)
        _check_functions(submitted, behavior)
        _check_lambdas(behavior)
        _check_encryption(behavior)
        _check_log(submitted, behavior)


def _check_patterns(submitted: Submitted) -> None:
    patterns = [behavior["PathPattern"] for behavior in items(submitted.config["CacheBehaviors"])]
    if len(patterns) > _MOST_BEHAVIORS:
        message = f"Your request exceeds the limit of {_MOST_BEHAVIORS} cache behaviors for a distribution."
        raise refusal(ConfigErrorCode.TOO_MANY_CACHE_BEHAVIORS, message)
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern) or len(pattern) > 255:
            message = f"The path pattern {pattern!r} is too long or contains a character that is not valid."
            raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if len(set(patterns)) < len(patterns):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "Two cache behaviors have the same path pattern.")


def _check_methods(behavior: Config) -> None:
    allowed = set(items(behavior["AllowedMethods"]))
    cached = set(items(behavior["AllowedMethods"]["CachedMethods"]))
    if allowed not in _METHODS or cached not in _METHODS[:2] or not cached <= allowed:
        message = (
            "Allowed methods are GET and HEAD, with OPTIONS, or all seven; the first three can be cached."
        )
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def _check_policies(behavior: Config) -> None:
    for member, (known, code) in _POLICIES.items():
        policy = behavior.get(member)
        if policy and policy not in known:
            raise refusal(code, f"The policy {policy} does not exist: {member}.")
    if not behavior.get("CachePolicyId") and behavior.get("OriginRequestPolicyId"):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "An origin request policy needs a cache policy.")


def _check_signers(behavior: Config) -> None:
    signers = items(behavior.get("TrustedSigners"))
    if len(signers) > _MOST_SIGNERS:
        message = f"Your request exceeds the limit of {_MOST_SIGNERS} trusted signers for a cache behavior."
        raise refusal(ConfigErrorCode.TOO_MANY_TRUSTED_SIGNERS, message)
    for signer in signers:
        if signer != "self" and not re.fullmatch(r"[0-9]{12}", signer):
            message = f"The trusted signer {signer!r} doesn't exist."
            raise refusal(ConfigErrorCode.TRUSTED_SIGNER_DOES_NOT_EXIST, message)


def _check_key_groups(submitted: Submitted, behavior: Config) -> None:
    groups = items(behavior["TrustedKeyGroups"])
    if len(groups) > _MOST_KEY_GROUPS:
        message = f"Your request exceeds the limit of {_MOST_KEY_GROUPS} key groups for a cache behavior."
        raise refusal(ConfigErrorCode.TOO_MANY_KEY_GROUPS, message)
    limit = submitted.world.settings.distributions_per_reference
    for group in groups:
        if not referenced.has_key_group(submitted.account, group):
            message = f"The key group {group} does not exist."
            raise refusal(ConfigErrorCode.TRUSTED_KEY_GROUP_DOES_NOT_EXIST, message)
        if submitted.others(partial(_has_key_group, group)) >= limit:
            message = f"The key group {group} exceeds the limit of {limit} distributions."
            raise refusal(ConfigErrorCode.TOO_MANY_ON_KEY_GROUP, message)


def _check_functions(submitted: Submitted, behavior: Config) -> None:
    functions = items(behavior["FunctionAssociations"])
    if len(functions) > 2:
        message = "A cache behavior can have a function for viewer-request and one for viewer-response."
        raise refusal(ConfigErrorCode.TOO_MANY_FUNCTIONS, message)
    _check_events(functions, ConfigErrorCode.INVALID_FUNCTION_ASSOCIATION)
    limit = submitted.world.settings.distributions_per_reference
    for function in functions:
        arn = function["FunctionARN"]
        if function["EventType"].startswith("origin") or not referenced.has_function(submitted.account, arn):
            message = f"The function {arn} doesn't exist, or its event is not one of viewers'."
            raise refusal(ConfigErrorCode.INVALID_FUNCTION_ASSOCIATION, message)
        if submitted.others(partial(_has_function, "Function", arn)) >= limit:
            message = f"The function {arn} exceeds the limit of {limit} distributions."
            raise refusal(ConfigErrorCode.TOO_MANY_WITH_FUNCTIONS, message)


def _check_lambdas(behavior: Config) -> None:
    functions = items(behavior["LambdaFunctionAssociations"])
    _check_events(functions, ConfigErrorCode.INVALID_LAMBDA_FUNCTION_ASSOCIATION)
    for function in functions:
        if not _LAMBDA.fullmatch(function["LambdaFunctionARN"]):
            message = "Lambda@Edge takes the ARN of a numbered version of a function in us-east-1."
            raise refusal(ConfigErrorCode.INVALID_LAMBDA_FUNCTION_ASSOCIATION, message)


def _check_events(functions: list[Config], code: ConfigErrorCode) -> None:
    events = [function["EventType"] for function in functions]
    if len(set(events)) < len(events):
        raise refusal(code, "A cache behavior has two functions for one event.")


def _check_lambda_quotas(submitted: Submitted) -> None:
    own = _arns(submitted.config, "LambdaFunction")
    limit = submitted.world.settings.distributions_with_lambda
    if len(own) > _MOST_LAMBDAS:
        message = f"Your request exceeds the limit of {_MOST_LAMBDAS} Lambda functions for a distribution."
        raise refusal(ConfigErrorCode.TOO_MANY_LAMBDA_FUNCTIONS, message)
    for arn in own:
        if submitted.others(partial(_has_function, "LambdaFunction", arn)) >= limit:
            message = f"The Lambda function {arn} exceeds the limit of {limit} distributions."
            raise refusal(ConfigErrorCode.TOO_MANY_WITH_ONE_LAMBDA, message)
    if own and submitted.others(lambda config: bool(_arns(config, "LambdaFunction"))) >= limit:
        message = f"Your request exceeds the limit of {limit} distributions with Lambda functions."
        raise refusal(ConfigErrorCode.TOO_MANY_WITH_LAMBDA, message)


def _check_encryption(behavior: Config) -> None:
    config_id = behavior["FieldLevelEncryptionId"]
    if not config_id:
        return
    open_to_http = behavior["ViewerProtocolPolicy"] == "allow-all"
    if open_to_http or set(items(behavior["AllowedMethods"])) != _ALL_METHODS:
        message = "Field-level encryption needs HTTPS from viewers and all seven methods."
        raise refusal(ConfigErrorCode.ILLEGAL_FIELD_LEVEL_ENCRYPTION, message)
    message = f"The field-level encryption configuration {config_id} doesn't exist."
    raise refusal(ConfigErrorCode.NO_SUCH_FIELD_LEVEL_ENCRYPTION_CONFIG, message)


def _check_log(submitted: Submitted, behavior: Config) -> None:
    arn = behavior.get("RealtimeLogConfigArn")
    if arn and f"::{submitted.account}:" not in arn and re.search(r"::[0-9]{12}:", arn):
        message = f"The real-time log configuration {arn} belongs to a different AWS account."
        raise refusal(ConfigErrorCode.REALTIME_LOG_CONFIG_OWNER_MISMATCH, message)
    if arn:
        message = f"The real-time log configuration {arn} does not exist."
        raise refusal(ConfigErrorCode.NO_SUCH_REALTIME_LOG_CONFIG, message)


def _has_key_group(group: str, config: Config) -> bool:
    behaviors = [config["DefaultCacheBehavior"], *items(config["CacheBehaviors"])]
    return any(group in items(behavior.get("TrustedKeyGroups")) for behavior in behaviors)


def _has_function(kind: str, arn: str, config: Config) -> bool:
    return arn in _arns(config, kind)


def _arns(config: Config, kind: str) -> list[str]:
    behaviors = [config["DefaultCacheBehavior"], *items(config["CacheBehaviors"])]
    return [
        each[f"{kind}ARN"] for behavior in behaviors for each in items(behavior.get(f"{kind}Associations"))
    ]
