"""Plans from EnvironmentConfigs, which Crossplane reads for the function."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Value

from apis.conditions import LiveReason
from apis.tenantplans import PlanSource
from function.claims.plans import PARSED, Plans
from function.errors import Refused
from function.protocol import requirements, structs

API_VERSION: Final = "apiextensions.crossplane.io/v1beta1"
KIND: Final = "EnvironmentConfig"


def require(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, offered: Plans) -> None:
    """Require the sources that the input names."""
    for name, source in _named(offered):
        selector = fnv1.ResourceSelector(api_version=API_VERSION, kind=KIND)
        if source.environment_config.name is not None:
            selector.match_name = source.environment_config.name
        else:
            selector.match_labels.labels.update(source.environment_config.match_labels or {})
        requirements.require(req, rsp, name, selector)


def gather(req: fnv1.RunFunctionRequest, offered: Plans) -> Plans | None:
    """The plans including those of the sources; None if Crossplane has not read the sources yet.

    Raises:
        Refused: with reason Blocked, if a source names an EnvironmentConfig that does not exist. It might
            contain the claim's plan, and changes by another plan may be irreversible.
    """
    found: list[tuple[str, bytes]] = []
    for name, source in _named(offered):
        answer = requirements.answer(req, name)
        if answer is None:
            return None
        wanted = source.environment_config.name
        if wanted is not None and not answer.items:
            raise Refused(
                LiveReason.BLOCKED,
                f"plansFrom: EnvironmentConfig {wanted} does not exist, or Crossplane cannot read it. "
                "Nothing changes until Crossplane can read it.",
            )
        found.extend(sorted(_contents(answer)))
    if not found:
        return offered
    parts = (offered.input, *(part for name, plans in found for part in (name.encode(), plans)))
    return PARSED.get(parts, lambda: _joined(offered, found))


def _named(offered: Plans) -> Iterator[tuple[str, PlanSource]]:
    for number, source in enumerate(offered.sources):
        yield f"plans-{number}", source


def _contents(answer: fnv1.Resources) -> Iterator[tuple[str, bytes]]:
    for item in answer.items:
        plans = structs.value(item.resource, "data", "plans") or Value()
        name = structs.text(item.resource, "metadata", "name")
        yield f"{KIND} {name}", plans.SerializeToString(deterministic=True)


def _joined(offered: Plans, found: Iterable[tuple[str, bytes]]) -> Plans:
    return offered.with_sources((name, _plain(plans)) for name, plans in found)


def _plain(plans: bytes) -> Any:
    return structs.plain(Value.FromString(plans))
