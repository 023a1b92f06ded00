"""The plans that a platform team offers, and the one that a claim uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct

from apis import tenantplans
from apis.conditions import LiveReason
from apis.errors import InvalidInput, Problem, shown
from apis.tenantplans import Plan, PlanSource
from function import structs
from function.errors import Refused
from function.remembered import Parsed

DEFAULT_TTL: Final = 3600.0
"""Seconds; what an input says that names no `ttl`."""
SOURCES_TTL: Final = 600.0
"""The same where plans are read from elsewhere too: cores before v2.4 do not watch what a function requires,
and call it again only then."""


@dataclass(frozen=True)
class Offer:
    """One plan."""

    plan: Plan
    where: str
    """Where its source stands: "", or the source's name and a colon."""


@dataclass(frozen=True, eq=False)
class Plans:
    """What the platform team offers."""

    sound: Mapping[str, Offer]
    broken: Mapping[str, str]
    """What is wrong with the plans that cannot be used, by name."""
    default: str | None
    """The plan of claims that name none."""
    ttl: float
    """How long an answer may be reused, in seconds."""
    sources: tuple[PlanSource, ...] = ()
    """Where further plans come from."""
    flaws: tuple[str, ...] = ()
    """What is wrong with the sources themselves."""
    input: bytes = b""
    """What they were read from, without sources: the function's input, serialized."""

    @property
    def names(self) -> list[str]:
        """The names of all plans, broken ones too: they are there and will be mended."""
        return sorted({*self.sound, *self.broken})

    def with_sources(self, sources: Iterable[tuple[str, Any]]) -> "Plans":
        """These plans and those of the sources, each a name and its `plans`; of a name the last is used."""
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
            sound |= {plan: Offer(each, where) for plan, each in read_.plans.items()}
            broken |= {plan: f"{where}{each}" for plan, each in wrong.items()}
        return replace(self, sound=sound, broken=broken, flaws=tuple(flaws))


@dataclass(frozen=True)
class ChosenPlan:
    """The plan of one claim."""

    name: str
    plan: Plan
    where: str = ""

    @property
    def whole(self) -> str:
        """Where the plan stands."""
        return f"{self.where}plans.{self.name}"

    def path(self, field: str) -> str:
        """Where a field of the plan stands in the function's input, or in the source that it is from."""
        return f"{self.whole}.{field}"


def read(input_: Struct) -> Plans:
    """Read the function's input; broken plans harm nobody but the claims that use them.

    Raises:
        Refused: with reason PlanInvalid, when something else is wrong with it.
    """
    serialized = input_.SerializeToString(deterministic=True)
    try:
        return PARSED.get((serialized,), lambda: _parse(serialized))
    except InvalidInput as error:
        raise Refused(LiveReason.PLAN_INVALID, f"The function's input: {error}") from None


PARSED: Final[Parsed[Plans]] = Parsed()
"""Plans by what they were read from: the function's input, and with it the contents of sources."""


def _parse(input_: bytes) -> Plans:
    sound, broken = tenantplans.salvage(_whole(structs.plain_object(Struct.FromString(input_))))
    said = "ttl" in sound.model_fields_set
    return Plans(
        sound={name: Offer(plan, "") for name, plan in sound.plans.items()},
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
    """The plan that a claim names, else the default one.

    Raises:
        Refused: with reason PlanNotFound and the plans that there are, or with reason PlanInvalid and what is
            wrong with the plan.
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
        raise Refused(LiveReason.PLAN_INVALID, f"The platform's plan {name} is broken: {plans.broken[name]}")
    if name not in plans.sound:
        missing = _one_of(plans, name)
        text = "; ".join((str(missing), *plans.flaws))
        raise Refused(LiveReason.PLAN_NOT_FOUND, text, problems=(missing,))
    offer = plans.sound[name]
    return ChosenPlan(name, offer.plan, offer.where)


def _one_of(plans: Plans, name: str | None) -> Problem:
    expected = f"one of {', '.join(plans.names)}" if plans.names else "a plan, but there is none"
    return Problem("spec.plan", expected, "nothing" if name is None else shown(name))
