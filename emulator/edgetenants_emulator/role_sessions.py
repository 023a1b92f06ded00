"""AssumeRole as STS guards it. moto hands out any role's session; this is what stands before it.

    the role is in IAM here     its trust policy (ExternalId, principals, tags) and its longest session decide
    the role is not             anybody may assume it: tests need not make roles

Policies of the caller's own are not asked: most keys here stand for nobody in particular.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from moto.iam.exceptions import NotFoundException
from moto.iam.models import Role, iam_backends
from moto.sts.models import sts_backends

from edgetenants_emulator import trust_policies
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.exchange import Request
from edgetenants_emulator.trust_policies import Caller

__all__ = ["caller_of", "check"]

_ROLE = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}):role/.+")
_TAG_KEY = re.compile(r"Tags\.member\.\d+\.Key")
_CHAINED_SECONDS = 3600
"""The longest session of a role that a role's session assumed, by the API reference of AssumeRole."""
_LONGEST_SECONDS = 3600
"""A role's longest session where it sets none."""


def check(request: Request, account: str, access_key: str) -> None:
    """Let an AssumeRole pass.

    Raises AwsError AccessDenied where the role's trust policy does not allow it, ValidationError for a
    session longer than the role's longest or, in a chain, than an hour.
    """
    form = _form(request)
    match = _ROLE.fullmatch(form.get("RoleArn", ""))
    if match is None:
        return  # moto tells what is wrong with it
    caller = caller_of(account, access_key)
    duration = form.get("DurationSeconds", "")
    seconds = int(duration) if duration.isdecimal() else 0
    if caller.is_session and seconds > _CHAINED_SECONDS:
        raise _invalid(
            "The requested DurationSeconds exceeds the 1 hour session limit "
            "for roles assumed by role chaining."
        )
    role = _role(match[1], match[0])
    if role is None:
        return
    _check_trust(role, caller, form)
    if seconds > int(role.max_session_duration or _LONGEST_SECONDS):
        raise _invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")


def caller_of(account: str, access_key: str) -> Caller:
    """Who an access key of an account is: a role's session, a user of IAM, or a user that nobody made."""
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
    """What the policy must allow: tags and a source identity are permissions of their own."""
    tagged = any(_TAG_KEY.fullmatch(name) for name in form)
    more = {"sts:TagSession": tagged, "sts:SetSourceIdentity": "SourceIdentity" in form}
    return ["sts:AssumeRole", *(action for action, needed in more.items() if needed)]


def _role(account: str, arn: str) -> Role | None:
    try:
        return iam_backends[account]["aws"].get_role_by_arn(arn)
    except NotFoundException:
        return None


def _form(request: Request) -> dict[str, str]:
    return {**request.query, **dict(parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True))}


def _invalid(message: str) -> AwsError:
    return AwsError("ValidationError", message, 400)
