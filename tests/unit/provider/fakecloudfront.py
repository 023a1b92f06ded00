"""CloudFront in memory, behind the provider's own protocol: stateful, with a journal, and with a death or a
refusal at any call."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from provider.cloudfront.calls import Caller, Page
from provider.cloudfront.errors import AwsError
from provider.cloudfront.observed import ObservedTenant

ACCOUNT = "123456789012"
DISTRIBUTION = "E1EDGETENANTS"
DEFAULT_GROUP = "cg_default"
ENDPOINT = "d111111abcdef8.cloudfront.net"


class Killed(BaseException):
    """The process dies here: no handler of the code under test may catch it."""


@dataclass
class FakeCloudFront:
    """Implements provider.cloudfront.calls.CloudFront."""

    tenants: dict[str, ObservedTenant] = field(default_factory=dict)
    """By id; tags included."""
    distributions: set[str] = field(default_factory=lambda: {DISTRIBUTION})
    groups: dict[str, str] = field(default_factory=lambda: {DEFAULT_GROUP: ENDPOINT})
    journal: list[str] = field(default_factory=list)
    die: tuple[int, str] | None = None
    """(index of the call, before or after its effect)."""
    refuse: dict[str, AwsError] = field(default_factory=dict)
    """By operation; stays until removed."""
    keeps_ineffective: frozenset[str] = frozenset()
    """Fields of ObservedTenant that updates do not change."""
    deploys: bool = True
    """False: what is written stays InProgress until `deploy`."""
    deletes_in_progress: bool = True
    """False: a tenant that is not rolled out cannot be deleted."""
    account_id: str = ACCOUNT
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    # What tests do.

    def add(self, **values):
        """A tenant that somebody else made."""
        number = next(self._ids)
        defaults = {
            "id": f"dt_{number}",
            "arn": f"arn:aws:cloudfront::{ACCOUNT}:distribution-tenant/dt_{number}",
            "name": "shop.acme",
            "etag": "v1",
            "distribution_id": DISTRIBUTION,
            "connection_group_id": DEFAULT_GROUP,
            "domains": {"acme.example.com": "active"},
            "enabled": True,
            "status": "Deployed",
            "tags": {},
        }
        tenant = ObservedTenant(**(defaults | values))
        self.tenants[tenant.id] = tenant
        return tenant

    def edit(self, id_, **values):
        """Change a tenant behind the provider's back."""
        self.tenants[id_] = replace(self.tenants[id_], etag=self._next(self.tenants[id_].etag), **values)

    def deploy(self):
        """Roll everything out."""
        self.tenants = {id_: replace(t, status="Deployed") for id_, t in self.tenants.items()}

    @property
    def only(self):
        (tenant,) = self.tenants.values()
        return tenant

    # The protocol.

    def get_tenant(self, identifier):
        with _Call(self, "GetDistributionTenant"):
            return replace(self._find(identifier), tags=None)

    def create_tenant(self, tenant):
        with _Call(self, "CreateDistributionTenant"):
            if any(other.name == tenant.name for other in self.tenants.values()):
                raise AwsError("CreateDistributionTenant", "EntityAlreadyExists", "exists", status=409)
            self._check_parents(tenant)
            made = self.add(
                name=tenant.name,
                distribution_id=tenant.distribution_id,
                connection_group_id=tenant.connection_group_id or DEFAULT_GROUP,
                domains=dict.fromkeys(tenant.domains, "active"),
                enabled=tenant.enabled,
                parameters=dict(tenant.parameters),
                customizations=tenant.customizations,
                tags=dict(tenant.tags or {}),
                status="Deployed" if self.deploys else "InProgress",
            )
            return replace(made, tags=None)

    def update_tenant(self, id_, etag, tenant, emptied=frozenset()):
        with _Call(self, "UpdateDistributionTenant"):
            before = self._current(id_, etag)
            self._check_parents(tenant)
            written = {
                "distribution_id": tenant.distribution_id,
                "connection_group_id": tenant.connection_group_id,
                "domains": {d: before.domains.get(d, "active") for d in tenant.domains},
                "enabled": tenant.enabled,
                "parameters": dict(tenant.parameters),
                "customizations": tenant.customizations,
            }
            if not tenant.parameters and "Parameters" not in emptied:
                del written["parameters"]
            if not tenant.customizations and "Customizations" not in emptied:
                del written["customizations"]
            kept = {key: value for key, value in written.items() if key not in self.keeps_ineffective}
            status = "Deployed" if self.deploys else "InProgress"
            self.edit(id_, status=status, **kept)
            return replace(self.tenants[id_], tags=None)

    def delete_tenant(self, id_, etag):
        with _Call(self, "DeleteDistributionTenant"):
            tenant = self._current(id_, etag)
            if tenant.enabled or not (tenant.deployed or self.deletes_in_progress):
                raise AwsError("DeleteDistributionTenant", "ResourceNotDisabled", "not disabled", status=409)
            del self.tenants[id_]

    def tags(self, arn):
        with _Call(self, "ListTagsForResource"):
            return dict(self._by_arn(arn).tags)

    def tag(self, arn, tags):
        with _Call(self, "TagResource"):
            tenant = self._by_arn(arn)
            self.tenants[tenant.id] = replace(tenant, tags={**tenant.tags, **tags})

    def untag(self, arn, keys):
        with _Call(self, "UntagResource"):
            tenant = self._by_arn(arn)
            left = {key: value for key, value in tenant.tags.items() if key not in keys}
            self.tenants[tenant.id] = replace(tenant, tags=left)

    def routing_endpoint(self, group):
        with _Call(self, "GetConnectionGroup"):
            if group not in self.groups:
                raise AwsError("GetConnectionGroup", "EntityNotFound", "no such group", status=404)
            return self.groups[group]

    def has_distribution(self, id_):
        with _Call(self, "GetDistribution"):
            return id_ in self.distributions

    def caller(self):
        with _Call(self, "GetCallerIdentity"):
            return Caller(self.account_id, f"arn:aws:iam::{self.account_id}:user/edge")

    def tenants_of(self, distribution, marker="", size=None):
        with _Call(self, "ListDistributionTenants"):
            found = [t for t in self.tenants.values() if t.distribution_id == distribution]
            return Page(tuple(replace(t, tags=None, parameters={}) for t in found), "")

    # Inside.

    def _find(self, identifier):
        for tenant in self.tenants.values():
            if identifier in (tenant.id, tenant.arn, tenant.name):
                return tenant
        raise AwsError("GetDistributionTenant", "EntityNotFound", "no such tenant", status=404)

    def _by_arn(self, arn):
        for tenant in self.tenants.values():
            if tenant.arn == arn:
                return tenant
        raise AwsError("ListTagsForResource", "NoSuchResource", "no such resource", status=404)

    def _current(self, id_, etag):
        tenant = self._find(id_)
        if tenant.etag != etag:
            raise AwsError("Write", "PreconditionFailed", "stale", status=412)
        return tenant

    def _check_parents(self, tenant):
        missing = tenant.distribution_id not in self.distributions
        if missing or (tenant.connection_group_id and tenant.connection_group_id not in self.groups):
            raise AwsError("Write", "EntityNotFound", "one of them is not there", status=404)

    @staticmethod
    def _next(etag):
        return f"v{int(etag[1:]) + 1}"


class _Call:
    def __init__(self, fake, operation):
        self.fake, self.operation = fake, operation

    def __enter__(self):
        index = len(self.fake.journal)
        self.index = index
        if self.fake.die == (index, "before"):
            raise Killed
        self.fake.journal.append(self.operation)
        if self.operation in self.fake.refuse:
            raise self.fake.refuse[self.operation]

    def __exit__(self, *_):
        if self.fake.die == (self.index, "after"):
            raise Killed
