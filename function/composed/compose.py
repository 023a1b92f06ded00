"""Compose managed resources, each with only the fields that the claim or its plan sets. Crossplane applies
them server-side and removes fields that a later response omits."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from apis import kinds
from apis.domainproof import DomainProofMode
from apis.errors import Problem
from apis.tenant_choices import (
    CertificateMode,
    DnsMode,
    Isolation,
    OnDelete,
    Validation,
    WebAclChoice,
    WebAclMode,
)
from apis.tenantclaim import TenantClaimSpec
from apis.tenantplans import Plan
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.api.managed import DeletionPolicy, ManagementPolicy
from edgetenants_runtime.api.references import ProviderConfigReference
from function.claims.claim import Claim, Composite
from function.claims.plans import ChosenPlan
from function.claims.terms import Terms
from function.composed import naming
from function.composed.observed import PLAN, REPLACING, ObservedTenant
from function.errors import refuse_claim
from function.protocol import wire

TENANT: Final = "tenant"
"""Composed resource name of the one tenant that serves all domains. With isolation PerDomain, each tenant's
name is this, a dash, and a hash of its domain. Never change it: another name means another tenant."""
CONNECTION_GROUP: Final = "connection-group"
"""Composed resource name of the claim's own connection group. The name of its successor (`group_name`) is
this, a dash, and a hash."""
_HASHES: Final = "|".join(
    f"[0-9a-f]{{{length}}}" for length in (naming.FORMER_HASH_LENGTH, naming.HASH_LENGTH)
)
OURS: Final = re.compile(rf"{TENANT}(-({_HASHES}))?|{CONNECTION_GROUP}(-[0-9a-f]{{{naming.HASH_LENGTH}}})?")
"""Composed resource names of this function; all other names belong to other steps."""
CLAIM_LABEL: Final = "edgetenants.io/claim"
"""Label: a hash of the claim's namespace and name. Crossplane (v2.3.4, composite,
GarbageCollectComposedResources) removes its own labels from a composed resource when it deletes it."""
ADOPT: Final = "edgetenants.io/adopt"
"""Annotation: id of the tenant in CloudFront that the managed resource adopts."""
DEDICATED: Final = "edgetenants.io/dedicated"
"""Annotation of a ConnectionGroup: only tenants of its own namespace may join it."""
TAKE: Final = "edgetenants.io/take-domains-from"
"""Annotation: ids of the tenants in CloudFront from which the managed resource takes its domains."""

KEEP: Final = (
    ManagementPolicy.OBSERVE,
    ManagementPolicy.CREATE,
    ManagementPolicy.UPDATE,
    ManagementPolicy.LATE_INITIALIZE,
)
"""All policies except Delete: a namespaced managed resource with these leaves its external resource in place
when it is deleted."""
LONGEST_SECRET_NAME: Final = 253

_TOKEN_HOSTS: Final = {Validation.CLOUDFRONT: "cloudfront", Validation.SELF_HOSTED: "self-hosted"}

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Order:
    """A claim with its plan and the resulting terms: everything that determines the desired state."""

    composite: Composite
    claim: Claim
    chosen: ChosenPlan
    terms: Terms
    former_names: Mapping[str, str] = field(default_factory=dict)
    """The composed resource names, by domain, of tenants that have one with a shorter hash."""
    noted_names: Mapping[str, str] = field(default_factory=dict)
    """The names of objects that Crossplane has noted, without the hash at the end, by that hash."""

    @property
    def choice(self) -> str:
        """The plan, and where it is from."""
        return self.composite.choice(self.chosen.name, self.chosen.source)

    def name_of(self, domain: str, isolation: Isolation) -> str:
        """The composed resource name of the tenant that serves a domain."""
        if isolation is Isolation.SHARED:
            return TENANT
        return self.former_names.get(domain) or f"{TENANT}-{naming.digest(domain)}"

    def prefix(self, resource_name: str) -> str:
        """The metadata.generateName of a composed resource that does not exist yet; empty if the composite
        has no generation (`crossplane render`).

        Crossplane notes names before it creates resources. A resource that it could not create keeps its
        name: otherwise each attempt would change the composite, and so lead to the next one.
        """
        of = self.composite
        noted = self.noted_names.get(naming.ending(of.uid, resource_name))
        return noted or (naming.prefix(of.name, of.generation) if of.generation else "")

    def is_noted(self, resource_name: str) -> bool:
        """Whether Crossplane has noted the name of a composed resource that does not exist yet."""
        return naming.ending(self.composite.uid, resource_name) in self.noted_names

    def external_name(self, domain: str | None = None) -> str:
        """The name in CloudFront of the shared tenant, or of one domain's tenant."""
        return naming.external(self.chosen.plan.name, *self.composite.owner, domain)

    # Built once for all of the claim's tenants, as a claim can have a hundred.

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of its composed resources, beside Crossplane's."""
        return claim_label(self.composite)

    @cached_property
    def envelope(self) -> bytes:
        """The fields of `spec`, except `forProvider`, that all its resources share, as a Struct."""
        return wire.struct(_envelope(self))

    @cached_property
    def domain_proof(self) -> bytes:
        """`spec.domainProof` of all tenants, as a Struct."""
        return wire.struct(_without_empty({"domainProof": _domain_proof(self.chosen.plan)}))

    @cached_property
    def parameters(self) -> bytes:
        """The fields of `spec.forProvider` that all tenants share, as a Struct."""
        return wire.struct(_tenant_parameters(self))


