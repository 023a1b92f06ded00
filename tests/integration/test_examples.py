"""Every manifest of examples/ is accepted by the API server; what needs none is tested with the function."""

from pathlib import Path

import pytest

from sandbox.world import World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Crossplane's CLI reads it; it is no object that is applied.
NOT_APPLIED = {"render/functions.yaml"}
MANIFESTS = sorted(
    path
    for path in EXAMPLES.rglob("*.yaml")
    if path.relative_to(EXAMPLES).as_posix() not in NOT_APPLIED and path.name != "00-namespace.yaml"
)


@pytest.fixture(scope="module")
def shop(world: World) -> None:
    world.kubectl("apply", "-f", str(EXAMPLES / "quickstart" / "00-namespace.yaml"))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda p: p.relative_to(EXAMPLES).as_posix())
@pytest.mark.usefixtures("shop")
def test_the_api_server_accepts(world: World, manifest: Path) -> None:
    told = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(manifest))
    assert "(server dry run)" in told
