"""A composed tenant or connection group as the control plane has it: what the provider says of it, and what
it was asked for when it said so."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

from apis.conditions import TenantConditionType
from apis.dns import RecordPurpose, RecordState
from edgetenants_runtime.api.annotations import EXTERNAL_CREATE_SUCCEEDED, EXTERNAL_NAME
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from function import structs

_REMEMBERED = 2048
"""Tenants whose parsed form is kept; some 8 kB each."""
_CONDITIONS = 4096
"""Conditions whose parsed form is kept: of a tenant's six, one at a time changes."""
_READ_TYPES = frozenset({ConditionType.READY, ConditionType.SYNCED, *TenantConditionType})
_LARGEST = 64 * 1024
"""Bytes of a managed resource up to which anything of it is remembered. Some 200 domains have room in them;
whoever may write its status may make it a megabyte, and another one each second."""
_LONGEST_MESSAGE = 4096
"""Characters of a condition's message that are kept; a claim's messages have no more."""

_ASTRAY = frozenset({RecordState.MISSING, RecordState.WRONG})

ACTIVE = "active"
"""Status of a domain for which CloudFront answers."""


@dataclass(frozen=True)
class ObservedCondition:
    """One condition."""

    status: str = ConditionStatus.UNKNOWN
    reason: str = ""
    message: str = ""
    generation: int | None = None
    """The metadata.generation that it was told of; None where the provider does not say."""

    @property
    def holds(self) -> bool:
        """It is True."""
        return self.status == ConditionStatus.TRUE

    @property
    def denied(self) -> bool:
        """It is False."""
        return self.status == ConditionStatus.FALSE


UNTOLD = ObservedCondition()


@dataclass(frozen=True)
class Asked:
    """What the managed resource asks of CloudFront, as it stands in the control plane."""

    domains: frozenset[str] = frozenset()
    enabled: bool | None = None
    distribution_id: str = ""


@dataclass(frozen=True)
class ObservedTenant:
    """One DistributionTenant."""

    name: str
    """metadata.name, for messages."""
    external_name: str | None
    """What it carries; where somebody took that away, the name under which the provider saw it last."""
    exists: bool
    """It is in CloudFront, as far as is known: it has an id there, or its creation has succeeded, though the
    id is lost (a backup that was restored without status)."""
    deleted: bool
    """It is being deleted."""
    generation: int | None
    asked: Asked
    conditions: Mapping[str, ObservedCondition]
    enabled: bool | None = None
    """Whether CloudFront serves it."""
    domain_states: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    """Its id in CloudFront; empty where it is not known."""
    routing_endpoint: str = ""
    instructions: tuple[Mapping[str, Any], ...] = ()
    """The DNS records that somebody must make, sorted."""
    large: bool = field(default=False, compare=False)
    """So large that nothing that is derived from it is to be remembered."""

    __hash__ = object.__hash__
    # What was read once is one object, so a memory that is keyed by it need not look into it.

    def condition(self, type_: str) -> ObservedCondition:
        """What the provider says; Unknown where it says nothing."""
        return self.conditions.get(type_, UNTOLD)

    @property
    def ready(self) -> ObservedCondition:
        """Whether every domain is served."""
        return self.condition(ConditionType.READY)

    @property
    def synced(self) -> ObservedCondition:
        """Whether the provider gets on with it."""
        return self.condition(ConditionType.SYNCED)

    def told(self, condition: ObservedCondition) -> bool:
        """The condition was told of what is asked for now; also where the provider does not say of what."""
        told = condition.generation
        return told is None or self.generation is None or told >= self.generation

    @property
    def certificate(self) -> str | None:
        """The reason of CertificateReady."""
        return self.condition(TenantConditionType.CERTIFICATE_READY).reason or None

    @cached_property
    def active(self) -> frozenset[str]:
        """The domains for which CloudFront answers."""
        return frozenset(name for name, state in self.domain_states.items() if state == ACTIVE)

    @cached_property
    def unreached(self) -> frozenset[str]:
        """The active domains whose visitors DNS does not lead to CloudFront, as was looked up there."""
        lost = (each for each in self.instructions if each.get("state") in _ASTRAY)
        return self.active & {
            each.get("name") for each in lost if each.get("purpose") == RecordPurpose.ROUTING
        }


