"""A composed tenant or connection group as observed in the control plane: the conditions and status that the
provider set, and the spec."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from google.protobuf.struct_pb2 import Struct

from apis.conditions import TenantConditionType, TenantReadyReason
from apis.dns import RecordPurpose, RecordState
from edgetenants_runtime.api.annotations import (
    EXTERNAL_CREATE_FAILED,
    EXTERNAL_CREATE_PENDING,
    EXTERNAL_CREATE_SUCCEEDED,
    EXTERNAL_NAME,
)
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from function.composed.naming import ENDING_LENGTH
from function.protocol import structs

_READ_TYPES = frozenset({ConditionType.READY, ConditionType.SYNCED, *TenantConditionType})
_LONGEST_MESSAGE = 4096
"""Characters of a condition's message that are kept; a claim's messages cannot be longer."""

_ASTRAY = frozenset({RecordState.MISSING, RecordState.WRONG})

PLAN = "edgetenants.io/plan"
"""Annotation: the plan under which the function composed the tenant, and where it was from."""
REPLACING = "edgetenants.io/replacing"
"""Annotation: the tenant replaces tenants of the claim that served its domains. The function sets it until
the tenant exists in CloudFront."""
ACTIVE = "active"
"""Status of a domain that CloudFront serves."""


class ObservedCondition(NamedTuple):
    """One condition."""

    status: str = ConditionStatus.UNKNOWN
    reason: str = ""
    message: str = ""
    generation: int | None = None
    """The metadata.generation for which the provider set it; None if the provider does not record it."""

    @property
    def holds(self) -> bool:
        """Whether it is True."""
        return self.status == ConditionStatus.TRUE

    @property
    def denied(self) -> bool:
        """Whether it is False."""
        return self.status == ConditionStatus.FALSE


UNTOLD = ObservedCondition()


@dataclass(frozen=True)
class Asked:
    """The desired state in the managed resource's spec, as observed in the control plane."""

    domains: frozenset[str] = frozenset()
    enabled: bool | None = None
    distribution_id: str = ""
    own_group: bool = False
    """Whether it is in the claim's own connection group."""
    config: tuple[str, str] = ("", "")
    """Kind and name of its provider config. The kind is empty in a cluster-scoped resource."""


@dataclass(frozen=True)
class ObservedTenant:
    """One observed DistributionTenant."""

    name: str
    """metadata.name, for messages."""
    uid: str
    """metadata.uid."""
    external_name: str | None
    """Its external-name annotation; if that was removed, the name under which the provider last observed
    it."""
    exists: bool
    """Whether it is in CloudFront, as far as the object shows: it has an id there, or its creation succeeded
    and the id is lost (a backup that was restored without status)."""
    deleted: bool
    """Whether it is being deleted."""
    generation: int | None
    asked: Asked
    conditions: Mapping[str, ObservedCondition]
    enabled: bool | None = None
    """Whether CloudFront serves it."""
    domain_states: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    """Its id in CloudFront; empty if unknown."""
    distribution: str = ""
    """The id of its distribution in CloudFront; empty if unknown."""
    arriving: bool = False
    """Whether the provider may have sent its creation, and does not know the result."""
    choice: str = ""
    """The plan under which it was composed, and where it was from; empty if an earlier version did."""
    replacing: bool = False
    """Whether it was composed to replace tenants that served its domains."""
    routing_endpoint: str = ""
    instructions: tuple[Mapping[str, str], ...] = ()
    """The DNS records of status.dnsInstructions, sorted."""

    def condition(self, type_: str) -> ObservedCondition:
        """The condition that the provider set; Unknown if it set none."""
        return self.conditions.get(type_, UNTOLD)

    @property
    def ready(self) -> ObservedCondition:
        """Whether every domain is served."""
        return self.condition(ConditionType.READY)

    @property
    def adoption_refused(self) -> bool:
        """Whether the provider refused to adopt the tenant: it has another owner, or none. What status says
        of its domains may be the other owner's."""
        return self.ready.reason == TenantReadyReason.ADOPTION_REFUSED

    @property
    def synced(self) -> ObservedCondition:
        """Whether the provider's last reconcile succeeded."""
        return self.condition(ConditionType.SYNCED)

    def told(self, condition: ObservedCondition) -> bool:
        """Whether the condition is for the current spec, or does not record a generation."""
        told = condition.generation
        return told is None or self.generation is None or told >= self.generation

    @property
    def certificate(self) -> str | None:
        """The reason of CertificateReady."""
        return self.condition(TenantConditionType.CERTIFICATE_READY).reason or None

    @cached_property
    def active(self) -> frozenset[str]:
        """The domains that CloudFront serves."""
        return frozenset(name for name, state in self.domain_states.items() if state == ACTIVE)

    @cached_property
    def leading(self) -> tuple[Mapping[str, str], ...]:
        """Its DNS records but proofs: they lead visitors to CloudFront, or let them."""
        return tuple(each for each in self.instructions if each.get("purpose") != RecordPurpose.PROOF)

    def leads(self, domain: str) -> bool:
        """Whether DNS leads the visitors of the domain to CloudFront, by the state of its records."""
        return any(
            each.get("purpose") == RecordPurpose.ROUTING
            and each.get("name") == domain
            and each.get("state") == RecordState.PRESENT
            for each in self.instructions
        )

    @cached_property
    def unreached(self) -> frozenset[str]:
        """The active domains whose visitors DNS does not lead to CloudFront, by the state of their
        records."""
        lost = (each for each in self.instructions if each.get("state") in _ASTRAY)
        return self.active & {
            each.get("name") for each in lost if each.get("purpose") == RecordPurpose.ROUTING
        }


