"""Versions: CloudFront's ETags count versions in a sequence common to all resources; they are not hashes.

In AWS's published CLI examples, each new tenant and each new connection group has the same first ETag, and
the n-th version of any resource has the same n-th ETag. So two resources may have the same ETag, and a
recreated resource starts again with the first one.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.settings import Settings

__all__ = ["check", "check_if_given", "token"]

# CloudFront's ETags of the first seven versions.
_FIRST = (
    "E23ZP02F085DFQ",
    "ETVPDKIKX0DER",
    "E3UN6WX5RRO2AG",
    "E1F83G8C2ARO7P",
    "E1PA6795UKMFR9",
    "E13V1IB3VIYZZH",
    "E1VC38T7YXB528",
)
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PLAIN = Settings()
_VALID = re.compile(r"E[0-9A-Z]{9,19}")


@lru_cache(maxsize=4096)
def token(version: int) -> str:
    """The ETag of a version, counted from 1; the same in every run.

    >>> token(1), token(2)
    ('E23ZP02F085DFQ', 'ETVPDKIKX0DER')
    """
    if version <= len(_FIRST):
        return _FIRST[version - 1]
    digest = hashlib.sha256(f"version {version}".encode()).digest()
    return "E" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:13])


def check(if_match: str | None, version: int, settings: Settings = _PLAIN) -> None:
    """Check that If-Match is the current version.

    Raises AwsError InvalidIfMatchVersion for a missing or invalid version, PreconditionFailed for a stale
    one.
    """
    given = (if_match or "").strip().strip('"')
    if given == "*" and settings.if_match_star_accepted:
        return
    if not _VALID.fullmatch(given):
        raise AwsError(
            ErrorCode.INVALID_IF_MATCH_VERSION,
            "The If-Match version is missing or not valid for the resource.",
        )
    if given != token(version):
        raise AwsError(
            ErrorCode.PRECONDITION_FAILED,
            "The precondition in one or more of the request fields evaluated to false.",
        )


def check_if_given(if_match: str | None, version: int, settings: Settings = _PLAIN) -> None:
    """Like `check`, for operations in which If-Match is optional."""
    if if_match is not None:
        check(if_match, version, settings)
