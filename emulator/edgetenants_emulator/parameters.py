"""A tenant's parameters against the definitions of its distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.records import Distribution

__all__ = ["as_list", "as_map", "check", "check_definitions"]


def as_map(given: Sequence[Mapping[str, str]], limit: int) -> dict[str, str]:
    """Name and value of each.

    Raises AwsError InvalidArgument for a name given twice, EntityLimitExceeded for more than `limit`.
    """
    found = {parameter["Name"]: parameter["Value"] for parameter in given}
    if len(found) < len(given):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The list of parameters contains a name more than once.")
    if len(found) > limit:
        message = f"Your request exceeds the limit of {limit} parameters for a distribution tenant."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
    return found


def as_list(parameters: Mapping[str, str]) -> list[dict[str, str]]:
    """As the API has them."""
    return [{"Name": name, "Value": value} for name, value in parameters.items()]


def check(parent: Distribution, parameters: Mapping[str, str], *, unknown_refused: bool = True) -> None:
    """Let parameters pass that are defined, unless they need not be, with none missing that is required.

    AWS does not publish the error; InvalidArgument is the declared one that fits. Raises AwsError with it.
    """
    required = {d["Name"]: _schema(d).get("Required", False) for d in parent.parameter_definitions}
    unknown = sorted(set(parameters) - set(required))
    missing = sorted(name for name, needed in required.items() if needed and name not in parameters)
    if unknown and unknown_refused:
        message = f"The distribution {parent.id} does not define the parameters: {', '.join(unknown)}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if missing:
        message = f"The distribution {parent.id} requires values for the parameters: {', '.join(missing)}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)


def check_definitions(definitions: Sequence[Mapping[str, Any]], limit: int) -> None:
    """Let a distribution's definitions pass. Raises AwsError InvalidArgument or EntityLimitExceeded."""
    names = [definition["Name"] for definition in definitions]
    if len(set(names)) < len(names):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "A parameter is defined more than once.")
    if len(names) > limit:
        message = f"Your request exceeds the limit of {limit} parameters for a distribution."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)


def _schema(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = definition.get("Definition", {}).get("StringSchema", {})
    return schema