def read(resource: Struct) -> ObservedTenant:
    """Read a DistributionTenant. Fields that are missing or of another type are unknown."""
    metadata, status = structs.child(resource, "metadata"), structs.child(resource, "status")
    annotations, at_provider = structs.child(metadata, "annotations"), structs.child(status, "atProvider")
    name, uid, deleted = structs.texts_at(metadata, ("name", "uid", "deletionTimestamp"))
    carried, created, choice, replacing, sent, failed = structs.texts_at(
        annotations,
        (
            EXTERNAL_NAME,
            EXTERNAL_CREATE_SUCCEEDED,
            PLAN,
            REPLACING,
            EXTERNAL_CREATE_PENDING,
            EXTERNAL_CREATE_FAILED,
        ),
    )
    id_, known_as, endpoint, there = structs.texts_at(
        at_provider, ("id", "name", "routingEndpoint", "distributionId")
    )
    return ObservedTenant(
        name=name,
        uid=uid,
        external_name=carried or known_as or None,
        exists=bool(id_ or created),
        deleted=bool(deleted),
        generation=structs.whole_number(metadata, "generation"),
        asked=_asked(structs.child(resource, "spec")),
        conditions=_conditions(status),
        enabled=structs.flag(at_provider, "enabled"),
        domain_states=dict(
            structs.texts_at(each, ("domain", "status")) for each in structs.objects(at_provider, "domains")
        ),
        id=id_,
        distribution=there,
        # The times are in one format.
        arriving=sent > max(created, failed),
        choice=choice,
        replacing=replacing == "true",
        routing_endpoint=endpoint,
        instructions=_instructions(status),
    )


def controller(resource: Struct) -> Struct | None:
    """The owner reference of a resource's controller."""
    owners = structs.objects(resource, "metadata", "ownerReferences")
    return next((each for each in owners if structs.flag(each, "controller")), None)


def noted_names(composite: Struct) -> dict[str, str]:
    """The names in a composite's resourceRefs: what stands before the hash at the end, by the hash."""
    spec = structs.child(composite, "spec")
    # Crossplane v2 has its fields below `crossplane`.
    places = (structs.child(spec, "crossplane"), spec)
    names = (structs.text(ref, "name") for place in places for ref in structs.objects(place, "resourceRefs"))
    return {name[-ENDING_LENGTH:]: name[:-ENDING_LENGTH] for name in names}


def _asked(spec: Struct | None) -> Asked:
    parameters, config = structs.child(spec, "forProvider"), structs.child(spec, "providerConfigRef")
    kind, name = structs.texts_at(config, ("kind", "name"))
    return Asked(
        domains=frozenset(structs.texts(parameters, "domains")),
        enabled=structs.flag(parameters, "enabled"),
        distribution_id=structs.text(parameters, "distributionId"),
        own_group=structs.child(parameters, "connectionGroupIdSelector") is not None,
        config=(kind, name),
    )


def _conditions(status: Struct | None) -> dict[str, ObservedCondition]:
    conditions = {}
    for each in structs.objects(status, "conditions"):
        type_, holds, reason, message = structs.texts_at(each, ("type", "status", "reason", "message"))
        if type_ in _READ_TYPES:
            generation = structs.whole_number(each, "observedGeneration")
            conditions[type_] = ObservedCondition(holds, reason, message[:_LONGEST_MESSAGE], generation)
    return conditions


_INSTRUCTION_FIELDS = ("name", "purpose", "type", "value", "state", "managedBy", "found")


def _instructions(status: Struct | None) -> tuple[Mapping[str, str], ...]:
    found = sorted(
        structs.texts_at(each, _INSTRUCTION_FIELDS) for each in structs.objects(status, "dnsInstructions")
    )
    return tuple(
        {key: text for key, text in zip(_INSTRUCTION_FIELDS, each, strict=True) if text} for each in found
    )
