"""The tables of mutations by distribution. Import a new package's table here."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.mutants.cli_contract import CLI_CONTRACT, CLI_CONTRACT_OF_APIS, CLI_CONTRACT_OF_FUNCTION
from tests.mutants.function_contract import APIS_CONTRACT, FUNCTION_CONTRACT
from tests.mutants.function_domains import FUNCTION_DOMAINS
from tests.mutants.function_moves import FUNCTION_MOVES
from tests.mutants.function_names import FUNCTION_NAMES
from tests.mutants.function_ports import FUNCTION_PORTS
from tests.mutants.function_speed import APIS_SPEED, FUNCTION_SPEED
from tests.mutants.mutation import Mutation
from tests.mutants.provider_admission import PROVIDER_ADMISSION
from tests.mutants.provider_aws import PROVIDER_AWS
from tests.mutants.provider_defects import PROVIDER_DEFECTS
from tests.mutants.provider_deletions import PROVIDER_DELETIONS
from tests.mutants.provider_dns import PROVIDER_DNS
from tests.mutants.provider_dns_clouds import PROVIDER_DNS_CLOUDS
from tests.mutants.provider_dns_hostile import PROVIDER_DNS_HOSTILE
from tests.mutants.provider_dns_servers import PROVIDER_DNS_SERVERS
from tests.mutants.provider_domain_proofs import FUNCTION_DOMAIN_PROOFS, PROVIDER_DOMAIN_PROOFS
from tests.mutants.provider_edits import PROVIDER_EDITS
from tests.mutants.provider_endpoints import PROVIDER_ENDPOINTS
from tests.mutants.provider_faults import PROVIDER_FAULTS
from tests.mutants.provider_following import PROVIDER_FOLLOWING
from tests.mutants.provider_group_safety import PROVIDER_GROUP_SAFETY
from tests.mutants.provider_guards import PROVIDER_GUARDS
from tests.mutants.provider_held_domains import PROVIDER_HELD_DOMAINS
from tests.mutants.provider_leftovers import FUNCTION_LEFTOVERS, PROVIDER_LEFTOVERS
from tests.mutants.provider_losses import PROVIDER_LOSSES
from tests.mutants.provider_memory import PROVIDER_MEMORY
from tests.mutants.provider_messages import PROVIDER_MESSAGES
from tests.mutants.provider_moved_records import PROVIDER_MOVED_RECORDS
from tests.mutants.provider_owner_proof import PROVIDER_OWNER_PROOF
from tests.mutants.provider_ownership import PROVIDER_OWNERSHIP
from tests.mutants.provider_parts import PROVIDER_PARTS
from tests.mutants.provider_plan import PROVIDER_PLAN
from tests.mutants.provider_public_dns import PROVIDER_PUBLIC_DNS
from tests.mutants.provider_quota import PROVIDER_QUOTA
from tests.mutants.provider_readings import PROVIDER_READINGS
from tests.mutants.provider_slots import PROVIDER_SLOTS
from tests.mutants.provider_successors import FUNCTION_SUCCESSORS, PROVIDER_SUCCESSORS
from tests.mutants.provider_sweep import PROVIDER_SWEEP
from tests.mutants.runtime import RUNTIME
from tests.mutants.runtime_admission import RUNTIME_ADMISSION
from tests.mutants.runtime_bounds import RUNTIME_BOUNDS
from tests.mutants.runtime_contract import RUNTIME_CONTRACT
from tests.mutants.runtime_events import RUNTIME_EVENTS
from tests.mutants.runtime_kubernetes import RUNTIME_KUBERNETES
from tests.mutants.runtime_leftovers import RUNTIME_LEFTOVERS
from tests.mutants.runtime_memory import RUNTIME_MEMORY
from tests.mutants.runtime_pages import RUNTIME_PAGES
from tests.mutants.runtime_priorities import RUNTIME_PRIORITIES
from tests.mutants.shards import PROVIDER_SHARDS, RUNTIME_EDITED_LEASES, RUNTIME_SHARDS
from tests.mutants.sources import SOURCES
from tests.mutants.sources_availability import SOURCES_AVAILABILITY
from tests.mutants.sources_databases import SOURCES_DATABASES
from tests.mutants.sources_removals import REMOVING


@dataclass(frozen=True)
class Target:
    """A package with mutations."""

    root: str
    """The folder that contains the package and is added to the path."""
    package: str
    tests: str
    """The folder of its tests. The tests of a mutation are relative to it."""
    mutations: tuple[Mutation, ...]
    beside: tuple[str, ...] = ()
    """Modules that its tests import and that do not import the package."""


_APIS = ("apis.kinds", "apis.tenantclaim", "apis.distributiontenant", "apis.connectiongroup")
_RUNTIME = ("edgetenants_runtime.testing",)
_EMULATOR = (
    "edgetenants_emulator.server",
    "edgetenants_emulator.certificates.acm",
    "tests.contract.ministack",
)

TARGETS: Mapping[str, Target] = {
    "runtime": Target(
        "runtime",
        "edgetenants_runtime",
        "runtime/tests",
        (
            *RUNTIME,
            *RUNTIME_ADMISSION,
            *RUNTIME_BOUNDS,
            *RUNTIME_CONTRACT,
            *RUNTIME_KUBERNETES,
            *RUNTIME_LEFTOVERS,
            *RUNTIME_EVENTS,
            *RUNTIME_MEMORY,
            *RUNTIME_PAGES,
            *RUNTIME_PRIORITIES,
            *RUNTIME_SHARDS,
            *RUNTIME_EDITED_LEASES,
        ),
    ),
    "provider": Target(
        ".",
        "provider",
        "tests",
        (
            *PROVIDER_ADMISSION,
            *PROVIDER_AWS,
            *PROVIDER_DEFECTS,
            *PROVIDER_DELETIONS,
            *PROVIDER_DNS,
            *PROVIDER_DOMAIN_PROOFS,
            *PROVIDER_DNS_HOSTILE,
            *PROVIDER_DNS_SERVERS,
            *PROVIDER_DNS_CLOUDS,
            *PROVIDER_EDITS,
            *PROVIDER_ENDPOINTS,
            *PROVIDER_FAULTS,
            *PROVIDER_FOLLOWING,
            *PROVIDER_GROUP_SAFETY,
            *PROVIDER_GUARDS,
            *PROVIDER_HELD_DOMAINS,
            *PROVIDER_LEFTOVERS,
            *PROVIDER_LOSSES,
            *PROVIDER_MEMORY,
            *PROVIDER_MOVED_RECORDS,
            *PROVIDER_MESSAGES,
            *PROVIDER_OWNER_PROOF,
            *PROVIDER_OWNERSHIP,
            *PROVIDER_PARTS,
            *PROVIDER_PLAN,
            *PROVIDER_PUBLIC_DNS,
            *PROVIDER_QUOTA,
            *PROVIDER_READINGS,
            *PROVIDER_SHARDS,
            *PROVIDER_SLOTS,
            *PROVIDER_SUCCESSORS,
            *PROVIDER_SWEEP,
        ),
        beside=(*_APIS, *_RUNTIME, *_EMULATOR),
    ),
    "sources": Target(
        ".",
        "sources",
        "tests",
        (*SOURCES, *SOURCES_AVAILABILITY, *SOURCES_DATABASES, *REMOVING),
        beside=(*_APIS, *_RUNTIME),
    ),
    "function": Target(
        ".",
        "function",
        "tests",
        (
            *FUNCTION_CONTRACT,
            *FUNCTION_DOMAINS,
            *FUNCTION_DOMAIN_PROOFS,
            *FUNCTION_MOVES,
            *FUNCTION_NAMES,
            *FUNCTION_LEFTOVERS,
            *FUNCTION_PORTS,
            *FUNCTION_SPEED,
            *FUNCTION_SUCCESSORS,
            *CLI_CONTRACT_OF_FUNCTION,
        ),
        beside=_APIS,
    ),
    "cli": Target(".", "cli", "tests", CLI_CONTRACT, beside=(*_APIS, *_RUNTIME, *_EMULATOR)),
    "apis": Target(".", "apis", "tests", (*APIS_CONTRACT, *APIS_SPEED, *CLI_CONTRACT_OF_APIS)),
}
