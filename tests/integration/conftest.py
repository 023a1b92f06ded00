"""One world for all tests of this folder: API server, Crossplane core, emulator, function and provider, all
real."""

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import copies
from sandbox.manifests import Package
from sandbox.world import Options, World
from tests.integration.claims import Claims
from tests.integration.hostile import Team, Teams, roles

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache"))

FAST = 30
LEAVING = 300
"""How fast the clock runs after a test, when nothing is looked at any more and what is left of it goes."""
NUMBERS = itertools.count(1)

# They start the provider some hundred times. Its first start in a sandbox is an ordinary one.
os.environ.setdefault(copies.VARIABLE, "provider.main")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.world)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    name = f"test-{os.getpid()}"
    running = World.up(
        name=name,
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(core_flags=(events_per_second(FAST),)),
    )
    try:
        yield running
    finally:
        running.down()


@contextmanager
def leaving(world: World) -> Iterator[None]:
    """What is deleted meanwhile is disabled and rolled out in a moment."""
    world.emulator.set_rate(LEAVING)
    try:
        yield
    finally:
        world.emulator.set_rate(FAST)


@contextmanager
def core_with(world: World, *flags: str) -> Iterator[None]:
    """Core runs with other limits meanwhile."""
    world.processes.stop("crossplane")
    world.processes.start("crossplane", flags=flags)
    try:
        yield
    finally:
        world.processes.restart("crossplane")


def events_per_second(rate: int) -> str:
    """Core's limit of a composite's events at this rate of the clock. It is one a second by default, and goes
    by real time: a claim's life at a fast clock is too short for it."""
    return f"--circuit-breaker-refill-rate={rate}"


class Departing:
    """What takes minutes of real time to go. Other tests run meanwhile; in the end all of it must be gone."""

    def __init__(self) -> None:
        self._waits: list[Callable[[], object]] = []

    def add(self, wait: Callable[[], object]) -> None:
        self._waits.append(wait)

    def wait(self) -> None:
        while self._waits:
            self._waits.pop()()


@pytest.fixture(scope="session")
def departing(world: World) -> Iterator[Departing]:
    found = Departing()
    yield found
    found.wait()


@pytest.fixture(scope="module")
def user_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of the pages work."""
    folder = tmp_path_factory.mktemp("user")
    for name in ("examples", "package"):
        (folder / name).symlink_to(ROOT / name)
    keys = "aws_access_key_id = sandbox\naws_secret_access_key = sandbox\n"
    (folder / "aws-credentials.ini").write_text(f"[default]\n{keys}")
    return folder


@pytest.fixture
def kind_of_claims() -> type[Claims]:
    """Claims as the world of the module has them."""
    return Claims


@pytest.fixture
def claims(world: World, kind_of_claims: type[Claims], request: pytest.FixtureRequest) -> Iterator[Claims]:
    """Claims in a namespace of the test's own, deleted afterwards; the clock fast, no fault armed, the
    provider running."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    namespace = f"t{next(NUMBERS)}-{words[:30]}".rstrip("-")
    world.emulator.clear_faults()
    world.emulator.set_rate(FAST)
    made = kind_of_claims(world, namespace)
    try:
        yield made
    finally:
        world.emulator.clear_faults()
        world.processes.ensure_running("provider")
        with leaving(world):
            made.delete_all()


@pytest.fixture(scope="module")
def teams(world: World, request: pytest.FixtureRequest) -> Iterator[Teams]:
    """Two teams of a module's own: blue is attacked, red attacks."""
    word = request.module.__name__.rpartition("_")[2]
    world.emulator.set_rate(FAST)
    world.kubectl(
        "apply", "-f", "-", input="\n---\n".join(map(json.dumps, roles(Package.load(ROOT, legacy=False))))
    )
    made = Teams(Team(world, f"blue-{word}"), Team(world, f"red-{word}"))
    try:
        yield made
    finally:
        world.emulator.clear_faults()
        with leaving(world):
            for team in (made.red, made.blue):
                team.clear()
            for team in (made.red, made.blue):
                team.leave()
