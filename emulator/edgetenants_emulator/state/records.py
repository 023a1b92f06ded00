"""The emulator's resources: distributions, connection groups, tenants, Anycast lists; and their shelves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from edgetenants_emulator.state import etag
from edgetenants_emulator.state.identifiers import Arn

__all__ = [
    "AnycastIpList",
    "CertificateStatus",
    "ConnectionGroup",
    "Distribution",
    "DomainStatus",
    "Invalidation",
    "ManagedCertificate",
    "Renewal",
    "Resource",
    "Session",
    "Shelf",
    "Tenant",
    "Validity",
]


class DomainStatus(StrEnum):
    """Whether CloudFront serves a tenant's domain. Independent of the tenant's Status."""

    ACTIVE = "active"
    """Control of the domain is proven by a certificate that covers it."""
    INACTIVE = "inactive"
    """It waits for a managed certificate."""


class CertificateStatus(StrEnum):
    """ManagedCertificateStatus of the model, which follows ACM's."""

    PENDING_VALIDATION = "pending-validation"
    """Control of some domain is not proven yet."""
    ISSUED = "issued"
    """It can be attached."""
    INACTIVE = "inactive"
    """Only the admin API sets it."""
    EXPIRED = "expired"
    """It was not renewed in time."""
    VALIDATION_TIMED_OUT = "validation-timed-out"
    """Control was not proven within 72 hours."""
    REVOKED = "revoked"
    """Only the admin API sets it."""
    FAILED = "failed"
    """The certificate authority refused; ACM shows the reason."""


@dataclass(frozen=True)
class Validity:
    """The start and end of a certificate's validity, in virtual seconds."""

    not_before: float
    not_after: float


@dataclass(frozen=True)
class Renewal:
    """The result of the last renewal."""

    status: str
    """ACM's RenewalStatus."""
    updated: float
    """The time of the update, in virtual seconds."""
    reason: str = ""
    """ACM's RenewalStatusReason; empty for none."""
    waiting: tuple[str, ...] = ()
    """The names that keep it from being renewed."""


@dataclass(kw_only=True, eq=False)
class ManagedCertificate:
    """A certificate that CloudFront requested from ACM. Times are virtual seconds."""

    account: str
    tenant_id: str
    token_host: str
    """ValidationTokenHost: `cloudfront` or `self-hosted`."""
    tokens: dict[str, str]
    """The validation tokens by domain, the primary domain first."""
    requested: float
    arn: str = ""
    status: CertificateStatus = CertificateStatus.PENDING_VALIDATION
    failure_reason: str = ""
    """ACM's FailureReason, such as CAA_ERROR."""
    served: set[str] = field(default_factory=set)
    """The domains whose token is marked as served by the admin API."""
    proven_at: float | None = None
    """The time since when control of all domains is proven."""
    looked_at: tuple[Any, ...] = ()
    """The inputs of the last check of the proofs."""
    issued: float | None = None
    """The time of the first issue."""
    validity: Validity | None = None
    """The validity; None before the issue."""
    due: float = 0.0
    """The time of the next renewal, or of the expiry."""
    renewal: Renewal | None = None


@dataclass(frozen=True)
class Session:
    """A session of a role."""

    access_key: str
    ends: float
    """The end in virtual seconds."""
    ends_really: float
    """The end in real seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Invalidation:
    """An invalidation of cached objects of a distribution or tenant. Times are virtual seconds."""

    id: str
    reference: str
    paths: tuple[str, ...]
    created: float
    completed_at: float


@dataclass(kw_only=True)
class Resource:
    """The common members of all resources. Times are virtual seconds."""

    KIND: ClassVar[str]
    id: str
    account: str
    name: str
    """The name, unique in the account. Resources are found by id or name."""
    enabled: bool
    created: float
    modified: float
    deployed_at: float
    """The end of the last deployment."""
    version: int = 1
    number: int = 0
    """The position in lists, by order of creation."""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The ARN, also the key of the domains' holders."""
        return str(Arn(self.account, self.KIND, self.id))

    @property
    def etag(self) -> str:
        """The ETag of the current version."""
        return etag.token(self.version)

    def status(self, now: float) -> str:
        """InProgress until the end of the last deployment. A change of the status changes neither the version
        nor `modified`."""
        return "Deployed" if now >= self.deployed_at else "InProgress"

    def touch(self, now: float, settle: float) -> None:
        """Create a new version, whose deployment takes `settle` virtual seconds."""
        self.version += 1
        self.modified = now
        self.deployed_at = now + settle


