"""How long the way is from a look at what is not there to CreateDistributionTenant, in files and calls.

    python -m tests.bench.way

Traces the creation of one tenant against CloudFront in memory, from `TenantClient.observe` to the call that
creates, and prints what a reader of that way passes: the files of `provider/`, how many functions are called
and return, how deep, and how often the files of `clients/` are entered. Comprehensions and lambdas do not
count, nor does what is not of the provider. Each run prints the same figures; docs/decisions/0028 keeps them.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import World

PROVIDER = Path(__file__).resolve().parents[2] / "provider"
CLIENTS = "cloudfront/clients/"


@dataclass
class Way:
    """What is passed until the goal is reached."""

    goal: str
    """The function that ends the way; it is not of the provider."""
    entered: Counter[str] = field(default_factory=Counter)
    """Calls of functions of each file."""
    from_another: Counter[str] = field(default_factory=Counter)
    """Those of them that come from another file."""
    returns: int = 0
    returns_to_another: int = 0
    """Those of them that lead back to another file."""
    deepest: int = 0
    reached: bool = False
    _stack: list[str | None] = field(default_factory=list)
    """The file of each call; None where that is not of the provider."""

    def event(self, frame: FrameType, what: str, _argument: object) -> None:
        """For sys.setprofile."""
        if self.reached or what not in ("call", "return"):
            return
        file = file_of(frame)
        if what == "return":
            self._return()
        elif file is None and frame.f_code.co_name == self.goal:
            self.reached = True
        else:
            self._call(file)

    @property
    def _here(self) -> str | None:
        return next((file for file in reversed(self._stack) if file), None)

    def _call(self, file: str | None) -> None:
        if file is not None:
            self.entered[file] += 1
            self.from_another[file] += file != self._here
        self._stack.append(file)
        self.deepest = max(self.deepest, sum(each is not None for each in self._stack))

    def _return(self) -> None:
        left = self._stack.pop() if self._stack else None
        if left is not None:
            self.returns += 1
            self.returns_to_another += self._here not in (None, left)


def file_of(frame: FrameType) -> str | None:
    """The file of a function of the provider, below provider/; None for everything else."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name.startswith("<") or not path.is_relative_to(PROVIDER):
        return None
    return str(path.relative_to(PROVIDER))


def to_creation() -> Way:
    """The way to the creation of one tenant that is asked for and not there."""
    world, way = World(cloudfront=FakeCloudFront()), Way("create_tenant")
    client, mr = world.client, world.mr
    before = sys.getprofile()
    sys.setprofile(way.event)
    try:
        client.create(mr, client.observe(mr))
    finally:
        sys.setprofile(before)
    if not way.reached:
        raise AssertionError("nothing was created")
    return way


def main() -> None:
    """Print the way."""
    way = to_creation()
    print(f"{len(way.entered)} files, {way.entered.total()} calls, {way.deepest} deep")
    print(f"{way.returns} returns, {way.returns_to_another} of them to another file")
    for file, times in sorted(way.entered.items()):
        if file.startswith(CLIENTS):
            print(f"{file}: entered {times} times, {way.from_another[file]} of them from another file")


if __name__ == "__main__":
    main()
