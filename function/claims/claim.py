"""The composite resource: its identity and its spec.

A namespaced composite (Crossplane v2) is the claim itself. A cluster-scoped one (LegacyCluster) was created
for the claim in spec.claimRef, or by hand.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import tenantclaim
from apis.conditions import ClaimConditionType, LiveReason
from apis.domains import MAX_DOMAINS
from apis.errors import InvalidInput, Problem, shown
from apis.tenantclaim import CORE_FIELDS, TenantClaimSpec
from edgetenants_runtime.api.annotations import LABEL_COMPOSITE
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from function.claims import domains
from function.errors import Refused, refuse_claim
from function.protocol import structs

CONFIRM = "edgetenants.io/confirm"
"""Annotation: tokens of the steps that the claim's author confirms, separated by commas."""
LONGEST_LABEL: Final = 63
"""Characters of a label's value. A claim with a longer name has no composed resources."""
_RESPONSIVE: Final = "Responsive"
"""Crossplane's condition of a composite whose events it does not drop."""
_MANUAL: Final = "Manual"
"""Value of compositionUpdatePolicy: the claim names its revision."""
_TOKEN: Final = re.compile(r"[0-9a-f]{10}")
_LONGEST_ANNOTATION: Final = 2048
"""Characters of the annotation that the function reads: about two hundred tokens. A claim needs a few."""


@dataclass(frozen=True)
class Composite:
    """The identity of a composite, and the conditions that it has."""

    api_version: str
    kind: str
    name: str
    namespace: str
    """Empty if the composite is cluster-scoped."""
    uid: str
    labels: tuple[tuple[str, str], ...]
    """Sorted."""
    claim: tuple[str, str] | None
    """Namespace and name of a legacy composite's claim."""
    secret_namespace: str | None
    """Namespace of a legacy composite's connection Secret; None if it requests none."""
    confirmed: frozenset[str]
    """Tokens of the steps that the claim's author has confirmed."""
    composition: str
    """The Composition that the claim uses; its revision, if the claim chooses that too. Empty if Crossplane
    has not chosen one."""
    conditions: Mapping[str, tuple[str, str]] = field(compare=False)
    """Status and reason of the conditions by their types, as last written. They are not part of the
    identity."""

    generation: int = field(default=0, compare=False)
    """Its metadata.generation; 0 if it has none."""
    live_message: str = field(default="", compare=False)
    """Message of the condition Live, as last written."""
    edited: bool = field(default=False, compare=False)
    """Whether its spec has changed since Crossplane last reconciled it."""

    def condition(self, type_: str) -> tuple[str, str] | None:
        """Status and reason of a condition, as last written; None if it was never written."""
        return self.conditions.get(type_)

    @property
    def live(self) -> tuple[str, str] | None:
        """Status and reason of the condition Live."""
        return self.condition(ClaimConditionType.LIVE)

    @property
    def unheard(self) -> bool:
        """Whether Crossplane's circuit breaker (v2.1 and later) may drop the events of the composite, among
        them its author's edits. After an edit it may open before the next one, without another call."""
        responsive = self.condition(_RESPONSIVE)
        return self.edited or (responsive is not None and responsive[0] == ConditionStatus.FALSE)

    @property
    def namespaced(self) -> bool:
        """Whether the composed resources live in the composite's namespace; otherwise they are
        cluster-scoped."""
        return bool(self.namespace)

    def choice(self, plan: str, source: str) -> str:
        """The plan, and where it is from: plans of two Compositions or sources may have the same name. It is
        the same for as long as only the plan itself changes."""
        composition = self.composition and f"Composition {self.composition}"
        return ", ".join(filter(None, (plan, source, composition)))

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and name of the object that the user wrote: the claim, if there is one."""
        return self.claim or (self.namespace, self.name)

    def log_fields(self) -> dict[str, str]:
        """The fields that identify this composite in the log."""
        return {
            "xr_api_version": self.api_version,
            "xr_kind": self.kind,
            "xr_namespace": self.namespace,
            "xr_name": self.name,
            "xr_uid": self.uid,
        }


@dataclass(frozen=True, eq=False)
class Claim:
    """The parsed spec of the claim."""

    spec: TenantClaimSpec
    domains: tuple[str, ...]
    """Lower-case A-labels, in the order of the claim."""


def identify(resource: Struct) -> Composite:
    """Read the composite's identity. Never fails, because a refusal needs an address."""
    metadata, spec = structs.child(resource, "metadata"), structs.child(resource, "spec")
    api_version, kind = structs.texts_at(resource, ("apiVersion", "kind"))
    name, namespace, uid = structs.texts_at(metadata, ("name", "namespace", "uid"))
    conditions, live_message, reconciled = _conditions(resource)
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
        composition=_composition(spec),
        conditions=conditions,
        generation=structs.whole_number(metadata, "generation") or 0,
        live_message=live_message,
        edited=reconciled is not None and reconciled != structs.whole_number(metadata, "generation"),
    )


