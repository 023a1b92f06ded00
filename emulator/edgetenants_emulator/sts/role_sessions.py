"""The checks of AssumeRole and AssumeRoleWithWebIdentity. moto itself grants every session.

    the role exists in IAM      its trust policy (ExternalId, principals, tags) and MaxSessionDuration apply
    the role does not exist     any caller may assume it, so that tests need not create roles

Policies of the caller are not evaluated, because most access keys do not belong to a user or role.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from moto.iam.models import Role, iam_backends
from moto.sts.models import sts_backends

from edgetenants_emulator.clock import wall_clock
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.sts import trust_policies, web_identities
from edgetenants_emulator.sts.trust_policies import Caller

__all__ = ["GUARDED", "caller_of", "check", "seconds_of", "with_identity"]

GUARDED = frozenset({"AssumeRole", "AssumeRoleWithSAML", "AssumeRoleWithWebIdentity"})
"""The STS operations that start a session of a role."""

_ROLE = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}):role/.+")
_TAG_KEY = re.compile(r"Tags\.member\.\d+\.Key")
_CHAINED_SECONDS = 3600
"""The maximum session length in role chaining, from the API reference of AssumeRole."""
_USUAL_SECONDS = 3600
"""The default length of a session."""
_SHORTEST_SECONDS, _LONGEST_OF_ALL_SECONDS = 900, 43_200
_LONGEST_SECONDS = 3600
"""The default MaxSessionDuration of a role."""


def check(operation: str, request: Request, account: str, access_key: str) -> None:
    """Check a request for a session of a role.

    Raises AwsError AccessDenied if the role's trust policy does not allow it, ValidationError for a session
    shorter than 15 minutes, longer than the role's maximum or, in a chain, longer than an hour; for a token
    like `web_identities.read` and `caller_of`.
    """
    form = _form(request)
    _check_range(form.get("DurationSeconds", ""))
    match = _ROLE.fullmatch(form.get("RoleArn", ""))
    if match is None:
        return  # moto reports the error
    role = _role(match[1], match[0])
    seconds = seconds_of(request)
    if operation == "AssumeRoleWithWebIdentity":
        _check_identity(role, match[1], form)
    elif operation == "AssumeRole":
        _check_caller(role, caller_of(account, access_key), form, seconds)
    if role and seconds > int(role.max_session_duration or _LONGEST_SECONDS):
        raise _invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")


def seconds_of(request: Request) -> int:
    """The requested length of the session."""
    given = _form(request).get("DurationSeconds", "")
    return int(given) if given.isdecimal() else _USUAL_SECONDS


def with_identity(request: Request, response: Response) -> Response:
    """The response to a token, with the token's claims, which moto omits."""
    end = b"</AssumeRoleWithWebIdentityResult>"
    token = _form(request).get("WebIdentityToken", "")
    if response.status >= 400 or end not in response.body:
        return response
    identity = web_identities.read(token, wall_clock())
    said = {
        "SubjectFromWebIdentityToken": identity.subject,
        "Audience": identity.audiences[0],
        "Provider": identity.issuer,
    }
    more = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in said.items()).encode()
    return replace(response, body=response.body.replace(end, more + end))


def _check_range(given: str) -> None:
    if given.isdecimal() and not _SHORTEST_SECONDS <= int(given) <= _LONGEST_OF_ALL_SECONDS:
        edge = (
            f"greater than or equal to {_SHORTEST_SECONDS}"
            if int(given) < _SHORTEST_SECONDS
            else f"less than or equal to {_LONGEST_OF_ALL_SECONDS}"
        )
        raise _invalid(
            f"1 validation error detected: Value '{given}' at 'durationSeconds' failed to satisfy "
            f"constraint: Member must have value {edge}"
        )


def _check_identity(role: Role | None, account: str, form: Mapping[str, str]) -> None:
    identity = web_identities.read(form.get("WebIdentityToken", ""), wall_clock())
    if role is None:
        return
    caller, audience = web_identities.caller_of(identity, account)
    context = {**identity.context(audience), "sts:rolesessionname": form.get("RoleSessionName", "")}
    action = "sts:AssumeRoleWithWebIdentity"
    if not trust_policies.allows(role.assume_role_policy_document, action, caller, context):
        raise AwsError(ErrorCode.ACCESS_DENIED, f"Not authorized to perform {action}")


def _check_caller(role: Role | None, caller: Caller, form: Mapping[str, str], seconds: int) -> None:
    if caller.is_session and seconds > _CHAINED_SECONDS:
        raise _invalid(
            "The requested DurationSeconds exceeds the 1 hour session limit "
            "for roles assumed by role chaining."
        )
    if role:
        _check_trust(role, caller, form)


def caller_of(account: str, access_key: str) -> Caller:
    """The caller with an access key: a session of a role, an IAM user, or else an unknown user."""
    session = sts_backends[account]["aws"].get_assumed_role_from_access_key(access_key)
    if session:
        return Caller(account, session.arn, session.role_arn, is_session=True)
    user = iam_backends[account]["aws"].get_user_from_access_key_id(access_key)
    return Caller(account, user.arn if user else f"arn:aws:iam::{account}:user/moto")


def _check_trust(role: Role, caller: Caller, form: Mapping[str, str]) -> None:
    context = {
        key: form[member]
        for key, member in (
            ("sts:externalid", "ExternalId"),
            ("sts:rolesessionname", "RoleSessionName"),
            ("sts:sourceidentity", "SourceIdentity"),
        )
        if member in form
    }
    for action in _actions(form):
        if not trust_policies.allows(role.assume_role_policy_document, action, caller, context):
            message = f"User: {caller.arn} is not authorized to perform: {action} on resource: {role.arn}"
            raise AwsError(ErrorCode.ACCESS_DENIED, message)


def _actions(form: Mapping[str, str]) -> list[str]:
    """The actions that the policy must allow. Tags and a source identity require separate permissions."""
    tagged = any(_TAG_KEY.fullmatch(name) for name in form)
    more = {"sts:TagSession": tagged, "sts:SetSourceIdentity": "SourceIdentity" in form}
    return ["sts:AssumeRole", *(action for action, needed in more.items() if needed)]


def _role(account: str, arn: str) -> Role | None:
    # Not with the lookup that raises, because its exception has different names in moto's versions.
    return next((role for role in iam_backends[account]["aws"].get_roles() if role.arn == arn), None)


def _form(request: Request) -> dict[str, str]:
    return {**request.query, **dict(parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True))}


def _invalid(message: str) -> AwsError:
    return AwsError("ValidationError", message, 400)
