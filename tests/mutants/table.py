"""What a mutation is, and the tables by distribution. A new package's table is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.mutants.mutation import Mutation
from tests.mutants.provider_aws import PROVIDER_AWS
from tests.mutants.provider_defects import PROVIDER_DEFECTS
from tests.mutants.provider_faults import PROVIDER_FAULTS
from tests.mutants.provider_guards import PROVIDER_GUARDS
from tests.mutants.provider_ownership import PROVIDER_OWNERSHIP
from tests.mutants.provider_readings import PROVIDER_READINGS
from tests.mutants.runtime import RUNTIME
from tests.mutants.runtime_kubernetes import RUNTIME_KUBERNETES


@dataclass(frozen=True)
class Target:
    """A package whose mutations are tried."""

    root: str
    """The folder that holds the package and goes on the path."""
    package: str
    tests: str
    """Folder of its tests, which a mutation names its own below."""
    mutations: tuple[Mutation, ...]


TARGETS: Mapping[str, Target] = {
    "runtime": Target("runtime", "edgetenants_runtime", "runtime/tests", (*RUNTIME, *RUNTIME_KUBERNETES)),
    "provider": Target(
        ".",
        "provider",
        "tests",
        (
            *PROVIDER_AWS,
            *PROVIDER_DEFECTS,
            *PROVIDER_FAULTS,
            *PROVIDER_GUARDS,
            *PROVIDER_OWNERSHIP,
            *PROVIDER_READINGS,
        ),
    ),
}
