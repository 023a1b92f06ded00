"""The code path from observing a missing tenant to CreateDistributionTenant, in files and calls.

    python -m tests.bench.way

Traces the creation of one tenant against CloudFront in memory, from `TenantClient.observe` to the create
call, and prints the files of `provider/` on this path, the number of calls and returns, their depth, and how
often the files of `clients/` are entered. Comprehensions, lambdas and code outside the provider do not
count. Each run prints the same figures; docs/decisions/0028 records them.
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
    """The calls until the goal is reached."""

    goal: str
    """The function at the end of the path. It is outside the provider."""
    entered: Counter[str] = field(default_factory=Counter)
    """Calls of each file's functions."""
    from_another: Counter[str] = field(default_factory=Counter)
    """Calls of each file's functions from another file."""
    returns: int = 0
    returns_to_another: int = 0
    """Returns to another file."""
    deepest: int = 0
    reached: bool = False
    _stack: list[str | None] = field(default_factory=list)
    """The file of each active call; None for code outside the provider."""

    def event(self, frame: FrameType, what: str, _argument: object) -> None:
        """The callback for sys.setprofile."""
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
    """The path below provider/ of a function's file; None for other code."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name.startswith("<") or not path.is_relative_to(PROVIDER):
        return None
    return str(path.relative_to(PROVIDER))


def to_creation() -> Way:
    """Trace the creation of one desired tenant that does not exist."""
    world, way = World(cloudfront=FakeCloudFront()), Way("create_tenant")
    client, mr = world.client, world.mr
    before = sys.getprofile()
    sys.setprofile(way.event)
    try:
        client.create(mr, client.observe(mr))
    finally:
        sys.setprofile(before)
    if not way.reached:
        raise AssertionError("the provider created no tenant")
    return way


def main() -> None:
    """Print the figures."""
    way = to_creation()
    print(f"{len(way.entered)} files, {way.entered.total()} calls, {way.deepest} deep")
    print(f"{way.returns} returns, {way.returns_to_another} of them to another file")
    for file, times in sorted(way.entered.items()):
        if file.startswith(CLIENTS):
            print(f"{file}: entered {times} times, {way.from_another[file]} of them from another file")


if __name__ == "__main__":
    main()
