"""What the emulator holds: distributions, connection groups, tenants, Anycast lists; and their shelves."""

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
    """Whether CloudFront answers for a tenant's domain; independent of the tenant's own Status."""

    ACTIVE = "active"
    """Control of the domain is established, by a certificate that covers it."""
    INACTIVE = "inactive"
    """It waits for a managed certificate."""


class CertificateStatus(StrEnum):
    """ManagedCertificateStatus of the model, which follows ACM's."""

    PENDING_VALIDATION = "pending-validation"
    """Control of some domain is not shown yet."""
    ISSUED = "issued"
    """It can be attached."""
    INACTIVE = "inactive"
    """Only the admin API gives it."""
    EXPIRED = "expired"
    """It was not renewed in time."""
    VALIDATION_TIMED_OUT = "validation-timed-out"
    """Control was not shown within 72 hours."""
    REVOKED = "revoked"
    """Only the admin API gives it."""
    FAILED = "failed"
    """The authority refused; ACM says why."""


@dataclass(frozen=True)
class Validity:
    """From when until when a certificate is good, in virtual seconds."""

    not_before: float
    not_after: float


@dataclass(frozen=True)
class Renewal:
    """What came of the last renewal."""

    status: str
    """ACM's RenewalStatus."""
    updated: float
    """In virtual seconds."""
    reason: str = ""
    """ACM's RenewalStatusReason; empty for none."""


@dataclass(kw_only=True, eq=False)
class ManagedCertificate:
    """A certificate that CloudFront asked ACM for. Times are virtual seconds."""

    account: str
    tenant_id: str
    token_host: str
    """ValidationTokenHost: `cloudfront` or `self-hosted`."""
    tokens: dict[str, str]
    """Domain and validation token, the primary domain first."""
    requested: float
    arn: str = ""
    status: CertificateStatus = CertificateStatus.PENDING_VALIDATION
    failure_reason: str = ""
    """ACM's FailureReason, such as CAA_ERROR."""
    served: set[str] = field(default_factory=set)
    """The domains whose token the admin API says is served."""
    proven_at: float | None = None
    """Since when control of all domains is shown."""
    looked_at: tuple[Any, ...] = ()
    """What proofs hung on when they were last looked at."""
    issued: float | None = None
    """When it was issued for the first time."""
    validity: Validity | None = None
    """None before the issue."""
    due: float = 0.0
    """When a renewal, or its end, comes next."""
    renewal: Renewal | None = None


@dataclass(frozen=True)
class Session:
    """One session of a role."""

    access_key: str
    ends: float
    """In virtual seconds."""
    ends_really: float
    """In seconds since 1970, of real time."""


@dataclass(frozen=True, kw_only=True)
class Invalidation:
    """An invalidation of a distribution's or tenant's objects at the edges. Times are virtual seconds."""

    id: str
    reference: str
    paths: tuple[str, ...]
    created: float
    completed_at: float


