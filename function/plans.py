"""The plans of the function's input, and the one that a claim uses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct

from apis import tenantplans
from apis.conditions import LiveReason
from apis.errors import InvalidInput, Problem, shown
from apis.tenantplans import Plan, TenantPlans
from function import structs
from function.errors import Refused

DEFAULT_TTL: Final = 3600.0
"""Seconds; what an input says that names no `ttl`."""

_UNITS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, eq=False)
class Plans:
    """What the platform team offers. Equal inputs give one and the same."""

    sound: TenantPlans
    broken: Mapping[str, InvalidInput]
    """What is wrong with the plans that cannot be used, by name."""

    @property
    def names(self) -> list[str]:
        """The names of all plans, broken ones too: they are there and will be mended."""
        return sorted({*self.sound.plans, *self.broken})

    @property
    def ttl(self) -> float:
        """How long an answer may be reused, in seconds."""
        return seconds(self.sound.ttl)


@dataclass(frozen=True)
class ChosenPlan:
    """The plan of one claim."""

    name: str
    plan: Plan

    def path(self, field: str) -> str:
        """Where a field of the plan stands in the function's input."""
        return f"plans.{self.name}.{field}"


def seconds(duration: str) -> float:
    """A Go duration such as 1h30m in seconds."""
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall("([0-9]+)(ms|s|m|h)", duration))


def read(input_: Struct) -> Plans:
    """Read the function's input; broken plans harm nobody but the claims that use them.

    Raises:
        Refused: with reason PlanInvalid, when something else is wrong with it.
    """
    try:
        return _parse(input_.SerializeToString(deterministic=True))
    except InvalidInput as error:
        raise Refused(LiveReason.PLAN_INVALID, f"The function's input: {error}") from None


@lru_cache(maxsize=32)
def _parse(input_: bytes) -> Plans:
    plans = Plans(*tenantplans.salvage(_whole(structs.plain_object(Struct.FromString(input_)))))
    if plans.sound.plans_from:
        raise InvalidInput(
            (Problem("plansFrom", "nothing, as plans are read from `plans` alone", "sources of plans"),)
        )
    return plans


def _whole(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("kind") == tenantplans.KIND and value.get("apiVersion") == tenantplans.API_VERSION:
        return value
    got = f"{value.get('apiVersion')}, {value.get('kind')}" if value else "nothing"
    raise InvalidInput((Problem("input", f"{tenantplans.API_VERSION}, {tenantplans.KIND}", got),))


def choose(plans: Plans, asked: str | None) -> ChosenPlan:
    """The plan that a claim names, else the default one.

    Raises:
        Refused: with reason PlanNotFound and the plans that there are, or with reason PlanInvalid and what is
            wrong with the plan.
    """
    name = asked or plans.sound.default_plan
    if name is None:
        raise Refused(
            LiveReason.PLAN_NOT_FOUND, f"{_one_of(plans, None)}; there is no default plan (defaultPlan)"
        )
    if name in plans.broken:
        raise Refused(LiveReason.PLAN_INVALID, f"The platform's plan {name} is broken: {plans.broken[name]}")
    if name not in plans.sound.plans:
        raise Refused(LiveReason.PLAN_NOT_FOUND, _one_of(plans, name))
    return ChosenPlan(name, plans.sound.plans[name])


def _one_of(plans: Plans, name: str | None) -> str:
    expected = f"one of {', '.join(plans.names)}" if plans.names else "a plan, but there is none"
    return str(Problem("spec.plan", expected, "nothing" if name is None else shown(name)))
