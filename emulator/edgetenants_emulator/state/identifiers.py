"""Identifiers and ARNs, in the format of AWS's examples."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

__all__ = ["Arn", "distribution_id", "edge_name", "invalidation_id", "is_web_acl", "ksuid", "request_id"]

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UPPER = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KSUID_EPOCH = 1_400_000_000
_ARN = re.compile(r"arn:aws(?:-cn)?:cloudfront::(?P<account>[0-9]+):(?P<kind>[^/]+)/(?P<id>.+)")
_WEB_ACL = re.compile(r"arn:aws(-cn)?:wafv2:us-east-1:[0-9]{12}:global/webacl/[\w-]{1,128}/[\w-]{1,128}")


def ksuid(prefix: str, unix_seconds: float) -> str:
    """`dt_…` or `cg_…`: 27 characters in base 62, from 4 bytes of time and 16 random bytes."""
    seconds = int(unix_seconds) - _KSUID_EPOCH
    number = (seconds << 128) | secrets.randbits(128)
    return f"{prefix}_{_digits(number, _BASE62).rjust(27, '0')}"


def distribution_id() -> str:
    """A distribution id: `E` and 13 upper-case characters."""
    return "E" + "".join(secrets.choice(_UPPER) for _ in range(13))


def invalidation_id() -> str:
    """An invalidation id: `I` and 25 upper-case characters."""
    return "I" + "".join(secrets.choice(_UPPER) for _ in range(25))


def edge_name() -> str:
    """A name of CloudFront, such as `d111111abcdef8.cloudfront.net`."""
    return "d" + "".join(secrets.choice(_UPPER.lower()) for _ in range(13)) + ".cloudfront.net"


def request_id() -> str:
    """A request id, for the response header `x-amzn-RequestId`."""
    digits = secrets.token_hex(16)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass(frozen=True)
class Arn:
    """The ARN of a CloudFront resource."""

    account: str
    kind: str
    """`distribution`, `distribution-tenant`, `connection-group`, or another kind of CloudFront."""
    id: str

    def __str__(self) -> str:
        return f"arn:aws:cloudfront::{self.account}:{self.kind}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> Arn | None:
        """Parse an ARN; None if it is not an ARN of CloudFront.

        >>> Arn.parse("arn:aws:cloudfront::123456789012:distribution-tenant/dt_1").kind
        'distribution-tenant'
        """
        match = _ARN.fullmatch(text)
        return cls(match["account"], match["kind"], match["id"]) if match else None


def _digits(number: int, alphabet: str) -> str:
    digits = []
    while number:
        number, digit = divmod(number, len(alphabet))
        digits.append(alphabet[digit])
    return "".join(reversed(digits))


def is_web_acl(arn: str) -> bool:
    """Whether it is the ARN of a web ACL for CloudFront. The emulator cannot check that the web ACL
    exists."""
    return _WEB_ACL.fullmatch(arn) is not None