@dataclass(kw_only=True)
class Resource:
    """What all of them share. Times are virtual seconds."""

    KIND: ClassVar[str]
    id: str
    account: str
    name: str
    """What it is found by beside its id: unique in the account."""
    enabled: bool
    created: float
    modified: float
    deployed_at: float
    """When the last change has reached every edge."""
    version: int = 1
    number: int = 0
    """Its place in lists: the order of creation."""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The ARN, also its key among the owners of domains."""
        return str(Arn(self.account, self.KIND, self.id))

    @property
    def etag(self) -> str:
        """The ETag of the current version."""
        return etag.token(self.version)

    def status(self, now: float) -> str:
        """InProgress until the last change has reached every edge; moves neither version nor `modified`."""
        return "Deployed" if now >= self.deployed_at else "InProgress"

    def touch(self, now: float, settle: float) -> None:
        """A new version, on its way to the edges for `settle` virtual seconds."""
        self.version += 1
        self.modified = now
        self.deployed_at = now + settle


@dataclass(kw_only=True)
class Distribution(Resource):
    """A distribution of either connection mode."""

    KIND: ClassVar[str] = "distribution"
    domain_name: str
    config: dict[str, Any]
    """DistributionConfig as the model has it."""
    deploy_seconds: float | None = None
    """How long its own deployments take, instead of the setting."""
    tenant_deploy_seconds: float | None = None
    """How long the deployments of its tenants take, instead of the setting."""
    invalidations: list[Invalidation] = field(default_factory=list)
    """Its own, not its tenants'; the oldest first."""

    @property
    def tenant_only(self) -> bool:
        """Whether it takes tenants."""
        return self.config.get("ConnectionMode") == "tenant-only"

    @property
    def certificate_arn(self) -> str | None:
        """The certificate that its tenants inherit."""
        arn: str | None = self.config.get("ViewerCertificate", {}).get("ACMCertificateArn")
        return arn or None

    @property
    def parameter_definitions(self) -> list[dict[str, Any]]:
        """The parameters that its tenants may or must give."""
        tenant_config = self.config.get("TenantConfig") or {}
        return list(tenant_config.get("ParameterDefinitions") or ())


@dataclass(kw_only=True)
class ConnectionGroup(Resource):
    """A connection group: it alone has the endpoint that a tenant's DNS points to."""

    KIND: ClassVar[str] = "connection-group"
    routing_endpoint: str
    ipv6_enabled: bool = True
    is_default: bool = False
    anycast_ip_list_id: str = ""
    """The Anycast static IP list whose addresses the endpoint has; empty for none."""


@dataclass(kw_only=True)
class AnycastIpList(Resource):
    """A list of static IP addresses for connection groups."""

    KIND: ClassVar[str] = "anycast-ip-list"
    ip_count: int
    address_type: str
    """`ipv4`, `ipv6` or `dualstack`."""
    addresses: list[str]

    def status(self, now: float) -> str:
        """Its own word for what is not at every edge."""
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
    """The managed one that was asked for last, attached or not."""
    activating: dict[str, float] = field(default_factory=dict)
    """By active domain: from when on it is shown so."""
    invalidations: list[Invalidation] = field(default_factory=list)
    """The oldest first."""


R = TypeVar("R", bound=Resource)


class Shelf(Generic[R]):
    """The resources of one kind, by id and by account and name. The world's lock guards it."""

    def __init__(self) -> None:
        self._by_id: dict[str, R] = {}
        self._by_name: dict[tuple[str, str], R] = {}
        self._of: dict[str, dict[str, R]] = {}
        self._numbers = 0

    def add(self, resource: R) -> None:
        """Put a new one at the end of its account's list."""
        self._numbers += 1
        resource.number = self._numbers
        self._by_id[resource.id] = resource
        self._by_name[resource.account, resource.name] = resource
        self._of.setdefault(resource.account, {})[resource.id] = resource

    def remove(self, resource: R) -> None:
        """Take one away."""
        del self._by_id[resource.id]
        del self._by_name[resource.account, resource.name]
        del self._of[resource.account][resource.id]

    def of(self, account: str) -> list[R]:
        """An account's, in the order of creation."""
        return list(self._of.get(account, {}).values())

    def count(self, account: str) -> int:
        """How many an account has."""
        return len(self._of.get(account, ()))

    def get(self, account: str, resource_id: str) -> R | None:
        """An account's resource by id."""
        return self._of.get(account, {}).get(resource_id)

    def named(self, account: str, name: str) -> R | None:
        """An account's resource by name."""
        return self._by_name.get((account, name))

    def anywhere(self, id_or_name: str) -> R | None:
        """The resource of an id, or the oldest of a name, in whatever account: for people, not for AWS."""
        found = self._by_id.get(id_or_name)
        return found or next((each for each in self if each.name == id_or_name), None)

    def __iter__(self) -> Iterator[R]:
        return iter(list(self._by_id.values()))
