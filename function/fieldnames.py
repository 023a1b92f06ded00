"""Fields of a managed resource that its messages name, in the words of those who can change them: the claim's
author and the platform team, who write no managed resources."""

import re
from collections.abc import Mapping
from typing import Final

from apis.tenantplans import OverridableField
from function.compose import Order

_FIELDS: Final = (
    "connectionGroupId|customizations|distributionId|dns|domains|managedCertificateRequest|parameters|tags"
)
_NAMED: Final = re.compile(
    r"\bspec\.forProvider\.(?P<field>\w+)(?P<below>(?:\.[\w-]+|\[[^\]]*\])*)"
    r"|\bspec\.(?P<beside>driftPolicy|deletionProtection|providerConfigRef|writeConnectionSecretToRef)\b"
    # A difference between what is asked and what AWS has.
    rf"|(?<![\w.])(?P<differing>{_FIELDS})(?P<where>(?:\.[^\s:;]+)?)(?=: asked )"
)
_CONNECTION_DETAILS: Final = "writeConnectionSecretToRef"

_PLANS_OWN: Final = {
    "distributionId": "distributionId",
    "connectionGroupId": "connection.connectionGroupId",
    "ipv6Enabled": "connection.ipv6Enabled",
    "anycastIpListId": "connection.anycastIpListId",
}
"""Fields that only a plan has."""
_CHOICES: Final = {
    "customizations.certificate": OverridableField.CERTIFICATE,
    "customizations.webAcl": OverridableField.WEB_ACL,
    "customizations.geoRestrictions": OverridableField.GEO,
    "managedCertificateRequest": OverridableField.CERTIFICATE,
    "dns": OverridableField.DNS,
    "connectionGroupIdSelector": OverridableField.CONNECTION,
}
"""Fields that a plan has, and a claim where its plan lets it."""


_CORRECT: Final = re.compile(r"\bCorrect the (?:resource|claim or its plan)(?=; a change is tried at once)")
"""What AWS refuses in words of its own, which name no field."""


_SIGNS: Final = ("spec.", ": asked ", "Correct the ")
"""One of these stands in each message that one of the two finds something in."""


def in_claim(order: Order, message: str) -> str:
    """A message of a managed resource, with the fields of the claim and its plan in the place of its own."""
    # Most messages name none, and each is looked through with each call.
    if not any(each in message for each in _SIGNS):
        return message
    said = _NAMED.sub(lambda found: _named(order, found) or found[0], message)
    return _CORRECT.sub(lambda _: _to_correct(order), said)


def _to_correct(order: Order) -> str:
    """All that the claim's author has set of what AWS is asked for, and the plan, which has the rest."""
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
    beside = found["beside"]
    if beside == _CONNECTION_DETAILS:
        # The composite of a legacy claim has the very field.
        return "spec.connectionSecretName" if order.composite.namespaced else ""
    if beside:
        return order.chosen.path(beside)
    return _of(order, found["field"] or found["differing"], found["below"] or found["where"] or "")


def _of(order: Order, field: str, below: str) -> str:
    if field == "domains":
        # Composed in another order than asked for, so their numbers mean nothing here.
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
    """The claim's field where its plan lets it set that; else the plan's."""
    mine = field in order.chosen.plan.allow.override
    return f"spec.{field}" if mine else order.chosen.path(field)