def _conditions(resource: Struct) -> tuple[dict[str, tuple[str, str]], str, int | None]:
    """Status and reason of the conditions by their types, the message of Live, and the generation that
    Crossplane last reconciled; None if it records none (before v2)."""
    found: dict[str, tuple[str, str]] = {}
    message, reconciled = "", None
    for each in structs.objects(resource, "status", "conditions"):
        type_, holds, reason = structs.texts_at(each, ("type", "status", "reason"))
        found.setdefault(type_, (holds, reason))
        if type_ == ClaimConditionType.LIVE:
            message = structs.text(each, "message")
        elif type_ == ConditionType.SYNCED:
            reconciled = structs.whole_number(each, "observedGeneration")
    return found, message, reconciled


def _composition(spec: Struct | None) -> str:
    # Crossplane v2 has its fields below `crossplane`.
    core = structs.child(spec, "crossplane") or spec
    revision = structs.text(core, "compositionRevisionRef", "name")
    if structs.text(core, "compositionUpdatePolicy") == _MANUAL:
        return revision
    # Crossplane follows a revision that the claim names, even if it is of another Composition.
    name = revision.rpartition("-")[0] or structs.text(core, "compositionRef", "name")
    labels = structs.text_map(core, "compositionRevisionSelector", "matchLabels")
    selected = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f"{name} with {selected}" if selected else name


def _claim_ref(reference: Struct | None) -> tuple[str, str] | None:
    name = structs.text(reference, "name")
    return (structs.text(reference, "namespace"), name) if name else None


def _tokens(annotation: str) -> frozenset[str]:
    if not annotation:
        return frozenset()
    written = (token.strip() for token in annotation[:_LONGEST_ANNOTATION].split(","))
    return frozenset(token for token in written if _TOKEN.fullmatch(token))


def read(observed: fnv1.Resource) -> Claim:
    """Read the composite's spec.

    Raises:
        Refused: with reason InvalidClaim and all problems, each with its path below `spec`.
    """
    spec = structs.child(observed.resource, "spec")
    if spec is None:
        raise Refused(LiveReason.INVALID_CLAIM, "spec: expected an object, got nothing")
    legacy = structs.child(spec, "claimRef") is not None
    _check_label(structs.child(observed.resource, "metadata"), legacy=legacy)
    own = {key: structs.plain(spec.fields[key]) for key in sorted(spec.fields) if key not in CORE_FIELDS}
    try:
        parsed = tenantclaim.parse(own)
        return Claim(parsed, domains.normalised(parsed.domains))
    except InvalidInput as error:
        raise Refused(LiveReason.INVALID_CLAIM, str(error), problems=error.problems) from None


def _check_label(metadata: Struct | None, *, legacy: bool) -> None:
    """Refuse the label by which composed resources of another composite are found. Crossplane copies it to
    the composed resources, and sets it itself on a composite that another one composes.

    Raises:
        Refused: the claim has another one's.
    """
    label = structs.text(metadata, "labels", LABEL_COMPOSITE)
    owners = structs.objects(metadata, "ownerReferences")
    if label in ("", structs.text(metadata, "name")) or any(
        structs.flag(each, "controller") for each in owners
    ):
        return
    path = f"metadata.labels[{LABEL_COMPOSITE}]"
    # A legacy claim has another name than its composite.
    named = f"its composite, {structs.text(metadata, 'name')}" if legacy else "the claim"
    refuse_claim([Problem(path, f"no value, or the name of {named}", shown(label))])


def asked_domains(resource: Struct) -> tuple[str, ...]:
    """The domains of the claim as CloudFront stores them, even if other fields are invalid. Empty if one of
    them is not a valid domain."""
    listed = structs.value(resource, "spec", "domains")
    asked = tuple(structs.texts(resource, "spec", "domains"))
    if listed is None or len(listed.list_value.values) > min(MAX_DOMAINS, len(asked)):
        return ()
    try:
        return domains.normalised(asked)
    except ValueError:
        return ()