@dataclass(frozen=True)
class WantedTenant:
    """A desired tenant."""

    resource_name: str
    """Its composed resource name."""
    domains: tuple[str, ...]
    enabled: bool
    distribution_id: str
    dedicated: bool
    """Whether it uses the claim's own connection group."""
    own: str | None = None
    """The one domain that it serves; None if it serves all."""
    parked: str = ""
    """A name below the plan's parking domain that it has in addition to its domains; empty for none."""
    takes: tuple[str, ...] = ()
    """Ids of the tenants in CloudFront from which it takes its domains."""
    replacing: bool = False
    """Whether it replaces tenants that served the claim's domains, and does not exist yet."""

    @property
    def listed(self) -> tuple[str, ...]:
        """Every domain that it should have in CloudFront."""
        return (*self.domains, self.parked) if self.parked else self.domains


def tenants(order: Order, isolation: Isolation) -> tuple[WantedTenant, ...]:
    """The tenants that serve the claim: one for all domains, or one for each."""
    if isolation is Isolation.SHARED:
        return (_tenant(order, TENANT, order.claim.domains),)
    return tuple(
        _tenant(order, order.name_of(domain, isolation), (domain,), own=domain)
        for domain in order.claim.domains
    )


def former_names(domains: Iterable[str], seen: Mapping[str, ObservedTenant]) -> dict[str, str]:
    """The shorter composed resource names of tenants that exist under one, by their domains. Under another
    name, Crossplane would delete the tenant and create another. If several domains have the same short hash,
    the one that the tenant has keeps it."""
    length = len(TENANT) + 1 + naming.FORMER_HASH_LENGTH
    short = {name: each for name, each in seen.items() if len(name) == length and not is_group(name)}
    if not short:
        return {}
    named: dict[str, list[str]] = {}
    for domain in domains:
        name = f"{TENANT}-{naming.digest(domain)}"[:length]
        if name in short:
            named.setdefault(name, []).append(domain)
    return {min(had, key=lambda each: not _has(short[name], each)): name for name, had in named.items()}


def _has(seen: ObservedTenant, domain: str) -> bool:
    return domain in seen.asked.domains or domain in seen.domain_states


def is_group(name: str) -> bool:
    """Whether a composed resource name is that of a connection group, not of a tenant."""
    return name.startswith(CONNECTION_GROUP)


def group_name(seen: Mapping[str, ObservedTenant]) -> str:
    """The composed resource name of the connection group to compose.

    A group that the claim gave up may wait for tenants of others for ever. Crossplane derives an object's
    name from this one, so under the same name the claim would get that object, which is being deleted.
    Its successor, under a name of its own, takes the group over.
    """
    groups = {name: each for name, each in seen.items() if is_group(name)}
    stays = next((name for name, each in groups.items() if not each.deleted), None)
    if stays is not None:
        return stays
    goes = next(iter(groups.values()), None)
    return CONNECTION_GROUP if goes is None else f"{CONNECTION_GROUP}-{naming.digest(goes.uid)}"


def check_names(wanted: Iterable[WantedTenant]) -> None:
    """Check that no two tenants have the same name: one would take the place of the other.

    Raises:
        Refused: two have.
    """
    owners: dict[str, WantedTenant] = {}
    for each in wanted:
        other = owners.setdefault(each.resource_name, each)
        if other is not each:
            expected = "domains whose tenants have different names"
            got = f"{other.own} and {each.own}, which both have tenant {each.resource_name}"
            refuse_claim(
                [Problem("spec.domains", expected, f"{got}. Remove one of them, or use another claim")]
            )


