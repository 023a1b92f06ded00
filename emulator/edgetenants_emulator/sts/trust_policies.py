"""Trust policies of IAM roles: who may assume a role, according to IAM's policy reference.

    a Deny statement matches     refused
    an Allow statement matches   allowed
    no statement matches         refused

A statement matches if its action, its principal and all its conditions match.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["Caller", "allows"]

Context = Mapping[str, str]
"""The values of condition keys, by key in lower case. Keys that the request does not have are missing."""


@dataclass(frozen=True)
class Caller:
    """The caller."""

    account: str
    arn: str
    role_arn: str = ""
    """The role of the caller's session; empty for users."""
    is_session: bool = False
    """Whether the credentials belong to a session of a role."""
    provider: str = ""
    """The identity provider of the token, with the ARN `arn`; empty for callers with keys."""

    @property
    def names(self) -> frozenset[str]:
        """The principals that match the caller."""
        if self.provider:
            return frozenset({self.arn, "*"})
        root = f"arn:aws:iam::{self.account}:root"
        return frozenset({self.account, root, self.arn, self.role_arn or self.arn, "*"})

    @property
    def context(self) -> dict[str, str]:
        """The condition keys of the caller."""
        if self.provider:
            return {"aws:federatedprovider": self.arn}
        return {"aws:principalaccount": self.account, "aws:principalarn": self.role_arn or self.arn}


def allows(document: str, action: str, caller: Caller, context: Context) -> bool:
    """Whether a trust policy lets a caller do an action on its role.

    Raises AwsError NotImplemented for a condition operator that is not evaluated here.
    """
    statements = _listed(json.loads(document).get("Statement", []))
    known = {**caller.context, **context}
    fitting = [each["Effect"] for each in statements if _fits(each, action, caller, known)]
    return "Allow" in fitting and "Deny" not in fitting


def _fits(statement: Mapping[str, Any], action: str, caller: Caller, context: Context) -> bool:
    return (
        _names_action(statement, action)
        and _names_caller(statement, caller)
        and all(
            _holds(operator, key, _listed(values), context)
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def _names_action(statement: Mapping[str, Any], action: str) -> bool:
    if "NotAction" in statement:
        return not _any_like(statement["NotAction"], action)
    return _any_like(statement.get("Action", []), action)


def _names_caller(statement: Mapping[str, Any], caller: Caller) -> bool:
    if "NotPrincipal" in statement:
        return not _names(statement["NotPrincipal"], caller) & caller.names
    return bool(_names(statement.get("Principal", []), caller) & caller.names)


def _names(principal: Any, caller: Caller) -> set[str]:
    """The principals in an element that are of the caller's kind. Services never call the emulator."""
    kind = "Federated" if caller.provider else "AWS"
    return set(_listed(principal.get(kind, []) if isinstance(principal, Mapping) else principal))


def _holds(operator: str, key: str, wanted: Sequence[Any], context: Context) -> bool:
    """Whether a condition is met. A missing key does not meet it, except for IfExists, Null and Not
    operators."""
    actual = context.get(key.lower())
    base = operator.removesuffix("IfExists")
    if base == "Null":
        return str(actual is None).lower() in (str(each).lower() for each in wanted)
    negated = "Not" in base
    matches = _OPERATORS.get(base.replace("Not", ""))
    if matches is None:
        message = f"This emulator does not evaluate the condition operator {operator}."
        raise AwsError(ErrorCode.NOT_IMPLEMENTED, message)
    if actual is None:
        return negated or base != operator
    return any(matches(str(each), actual) for each in wanted) is not negated


def _like(pattern: str, value: str) -> bool:
    # IAM supports only * and ?; brackets are literal.
    return fnmatchcase(value, re.sub(r"\[", "[[]", pattern))


def _equal(wanted: str, value: str) -> bool:
    return wanted == value


def _equal_any_case(wanted: str, value: str) -> bool:
    return wanted.lower() == value.lower()


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": _equal,
    "StringEqualsIgnoreCase": _equal_any_case,
    "StringLike": _like,
    "ArnEquals": _like,
    "ArnLike": _like,
    "Bool": _equal_any_case,
}


def _any_like(patterns: Any, action: str) -> bool:
    return any(_like(str(each).lower(), action.lower()) for each in _listed(patterns))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