@dataclass(kw_only=True)
class Distribution(Resource):
    """A distribution of either connection mode."""

    KIND: ClassVar[str] = "distribution"
    domain_name: str
    config: dict[str, Any]
    """DistributionConfig of the model."""
    deploy_seconds: float | None = None
    """The duration of its deployments, instead of the setting."""
    tenant_deploy_seconds: float | None = None
    """The duration of its tenants' deployments, instead of the setting."""
    invalidations: list[Invalidation] = field(default_factory=list)
    """Its own invalidations without those of its tenants, the oldest first."""

    @property
    def tenant_only(self) -> bool:
        """Whether it is multi-tenant."""
        return self.config.get("ConnectionMode") == "tenant-only"

    @property
    def certificate_arn(self) -> str | None:
        """The certificate that its tenants inherit."""
        arn: str | None = self.config.get("ViewerCertificate", {}).get("ACMCertificateArn")
        return arn or None

    @property
    def parameter_definitions(self) -> list[dict[str, Any]]:
        """The definitions of its tenants' parameters."""
        tenant_config = self.config.get("TenantConfig") or {}
        return list(tenant_config.get("ParameterDefinitions") or ())


@dataclass(kw_only=True)
class ConnectionGroup(Resource):
    """A connection group. It has the routing endpoint to which a tenant's DNS points."""

    KIND: ClassVar[str] = "connection-group"
    routing_endpoint: str
    ipv6_enabled: bool = True
    is_default: bool = False
    anycast_ip_list_id: str = ""
    """The Anycast static IP list of the endpoint; empty for none."""


@dataclass(kw_only=True)
class AnycastIpList(Resource):
    """A list of static IP addresses for connection groups."""

    KIND: ClassVar[str] = "anycast-ip-list"
    ip_count: int
    address_type: str
    """`ipv4`, `ipv6` or `dualstack`."""
    addresses: list[str]

    def status(self, now: float) -> str:
        """Deploying or Deployed, unlike the statuses of other resources."""
        return "Deployed" if now >= self.deployed_at else "Deploying"


@dataclass(kw_only=True)
class Tenant(Resource):
    """A distribution tenant."""

    KIND: ClassVar[str] = "distribution-tenant"
    distribution_id: str
    group_id: str
    domains: dict[str, DomainStatus]
    parameters: dict[str, str]
    customizations: dict[str, Any]
    certificate: ManagedCertificate | None = None
    """The last requested managed certificate, attached or not."""
    activating: dict[str, float] = field(default_factory=dict)
    """The time from which a domain is shown as active, by domain."""
    invalidations: list[Invalidation] = field(default_factory=list)
    """The invalidations, the oldest first."""


R = TypeVar("R", bound=Resource)


class Shelf(Generic[R]):
    """The resources of one kind, by id, and by account and name. Guarded by the world's lock."""

    def __init__(self) -> None:
        self._by_id: dict[str, R] = {}
        self._by_name: dict[tuple[str, str], R] = {}
        self._of: dict[str, dict[str, R]] = {}
        self._numbers = 0

    def add(self, resource: R) -> None:
        """Add a resource at the end of its account's list."""
        self._numbers += 1
        resource.number = self._numbers
        self._by_id[resource.id] = resource
        self._by_name[resource.account, resource.name] = resource
        self._of.setdefault(resource.account, {})[resource.id] = resource

    def remove(self, resource: R) -> None:
        """Remove a resource."""
        del self._by_id[resource.id]
        del self._by_name[resource.account, resource.name]
        del self._of[resource.account][resource.id]

    def of(self, account: str) -> list[R]:
        """An account's resources, in the order of creation."""
        return list(self._of.get(account, {}).values())

    def count(self, account: str) -> int:
        """The number of an account's resources."""
        return len(self._of.get(account, ()))

    def get(self, account: str, resource_id: str) -> R | None:
        """An account's resource by id."""
        return self._of.get(account, {}).get(resource_id)

    def named(self, account: str, name: str) -> R | None:
        """An account's resource by name."""
        return self._by_name.get((account, name))

    def anywhere(self, id_or_name: str) -> R | None:
        """The resource with an id, or the oldest one with a name, in any account. For the admin API only."""
        found = self._by_id.get(id_or_name)
        return found or next((each for each in self if each.name == id_or_name), None)

    def __iter__(self) -> Iterator[R]:
        return iter(list(self._by_id.values()))
