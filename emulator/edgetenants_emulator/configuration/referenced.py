"""Objects to which a configuration refers by id: AWS's managed policies, and resources in moto's CloudFront.

The emulator does not support custom policies, so only the managed ones exist.
Ids: CloudFront developer guide, "Use managed cache policies", "Use managed origin request policies", "Use
managed response headers policies".
"""

from __future__ import annotations

from typing import Any

from moto.cloudfront.models import cloudfront_backends

__all__ = [
    "CACHE_POLICIES",
    "ORIGIN_REQUEST_POLICIES",
    "RESPONSE_HEADERS_POLICIES",
    "access_control_type",
    "has_function",
    "has_key_group",
]

CACHE_POLICIES = {
    "2e54312d-136d-493c-8eb9-b001f22f67d2": "Amplify",
    "4d1d2f1d-3a71-49ad-9e08-7ea5d843a556": "Amplify-Default",
    "a6bad946-36c3-4c33-aa98-362c74a7fb13": "Amplify-DefaultNoCookies",
    "1c6db51a-a33f-469a-8245-dae26771f530": "Amplify-ImageOptimization",
    "7e5fad67-ee98-4ad0-b05a-394999eefc1a": "Amplify-StaticContent",
    "4135ea2d-6df8-44a3-9df3-4b5a84be39ad": "CachingDisabled",
    "658327ea-f89d-4fab-a63d-7e88639e58f6": "CachingOptimized",
    "b2884449-e4de-46a7-ac36-70bc7f1ddd6d": "CachingOptimizedForUncompressedObjects",
    "08627262-05a9-4f76-9ded-b50ca2e3a84f": "Elemental-MediaPackage",
    "83da9c7e-98b4-4e11-a168-04f0df8e2c65": "UseOriginCacheControlHeaders",
    "4cc15a8a-d715-48a4-82b8-cc0b614638fe": "UseOriginCacheControlHeaders-QueryStrings",
}
"""Id to name."""
ORIGIN_REQUEST_POLICIES = {
    "216adef6-5c7f-47e4-b989-5492eafa07d3": "AllViewer",
    "33f36d7e-f396-46d9-90e0-52428a34d9dc": "AllViewerAndCloudFrontHeaders-2022-06",
    "b689b0a8-53d0-40ab-baf2-68738e2966ac": "AllViewerExceptHostHeader",
    "59781a5b-3903-41f3-afcb-af62929ccde1": "CORS-CustomOrigin",
    "88a5eaf4-2fd4-4709-b370-b4c650ea3fcf": "CORS-S3Origin",
    "775133bc-15f2-49f9-abea-afb2e0bf67d2": "Elemental-MediaTailor-PersonalizedManifests",
    "bf0718e1-ba1e-49d1-88b1-f726733018ae": "HostHeaderOnly",
    "acba4595-bd28-49b8-b9fe-13317c0390fa": "UserAgentRefererHeaders",
}
"""Id to name."""
RESPONSE_HEADERS_POLICIES = {
    "e61eb60c-9c35-4d20-a928-2b84e02af89c": "CORS-and-SecurityHeadersPolicy",
    "5cc3b908-e619-4b99-88e5-2cf7f45965bd": "CORS-With-Preflight",
    "eaab4381-ed33-4a86-88ca-d9558dc6cd63": "CORS-with-preflight-and-SecurityHeadersPolicy",
    "67f7725c-6f97-4210-82d7-5512b31e9d03": "SecurityHeadersPolicy",
    "60669652-455b-4ae9-85a4-c4c02393f86c": "SimpleCORS",
}
"""Id to name."""


def has_key_group(account: str, group_id: str) -> bool:
    """Whether an account has a key group."""
    return group_id in _moto(account).key_groups


def has_function(account: str, arn: str) -> bool:
    """Whether an account has a CloudFront function. moto has no stages, so each one counts as published."""
    functions = getattr(_moto(account), "functions", {})  # available since moto 5.2.4
    return any(function.arn == arn for function in functions.values())


def access_control_type(account: str, control_id: str) -> str | None:
    """The origin type of an origin access control (`s3`, `lambda`, …); None if it does not exist."""
    found = _moto(account).origin_access_controls.get(control_id)
    return (found.origin_type or "s3") if found else None


def _moto(account: str) -> Any:
    return cloudfront_backends[account]["aws"]
