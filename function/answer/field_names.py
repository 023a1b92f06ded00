"""Replace the managed resource's fields in its messages with the fields of the claim and its plan, because
the claim's author and the platform team write those and no managed resources."""

import re
from collections.abc import Mapping
from typing import Final

from apis.tenantplans import OverridableField
from function.composed.compose import Order

_FIELDS: Final = (
    "connectionGroupId|customizations|distributionId|dns|domains|managedCertificateRequest|parameters|tags"
)
_NAMED: Final = re.compile(
    r"\bspec\.forProvider\.(?P<field>\w+)(?P<below>(?:\.[\w-]+|\[[^\]]*\])*)"
    r"|\bspec\.(?P<spec_field>driftPolicy|deletionProtection|providerConfigRef|writeConnectionSecretToRef)\b"
    # A difference between the desired value and the value in AWS.
    rf"|(?<![\w.])(?P<differing>{_FIELDS})(?P<where>(?:\.[^\s:;]+)?)(?=: desired )"
)
_CONNECTION_DETAILS: Final = "writeConnectionSecretToRef"

_PLANS_OWN: Final = {
    "distributionId": "distributionId",
    "connectionGroupId": "connection.connectionGroupId",
    "ipv6Enabled": "connection.ipv6Enabled",
    "anycastIpListId": "connection.anycastIpListId",
}
"""Fields that only a plan can set."""
_CHOICES: Final = {
    "customizations.certificate": OverridableField.CERTIFICATE,
    "customizations.webAcl": OverridableField.WEB_ACL,
    "customizations.geoRestrictions": OverridableField.GEO,
    "managedCertificateRequest": OverridableField.CERTIFICATE,
    "dns": OverridableField.DNS,
    "connectionGroupIdSelector": OverridableField.CONNECTION,
}
"""Fields that a plan can set, and a claim if its plan allows it."""


_CORRECT: Final = re.compile(
    r"\bCorrect the (?:resource|claim or its plan)"
    r"(?=; (?:the provider retries as soon as it changes|a change is tried at once))"
)
"""Ends the message of a refusal in AWS's own words, which name no field."""


def in_claim(order: Order, message: str) -> str:
    """A managed resource's message that names the fields of the claim and its plan instead of its own."""
    # Most messages have nothing to replace, and every call checks every message.
    if "spec." not in message and ": desired " not in message and "Correct the " not in message:
        return message
    said = _NAMED.sub(lambda found: _named(order, found) or found[0], message)
    return _CORRECT.sub(lambda _: _to_correct(order), said)


def _to_correct(order: Order) -> str:
    """All fields of the request to AWS that the claim sets, and the plan, which sets the others."""
    spec = order.claim.spec
    asked = {
        OverridableField.PARAMETERS: spec.parameters,
        OverridableField.CERTIFICATE: spec.certificate,
        OverridableField.WEB_ACL: spec.security and spec.security.web_acl,
        OverridableField.GEO: spec.security and spec.security.geo,
        OverridableField.CONNECTION: spec.connection,
        OverridableField.TAGS: spec.tags,
    }
    mine = ["spec.domains", *(f"spec.{field}" for field, value in asked.items() if value)]
    return f"Correct {' or '.join(mine)}, or have the platform team correct {order.chosen.whole}"


def _named(order: Order, found: re.Match[str]) -> str:
    spec_field = found["spec_field"]
    if spec_field == _CONNECTION_DETAILS:
        # The composite of a legacy claim has a field of the same name.
        return "spec.connectionSecretName" if order.composite.namespaced else ""
    if spec_field:
        return order.chosen.path(spec_field)
    return _of(order, found["field"] or found["differing"], found["below"] or found["where"] or "")


def _of(order: Order, field: str, below: str) -> str:
    if field == "domains":
        # The composed list is sorted, so an index in it is wrong for the claim.
        return "spec.domains"
    if field in _PLANS_OWN:
        return order.chosen.path(_PLANS_OWN[field])
    spec, plan = order.claim.spec, order.chosen.plan
    if field == "parameters":
        return _entry(order, OverridableField.PARAMETERS, below, spec.parameters, plan.parameters)
    if field == "tags":
        return _entry(order, OverridableField.TAGS, below, spec.tags, plan.tags)
    whole = field + below
    choice = next((each for path, each in _CHOICES.items() if whole.startswith(path)), None)
    if choice is None and field == "customizations":
        return order.chosen.path("security")
    return _owned(order, choice) if choice is not None else ""


def _entry(
    order: Order,
    field: OverridableField,
    below: str,
    asked: Mapping[str, str] | None,
    planned: Mapping[str, str] | None,
) -> str:
    key = below.removeprefix(".")
    if key in (planned or {}) and key not in (asked or {}):
        return f"{order.chosen.path(field)}{below}"
    return f"{_owned(order, field)}{below}"


def _owned(order: Order, field: OverridableField) -> str:
    """The claim's field if its plan lets the claim set it; else the plan's."""
    mine = field in order.chosen.plan.allow.override
    return f"spec.{field}" if mine else order.chosen.path(field)
