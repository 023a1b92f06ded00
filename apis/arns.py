"""The ARNs in the APIs, each in the form that CloudFront requires.

CloudFront's certificates are in us-east-1. Its web ACLs are WAFv2 web ACLs of scope CLOUDFRONT, which are in
us-east-1 too ("Requirements for using SSL/TLS certificates with CloudFront", "Using AWS WAF", CloudFront
Developer Guide).
"""

import re
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import Kube, Rule


def _matches(pattern: str, message: str) -> Rule:
    compiled = re.compile(pattern)
    return Rule(f"self.matches('{pattern}')", message, lambda value: bool(compiled.search(value)))


CertificateArn = Annotated[
    str,
    Field(max_length=512),
    Kube(
        rules=(
            _matches(
                "^arn:aws[a-z-]*:acm:us-east-1:[0-9]{12}:certificate/[A-Za-z0-9-]+$",
                "expected the ARN of an ACM certificate in us-east-1: "
                "arn:aws:acm:us-east-1:<account>:certificate/<id>",
            ),
        )
    ),
]
"""The ARN of an ACM certificate in us-east-1."""

WebAclArn = Annotated[
    str,
    Field(max_length=512),
    Kube(
        rules=(
            _matches(
                "^arn:aws[a-z-]*:wafv2:us-east-1:[0-9]{12}:global/webacl/[^/]+/[^/]+$",
                "expected the ARN of a WAFv2 web ACL of scope CLOUDFRONT: "
                "arn:aws:wafv2:us-east-1:<account>:global/webacl/<name>/<id>",
            ),
        )
    ),
]
"""The ARN of a WAFv2 web ACL of scope CLOUDFRONT."""

RoleArn = Annotated[
    str, Field(max_length=2048, pattern="^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$")
]
"""The ARN of an IAM role."""
