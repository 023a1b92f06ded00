"""A submitted configuration of a distribution, as input for the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.world import World

__all__ = ["Config", "Submitted", "items", "texts"]

Config = Mapping[str, Any]


def items(structure: Config | None) -> list[Any]:
    """The Items of AWS's `{"Quantity", "Items"}`; empty if the structure is missing."""
    return list((structure or {}).get("Items") or ())


@dataclass(frozen=True)
class Submitted:
    """A completed config, and the account that sends it."""

    world: World
    account: str
    config: Config
    updated_id: str | None = None
    """The id of the distribution to update; None for a new one."""

    @property
    def tenant_only(self) -> bool:
        """Whether it belongs to a multi-tenant distribution."""
        return bool(self.config["ConnectionMode"] == "tenant-only")

    @property
    def behaviors(self) -> list[Config]:
        """The default cache behavior and the others."""
        return [self.config["DefaultCacheBehavior"], *items(self.config.get("CacheBehaviors"))]

    @property
    def origins(self) -> list[Config]:
        """The origins."""
        return items(self.config["Origins"])

    def others(self, fits: Callable[[Config], bool]) -> int:
        """How many of the account's other distributions have a matching config."""
        own = self.world.distributions.of(self.account)
        return sum(each.id != self.updated_id and fits(each.config) for each in own)

    def illegal(self, message: str) -> AwsError:
        """The error for an invalid config: IllegalUpdate for an update, or else InvalidArgument."""
        code = ErrorCode.ILLEGAL_UPDATE if self.updated_id else ErrorCode.INVALID_ARGUMENT
        return AwsError(code, message)


def texts(value: Any) -> Iterator[str]:
    """Every string inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inside in value.values():
            yield from texts(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from texts(inside)
