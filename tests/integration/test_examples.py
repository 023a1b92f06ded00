"""Every manifest of examples/ is accepted by the API server; what needs none is tested with the function."""

from pathlib import Path

import pytest

from sandbox.world import World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Crossplane's CLI reads the first and writes the second; the others are of kinds that this world has not.
NOT_APPLIED = (
    "**/functions.yaml",
    "**/expected*.yaml",
    "legacy-claim/*",
    "own-composition/xr.yaml",
    "provider/provider-config.yaml",
)
MANIFESTS = sorted(
    path
    for path in EXAMPLES.rglob("*.yaml")
    if not any(path in EXAMPLES.glob(pattern) for pattern in NOT_APPLIED) and path.name != "00-namespace.yaml"
)


@pytest.fixture(scope="module")
def shop(world: World) -> None:
    world.kubectl("apply", "-f", str(EXAMPLES / "quickstart" / "00-namespace.yaml"))
    world.kubectl("apply", "-f", str(EXAMPLES.parent / "package" / "crds-sources"))
    world.kubectl("wait", "crd/tenantsources.platform.edgetenants.io", "--for=condition=Established")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda p: p.relative_to(EXAMPLES).as_posix())
@pytest.mark.usefixtures("shop")
def test_the_api_server_accepts(world: World, manifest: Path) -> None:
    told = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(manifest))
    assert "(server dry run)" in told
