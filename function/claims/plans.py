"""The platform team's plans, and the one that a claim uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct

from apis import tenantplans
from apis.conditions import LiveReason
from apis.errors import InvalidInput, Problem, shown
from apis.tenantplans import Plan, PlanSource
from function.errors import Refused
from function.protocol import structs
from function.protocol.remembered import Parsed

DEFAULT_TTL: Final = 3600.0
"""Seconds; the default of `ttl` in the function's input."""
SOURCES_TTL: Final = 600.0
"""The default with plansFrom: Crossplane before v2.4 does not watch the resources that a function requires,
and calls it again only after this time."""


@dataclass(frozen=True)
class Offer:
    """One plan with its source."""

    plan: Plan
    source: str = ""
    """Kind and name of the source; empty for the function's input."""


@dataclass(frozen=True, eq=False)
class Plans:
    """All plans of the platform team."""

    sound: Mapping[str, Offer]
    broken: Mapping[str, str]
    """The invalid plans, by name: what is wrong with each."""
    default: str | None
    """The plan of claims that name none."""
    ttl: float
    """How long Crossplane may reuse a response, in seconds."""
    sources: tuple[PlanSource, ...] = ()
    """The sources of further plans."""
    flaws: tuple[str, ...] = ()
    """What is wrong with the sources themselves."""
    input: bytes = b""
    """The function's input from which they were read, serialized, without the sources."""

    @property
    def names(self) -> list[str]:
        """The names of all plans. Includes invalid ones, because they exist and will be corrected."""
        return sorted({*self.sound, *self.broken})

    def with_sources(self, sources: Iterable[tuple[str, Any]]) -> "Plans":
        """These plans and those of the sources, each a name and its `plans`. Of plans with the same name, the
        last one is used."""
        sound, broken, flaws = dict(self.sound), dict(self.broken), []
        for name, value in sources:
            where = f"{name}: data."
            try:
                read_, wrong = tenantplans.salvage({"plans": value})
            except InvalidInput as error:
                flaws.append(f"{where}{error}")
                continue
            for plan in (*read_.plans, *wrong):
                sound.pop(plan, None)
                broken.pop(plan, None)
            sound |= {plan: Offer(each, name) for plan, each in read_.plans.items()}
            broken |= {plan: f"{where}{each}" for plan, each in wrong.items()}
        return replace(self, sound=sound, broken=broken, flaws=tuple(flaws))


@dataclass(frozen=True)
class ChosenPlan:
    """The plan of one claim."""

    name: str
    plan: Plan
    source: str = ""
    """Kind and name of its source; empty for the function's input."""

    @property
    def whole(self) -> str:
        """The path of the plan."""
        return f"{self.source}: data.plans.{self.name}" if self.source else f"plans.{self.name}"

    def path(self, field: str) -> str:
        """The path of a field of the plan, in the function's input or in the plan's source."""
        return f"{self.whole}.{field}"


def read(input_: Struct) -> Plans:
    """Read the function's input. An invalid plan affects only the claims that use it.

    Raises:
        Refused: with reason PlanInvalid, if another part of it is invalid.
    """
    serialized = input_.SerializeToString(deterministic=True)
    try:
        return PARSED.get((serialized,), lambda: _parse(serialized))
    except InvalidInput as error:
        raise Refused(LiveReason.PLAN_INVALID, f"The function's input: {error}") from None


PARSED: Final[Parsed[Plans]] = Parsed()
"""Parsed plans, by the function's input and the contents of the sources from which they were read."""


def _parse(input_: bytes) -> Plans:
    sound, broken = tenantplans.salvage(_whole(structs.plain_object(Struct.FromString(input_))))
    said = "ttl" in sound.model_fields_set
    return Plans(
        sound={name: Offer(plan) for name, plan in sound.plans.items()},
        broken={name: str(error) for name, error in broken.items()},
        default=sound.default_plan,
        ttl=tenantplans.seconds(sound.ttl) if said or not sound.plans_from else SOURCES_TTL,
        sources=sound.plans_from or (),
        input=input_,
    )


def _whole(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("kind") == tenantplans.KIND and value.get("apiVersion") == tenantplans.API_VERSION:
        return value
    got = f"{value.get('apiVersion')}, {value.get('kind')}" if value else "nothing"
    raise InvalidInput((Problem("", f"{tenantplans.API_VERSION}, {tenantplans.KIND}", got),))


def choose(plans: Plans, asked: str | None) -> ChosenPlan:
    """The plan that a claim names, or the default plan.

    Raises:
        Refused: with reason PlanNotFound and the existing plans, or with reason PlanInvalid and what is wrong
            with the plan.
    """
    name = asked or plans.default
    if asked is None and name is not None and name not in plans.names:
        missing = replace(_one_of(plans, name), path="defaultPlan")
        raise Refused(LiveReason.PLAN_INVALID, "; ".join((f"The function's input: {missing}", *plans.flaws)))
    if name is None:
        missing = _one_of(plans, None)
        text = f"{missing}; there is no default plan (defaultPlan)"
        raise Refused(LiveReason.PLAN_NOT_FOUND, text, problems=(missing,))
    if name in plans.broken:
        message = f"Plan {name} is invalid; the platform team must correct it: {plans.broken[name]}"
        raise Refused(LiveReason.PLAN_INVALID, message)
    if name not in plans.sound:
        missing = _one_of(plans, name)
        text = "; ".join((str(missing), *plans.flaws))
        raise Refused(LiveReason.PLAN_NOT_FOUND, text, problems=(missing,))
    offer = plans.sound[name]
    return ChosenPlan(name, offer.plan, offer.source)


def _one_of(plans: Plans, name: str | None) -> Problem:
    expected = f"one of {', '.join(plans.names)}" if plans.names else "a plan, but there is none"
    return Problem("spec.plan", expected, "nothing" if name is None else shown(name))