def _tenant(order: Order, name: str, domains: tuple[str, ...], *, own: str | None = None) -> WantedTenant:
    spec, plan = order.claim.spec, order.chosen.plan
    return WantedTenant(name, domains, not spec.suspended, plan.distribution_id, order.terms.dedicated, own)


def tenant(order: Order, wanted: WantedTenant, external_name: str | None, *, new: bool) -> bytes:
    """The desired DistributionTenant, as a Struct.

    Args:
        order: the claim with its plan and terms.
        wanted: one of the claim's tenants.
        external_name: the external name of its managed resource, if it has one. It never changes, even if the
            plan's template does.
        new: whether there is no managed resource yet.
    """
    spec = order.claim.spec
    adopted = spec.adopt.tenant_id if spec.adopt else None
    annotations = {EXTERNAL_NAME: external_name or new_name(order, wanted), PLAN: order.choice}
    if adopted:
        annotations[ADOPT] = adopted
    if wanted.takes:
        annotations[TAKE] = ",".join(wanted.takes)
    if wanted.replacing:
        annotations[REPLACING] = "true"
    head = _TENANT_HEADS[order.composite.namespaced]
    envelope = order.envelope + order.domain_proof + wire.struct(_secret(order.composite, spec, wanted))
    metadata = _metadata(annotations, order.labels, order.prefix(wanted.resource_name) if new else "")
    return _managed(head, metadata, envelope, order.parameters + wire.struct(_own(order, wanted)))


def claim_label(composite: Composite) -> dict[str, str]:
    """The label by which the function finds former tenants of a claim."""
    return {CLAIM_LABEL: naming.digest("/".join(composite.owner))}


def new_name(order: Order, wanted: WantedTenant) -> str:
    """The external name of a tenant's managed resource that does not exist yet."""
    adopt = order.claim.spec.adopt
    return (adopt.tenant_id if adopt else "") or order.external_name(wanted.own)


def connection_group(order: Order, resource_name: str, external_name: str | None, *, new: bool) -> bytes:
    """The claim's own ConnectionGroup, as a Struct; the arguments are as in `tenant`."""
    connection = order.chosen.plan.connection
    head = _GROUP_HEADS[order.composite.namespaced]
    parameters = {
        "ipv6Enabled": connection.ipv6_enabled,
        "anycastIpListId": connection.anycast_ip_list_id,
        "tags": dict(order.terms.tags),
    }
    annotations = {EXTERNAL_NAME: external_name or order.external_name(), DEDICATED: "true"}
    metadata = _metadata(annotations, order.labels, order.prefix(resource_name) if new else "")
    return _managed(head, metadata, order.envelope, wire.struct(_without_empty(parameters)))


def _head(kind: kinds.Kind) -> bytes:
    return wire.struct({"apiVersion": kind.api_version, "kind": kind.kind})


_TENANT_HEADS: Final = {
    True: _head(kinds.DISTRIBUTION_TENANT),
    False: _head(kinds.LEGACY_DISTRIBUTION_TENANT),
}
_GROUP_HEADS: Final = {True: _head(kinds.CONNECTION_GROUP), False: _head(kinds.LEGACY_CONNECTION_GROUP)}
"""The first fields of a managed resource, by whether it is namespaced."""


def _metadata(annotations: Mapping[str, str], labels: Mapping[str, str], prefix: str) -> bytes:
    # Crossplane keeps the name of a resource that exists.
    named: Json = {"generateName": prefix} if prefix else {}
    return wire.field("metadata", wire.struct(named | {"labels": labels, "annotations": annotations}))


def _managed(head: bytes, metadata: bytes, envelope: bytes, parameters: bytes) -> bytes:
    return head + metadata + wire.field("spec", envelope + wire.field("forProvider", parameters))


def _without_empty(fields: Mapping[str, Any]) -> Json:
    return {key: value for key, value in fields.items() if value is not None and value != {}}


def _envelope(order: Order) -> Json:
    plan = order.chosen.plan
    envelope: Json = {
        "providerConfigRef": _config_ref(plan.provider_config_ref, order.composite),
        "driftPolicy": plan.drift_policy,
        "deletionProtection": plan.deletion_protection or None,
    }
    if order.terms.on_delete is OnDelete.ORPHAN and order.composite.namespaced:
        envelope["managementPolicies"] = list(KEEP)
    elif order.terms.on_delete is OnDelete.ORPHAN:
        envelope["deletionPolicy"] = DeletionPolicy.ORPHAN
    return _without_empty(envelope)


