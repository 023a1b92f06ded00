"""Tokens of identity providers (OpenID Connect), as AssumeRoleWithWebIdentity reads them.

Signatures are not verified, so any caller can create a token for any subject. The times in a token are set by
the identity provider, so they are real and not virtual. Rules: API reference of AssumeRoleWithWebIdentity;
IAM user guide, "Create an OpenID Connect (OIDC) identity provider" and "Available keys for AWS OIDC
federation". The error messages are those that users report.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from moto.iam.models import iam_backends

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.sts.trust_policies import Caller

__all__ = ["WebIdentity", "caller_of", "read"]

_REQUIRED = ("iss", "sub", "aud", "exp")
_WITHOUT_RESOURCE = frozenset(
    {"accounts.google.com", "cognito-identity.amazonaws.com", "graph.facebook.com", "www.amazon.com"}
)
"""Identity providers that are built into IAM. All others must be created in IAM."""


@dataclass(frozen=True)
class WebIdentity:
    """The claims of a token."""

    issuer: str
    subject: str
    audiences: tuple[str, ...]
    authorized_party: str = ""
    """The claim azp; empty if it is missing. IAM uses it as the audience."""

    @property
    def provider(self) -> str:
        """The issuer in IAM's format: without a scheme."""
        return self.issuer.removeprefix("https://").rstrip("/")

    def context(self, audience: str) -> dict[str, str]:
        """The condition keys of trust policies."""
        name = self.provider.lower()
        keys = {"sub": self.subject, "aud": self.authorized_party or audience, "oaud": audience}
        return {f"{name}:{key}": value for key, value in keys.items()}


def read(token: str, now: float) -> WebIdentity:
    """Parse a JSON Web Token; `now` is in seconds since 1970.

    Raises AwsError InvalidIdentityToken for an invalid token, ExpiredTokenException for an expired one.
    """
    claims = _claims(token)
    for name in _REQUIRED:
        if name not in claims:
            raise _invalid(f"Missing a required claim: {name}")
    expires = claims["exp"]
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        raise _invalid("The ID Token provided is not a valid JWT: exp is no number.")
    if expires <= now:
        message = (
            f"Token expired: current date/time {int(now)} must be before the expiration date/time "
            f"{int(expires)}"
        )
        raise AwsError("ExpiredTokenException", message, 400)
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    party = claims.get("azp")
    return WebIdentity(
        str(claims["iss"]), str(claims["sub"]), tuple(map(str, audiences)), str(party) if party else ""
    )


def caller_of(identity: WebIdentity, account: str) -> tuple[Caller, str]:
    """The caller with this token in an account with its identity providers, and the matching audience.

    Raises AwsError InvalidIdentityToken if the account has no such provider, or not for this audience.
    """
    name = identity.provider
    arn = f"arn:aws:iam::{account}:oidc-provider/{name}"
    if name in _WITHOUT_RESOURCE:
        return Caller(account, name, provider=name), identity.audiences[0]
    known = iam_backends[account]["aws"].open_id_providers.get(arn)
    if known is None:
        raise _invalid(f"No OpenIDConnect provider found in your account for {identity.issuer}")
    audience = _first(identity.audiences, known.client_id_list)
    if audience is None:
        raise _invalid("Incorrect token audience")
    return Caller(account, arn, provider=name), audience


def _claims(token: str) -> dict[str, Any]:
    parts = token.split(".")
    try:
        header, claims = (json.loads(_decoded(part)) for part in parts[:2])
    except (ValueError, binascii.Error):
        header, claims = None, None
    if len(parts) != 3 or not isinstance(header, dict) or not isinstance(claims, dict):
        raise _invalid(
            "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)"
        )
    return claims


def _decoded(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _first(wanted: Iterable[str], known: Iterable[str]) -> str | None:
    held = set(known)
    return next((each for each in wanted if each in held), None)


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidIdentityToken", message, 400)
