"""Checks a tenant's parameters against the definitions of its distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.settings import ACCEPTED
from edgetenants_emulator.state.records import Distribution
from edgetenants_emulator.state.world import World

__all__ = ["as_list", "as_map", "check", "check_change", "check_definitions"]


def as_map(given: Sequence[Mapping[str, str]], limit: int) -> dict[str, str]:
    """The parameters by name.

    Raises AwsError InvalidArgument for a duplicate name, EntityLimitExceeded for more than `limit`
    parameters.
    """
    found = {parameter["Name"]: parameter["Value"] for parameter in given}
    if len(found) < len(given):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The list of parameters contains a name more than once.")
    if len(found) > limit:
        message = f"Your request exceeds the limit of {limit} parameters for a distribution tenant."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
    return found


def as_list(parameters: Mapping[str, str]) -> list[dict[str, str]]:
    """The parameters in the API's format."""
    return [{"Name": name, "Value": value} for name, value in parameters.items()]


def check(world: World, parent: Distribution, parameters: Mapping[str, str]) -> None:
    """Check that all parameters are defined, unless the settings allow others, and that none is missing.

    AWS does not document the error; InvalidArgument is the best match of the declared ones. Raises AwsError.
    """
    required = {d["Name"]: _schema(d).get("Required", False) for d in parent.parameter_definitions}
    unknown = sorted(set(parameters) - set(required))
    missing = sorted(name for name, needed in required.items() if needed and name not in parameters)
    if unknown and world.settings.unknown_parameters_refused:
        message = f"The distribution {parent.id} does not define the parameters: {', '.join(unknown)}."
        raise AwsError(world.settings.parameter_error, message)
    if missing:
        message = f"The distribution {parent.id} requires values for the parameters: {', '.join(missing)}."
        raise AwsError(world.settings.parameter_error, message)


def check_change(world: World, parent: Distribution, config: Mapping[str, Any]) -> None:
    """Check a distribution's new configuration: if the settings say so, refuse it if it requires a parameter
    that some tenant does not set. Raises AwsError.
    """
    if world.settings.required_parameter_added == ACCEPTED:
        return
    required = _required(replace(parent, config=dict(config)))
    own = [each for each in world.tenants.of(parent.account) if each.distribution_id == parent.id]
    missing = sorted({name for each in own for name in required if name not in each.parameters})
    if missing:
        message = f"Some tenants of the distribution {parent.id} have no {', '.join(missing)}."
        raise AwsError(world.settings.required_parameter_added, message)


def _required(parent: Distribution) -> list[str]:
    return [d["Name"] for d in parent.parameter_definitions if _schema(d).get("Required", False)]


def check_definitions(definitions: Sequence[Mapping[str, Any]], limit: int) -> None:
    """Check a distribution's definitions. Raises AwsError InvalidArgument or EntityLimitExceeded."""
    names = [definition["Name"] for definition in definitions]
    if len(set(names)) < len(names):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "A parameter is defined more than once.")
    if len(names) > limit:
        message = f"Your request exceeds the limit of {limit} parameters for a distribution."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)


def _schema(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = definition.get("Definition", {}).get("StringSchema", {})
    return schema