def _domain_proof(plan: Plan) -> Json | None:
    """Which domains the provider lets a tenant have only with a proof; None if that is none. No customer can
    prove the parking names, which are the platform team's."""
    if plan.domain_proof.mode is not DomainProofMode.REQUIRED:
        return None
    parking = (plan.parking_domain,) if plan.parking_domain else ()
    exempt = sorted({*(plan.domain_proof.exempt or ()), *parking})
    return {"mode": DomainProofMode.REQUIRED} | ({"exempt": exempt} if exempt else {})


def _config_ref(reference: ProviderConfigReference, composite: Composite) -> Json:
    """A cluster-scoped managed resource can use one kind of ProviderConfig only, so its reference has no
    kind."""
    kind = reference.kind if composite.namespaced else None
    return _without_empty({"kind": kind, "name": reference.name})


def _secret(composite: Composite, spec: TenantClaimSpec, wanted: WantedTenant) -> Json:
    """Where the managed resource writes its connection details; empty unless the claim requests them.

    The composite of a legacy claim collects them itself, from Secrets that are named after its uid.
    """
    suffix = wanted.resource_name.removeprefix(TENANT)
    if composite.namespaced and spec.connection_secret_name:
        return {"writeConnectionSecretToRef": {"name": _secret_name(spec.connection_secret_name, suffix)}}
    if not composite.namespaced and composite.secret_namespace and composite.uid:
        name = f"{composite.uid}-{wanted.resource_name}"
        return {"writeConnectionSecretToRef": {"name": name, "namespace": composite.secret_namespace}}
    return {}


def _secret_name(asked: str, suffix: str) -> str:
    longest = LONGEST_SECRET_NAME - len(suffix)
    if len(asked) > longest:
        expected = f"at most {longest} characters with isolation PerDomain"
        refuse_claim([Problem("spec.connectionSecretName", expected, f"{len(asked)}")])
    return asked + suffix


def _tenant_parameters(order: Order) -> Json:
    terms = order.terms
    return _without_empty(
        {
            "parameters": dict(terms.parameters),
            "customizations": _customizations(terms),
            "managedCertificateRequest": _certificate_request(terms),
            "tags": dict(terms.tags),
            "dns": _records(order),
        }
    )


def _own(order: Order, wanted: WantedTenant) -> Json:
    """The fields of `spec.forProvider` that differ between the claim's tenants."""
    own = {
        "distributionId": wanted.distribution_id,
        "domains": sorted(wanted.listed),
        "enabled": wanted.enabled,
    }
    return own | _connection(order, wanted)


def _connection(order: Order, wanted: WantedTenant) -> Json:
    if wanted.dedicated:
        # Crossplane names the group; group and tenant have the composite as their controller. A group that is
        # recreated after its deletion in AWS has another id.
        return {"connectionGroupIdSelector": {"matchControllerRef": True, "policy": {"resolve": "Always"}}}
    return _without_empty({"connectionGroupId": order.chosen.plan.connection.connection_group_id})


def _customizations(terms: Terms) -> Json:
    certificate = {"arn": terms.certificate.arn} if terms.certificate.mode is CertificateMode.CUSTOM else None
    fields = {"webAcl": _web_acl(terms.web_acl), "certificate": certificate, "geoRestrictions": _geo(terms)}
    return _without_empty(fields)


def _web_acl(choice: WebAclChoice | None) -> Json | None:
    if choice is None or choice.mode is WebAclMode.INHERIT:
        return None
    if choice.mode is WebAclMode.DISABLED:
        return {"action": "disable"}
    return {"action": "override", "arn": choice.arn}


def _geo(terms: Terms) -> Json | None:
    if terms.geo is None:
        return None
    if terms.geo.allow:
        return _restriction("whitelist", terms.geo.allow)
    return _restriction("blacklist", terms.geo.deny or ())


def _restriction(type_: str, countries: Iterable[str]) -> Json:
    return {"restrictionType": type_, "locations": sorted(countries)}


def _certificate_request(terms: Terms) -> Json | None:
    if terms.certificate.mode is not CertificateMode.MANAGED:
        return None
    return {"validationTokenHost": _TOKEN_HOSTS[terms.certificate.validation or Validation.CLOUDFRONT]}


def _records(order: Order) -> Json | None:
    dns = order.chosen.plan.dns
    if order.terms.dns_mode is not DnsMode.MANAGED or dns.config_ref is None:
        return None
    reference = _config_ref(dns.config_ref, order.composite)
    return _without_empty({"configRef": reference, "ttlSeconds": dns.ttl_seconds})