def read(resource: Struct) -> ObservedTenant:
    """Read a DistributionTenant; what is missing or of another type is taken for unknown.

    Of a claim's many tenants one at a time changes. The others are known by their bytes, which costs a tenth.
    """
    return _READ.get(resource)


class _Memory:
    """The tenants that were read last, by their bytes and by their names: most of what changes in a tenant is
    nothing that is read, and then it is still the same object."""

    def __init__(self, most: int) -> None:
        self._most = most
        # By a digest of them: whoever may write annotations and status may make them a megabyte.
        self._by_bytes: dict[bytes, ObservedTenant] = {}
        self._by_name: dict[tuple[str, str | None], ObservedTenant] = {}

    def get(self, resource: Struct) -> ObservedTenant:
        serialized = resource.SerializeToString(deterministic=True)
        if len(serialized) > _LARGEST:
            return replace(_parse(resource, _asked.__wrapped__), large=True)
        digest = hashlib.sha256(serialized).digest()
        known = self._by_bytes.get(digest)
        return known if known is not None else self._remember(digest, _parse(resource))

    def _remember(self, digest: bytes, fresh: ObservedTenant) -> ObservedTenant:
        # Calls on other threads may do the same meanwhile; the worst of it is that something is read again.
        for each in (self._by_bytes, self._by_name):
            if len(each) >= self._most:
                each.clear()
        key = (fresh.name, fresh.external_name)
        former = self._by_name.get(key)
        tenant = former if former == fresh else fresh
        self._by_bytes[digest] = self._by_name[key] = tenant
        return tenant


_READ = _Memory(_REMEMBERED)


def _parse(resource: Struct, asked: Callable[[bytes], Asked] | None = None) -> ObservedTenant:
    metadata, status = structs.child(resource, "metadata"), structs.child(resource, "status")
    annotations, at_provider = structs.child(metadata, "annotations"), structs.child(status, "atProvider")
    id_ = structs.text(at_provider, "id")
    created = id_ or structs.text(annotations, EXTERNAL_CREATE_SUCCEEDED)
    return ObservedTenant(
        name=structs.text(metadata, "name"),
        external_name=structs.text(annotations, EXTERNAL_NAME) or structs.text(at_provider, "name") or None,
        exists=bool(created),
        deleted=bool(structs.text(metadata, "deletionTimestamp")),
        generation=structs.whole_number(metadata, "generation"),
        asked=(asked or _asked)(structs.serialized(resource, "spec", "forProvider")),
        conditions=dict(
            _condition(each.SerializeToString(deterministic=True))
            for each in structs.objects(status, "conditions")
            if structs.text(each, "type") in _READ_TYPES
        ),
        enabled=structs.flag(at_provider, "enabled"),
        domain_states={
            structs.text(each, "domain"): structs.text(each, "status")
            for each in structs.objects(at_provider, "domains")
        },
        id=id_,
        routing_endpoint=structs.text(at_provider, "routingEndpoint"),
        instructions=_instructions(status),
    )


@lru_cache(maxsize=_REMEMBERED)
def _asked(serialized: bytes) -> Asked:
    parameters = Value.FromString(serialized).struct_value
    return Asked(
        domains=frozenset(structs.texts(parameters, "domains")),
        enabled=structs.flag(parameters, "enabled"),
        distribution_id=structs.text(parameters, "distributionId"),
    )


@lru_cache(maxsize=_CONDITIONS)
def _condition(serialized: bytes) -> tuple[str, ObservedCondition]:
    condition = Struct.FromString(serialized)
    return structs.text(condition, "type"), ObservedCondition(
        status=structs.text(condition, "status"),
        reason=structs.text(condition, "reason"),
        message=structs.text(condition, "message")[:_LONGEST_MESSAGE],
        generation=structs.whole_number(condition, "observedGeneration"),
    )


_INSTRUCTION_FIELDS = ("name", "purpose", "type", "value", "state")


def _instructions(status: Struct | None) -> tuple[Mapping[str, Any], ...]:
    found = [structs.text_map(each) for each in structs.objects(status, "dnsInstructions")]
    known = [{key: each[key] for key in _INSTRUCTION_FIELDS if key in each} for each in found]
    return tuple(sorted(known, key=lambda each: tuple(each.get(key, "") for key in _INSTRUCTION_FIELDS)))
