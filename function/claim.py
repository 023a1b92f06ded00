"""The composite resource: who it is, and what it asks for.

A namespaced composite (Crossplane v2) is the claim itself. A cluster-scoped one (LegacyCluster) was made for
the claim that spec.claimRef names, or by hand.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import tenantclaim
from apis.conditions import ClaimConditionType, LiveReason
from apis.domains import MAX_DOMAINS
from apis.errors import InvalidInput
from apis.tenantclaim import CORE_FIELDS, TenantClaimSpec
from function import domains, structs
from function.errors import Refused

CONFIRM = "edgetenants.io/confirm"
"""Annotation: tokens of steps that the claim's author confirms, apart by commas."""
_TOKEN: Final = re.compile(r"[0-9a-f]{10}")
_LONGEST_ANNOTATION: Final = 2048
"""Characters of the annotation that are read: some two hundred tokens; a claim has use for a few."""


@dataclass(frozen=True)
class Composite:
    """Who asks."""

    api_version: str
    kind: str
    name: str
    namespace: str
    """Empty where the composite is cluster-scoped."""
    uid: str
    labels: tuple[tuple[str, str], ...]
    """Sorted."""
    claim: tuple[str, str] | None
    """Namespace and name of the claim of a legacy composite."""
    secret_namespace: str | None
    """Namespace of the connection Secret of a legacy composite that wants one."""
    confirmed: frozenset[str]
    """Tokens of the steps that its author has confirmed."""
    conditions: tuple[tuple[str, tuple[str, str]], ...] = field(compare=False)
    """Type, status and reason of the conditions, as last written. What was told is no part of who asks."""

    live_message: str = field(default="", compare=False)
    """What the condition Live said, as last written."""

    def condition(self, type_: str) -> tuple[str, str] | None:
        """Status and reason of a condition, as last written; None where it was not."""
        return next((says for each, says in self.conditions if each == type_), None)

    @property
    def live(self) -> tuple[str, str] | None:
        """Status and reason of the condition Live."""
        return self.condition(ClaimConditionType.LIVE)

    @property
    def namespaced(self) -> bool:
        """What is composed lives in the composite's namespace; otherwise beside the namespaces."""
        return bool(self.namespace)

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and name of what the user wrote: the claim where there is one."""
        return self.claim or (self.namespace, self.name)

    def log_fields(self) -> dict[str, str]:
        """What tells this composite from others in a log."""
        return {
            "xr_api_version": self.api_version,
            "xr_kind": self.kind,
            "xr_namespace": self.namespace,
            "xr_name": self.name,
            "xr_uid": self.uid,
        }


@dataclass(frozen=True, eq=False)
class Claim:
    """What is asked for."""

    spec: TenantClaimSpec
    domains: tuple[str, ...]
    """In lower-case A-labels, in the order in which they were asked for."""


def identify(resource: Struct) -> Composite:
    """Read who the composite is; never fails, so that a refusal can be addressed."""
    metadata, spec = structs.child(resource, "metadata"), structs.child(resource, "spec")
    api_version, kind = structs.texts_at(resource, ("apiVersion", "kind"))
    name, namespace, uid = structs.texts_at(metadata, ("name", "namespace", "uid"))
    return Composite(
        api_version=api_version,
        kind=kind,
        name=name,
        namespace=namespace,
        uid=uid,
        labels=tuple(sorted(structs.text_map(metadata, "labels").items())),
        claim=_claim_ref(structs.child(spec, "claimRef")),
        secret_namespace=structs.text(spec, "writeConnectionSecretToRef", "namespace") or None,
        confirmed=_tokens(structs.text(metadata, "annotations", CONFIRM)),
        conditions=tuple(
            (type_, (holds, reason))
            for type_, holds, reason in (
                structs.texts_at(each, ("type", "status", "reason"))
                for each in structs.objects(resource, "status", "conditions")
            )
        ),
        live_message=_live_message(resource),
    )


def _live_message(resource: Struct) -> str:
    conditions = structs.objects(resource, "status", "conditions")
    live = next((each for each in conditions if structs.text(each, "type") == ClaimConditionType.LIVE), None)
    return structs.text(live, "message")


def _claim_ref(reference: Struct | None) -> tuple[str, str] | None:
    name = structs.text(reference, "name")
    return (structs.text(reference, "namespace"), name) if name else None


def _tokens(annotation: str) -> frozenset[str]:
    written = (token.strip() for token in annotation[:_LONGEST_ANNOTATION].split(","))
    return frozenset(token for token in written if _TOKEN.fullmatch(token))


def read(observed: fnv1.Resource) -> Claim:
    """Read what the composite asks for.

    Raises:
        Refused: with reason InvalidClaim and every problem, each with its path below `spec`.
    """
    spec = structs.child(observed.resource, "spec")
    if spec is None:
        raise Refused(LiveReason.INVALID_CLAIM, "spec: expected an object, got nothing")
    own = {key: structs.plain(spec.fields[key]) for key in sorted(spec.fields) if key not in CORE_FIELDS}
    try:
        parsed = tenantclaim.parse(own)
        return Claim(parsed, domains.normalised(parsed.domains))
    except InvalidInput as error:
        raise Refused(LiveReason.INVALID_CLAIM, str(error), problems=error.problems) from None


def asked_domains(resource: Struct) -> tuple[str, ...]:
    """The domains that are asked for, as CloudFront stores them, whatever else is wrong with the claim; none
    where one cannot be a domain."""
    listed = structs.value(resource, "spec", "domains")
    asked = tuple(structs.texts(resource, "spec", "domains"))
    if listed is None or len(listed.list_value.values) > min(MAX_DOMAINS, len(asked)):
        return ()
    try:
        return domains.normalised(asked)
    except ValueError:
        return ()
