"""Which packages a sandbox installs, and by which files."""

import pytest

from sandbox.packages.install import selection
from sandbox.state import Crossplane

WITH_PROCESS = {"provider-edgetenants": "provider.pkg", "function-edgetenants": "function.pkg"}


@pytest.mark.parametrize(
    ("crossplane", "legacy", "configuration", "own_files"),
    [
        (Crossplane.V2, False, "configuration-edgetenants", {"packages.yaml", "protect-packages.yaml"}),
        (
            Crossplane.V2,
            True,
            "configuration-edgetenants-legacy",
            {"packages-legacy.yaml", "activation-legacy.yaml"},
        ),
        (Crossplane.V1, False, "configuration-edgetenants-legacy", {"packages-legacy.yaml"}),
        (Crossplane.V1, True, "configuration-edgetenants-legacy", {"packages-legacy.yaml"}),
    ],
)
def test_the_claims_choose_the_configuration(crossplane, legacy, configuration, own_files):
    chosen = selection(crossplane, legacy=legacy)
    assert chosen.kinds == {configuration: "configuration.pkg", **WITH_PROCESS}
    shared = {"runtime-config.yaml", "plans.yaml", "claims-reader.yaml"}
    assert {file.name for file in chosen.files} == own_files | shared
    assert all(file.is_file() for file in chosen.files)
