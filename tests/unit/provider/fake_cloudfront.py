"""CloudFront in memory, behind the provider's own protocol: stateful, with a journal, and with a death or a
refusal at any call."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from provider.cloudfront.aws.calls import Caller, Page
from provider.cloudfront.aws.domain_calls import Conflict, DnsVerdict
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import announce_creation
from provider.cloudfront.state.certificates import Certificate, Token
from provider.cloudfront.state.distribution import Distribution
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

ACCOUNT = "123456789012"
DISTRIBUTION = "E1EDGETENANTS"
DEFAULT_GROUP = "cg_default"
ENDPOINT = "d111111abcdef8.cloudfront.net"
INHERITED_CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/inherited"
NOT_OWNED = (
    "The provided Domain Name is not valid. Could not verify Domain Name ownership. "
    "It may not be pointing to a valid CloudFront resource."
)


class Killed(BaseException):
    """The process dies here: no handler of the code under test may catch it."""


@dataclass
class FakeCloudFront:
    """Implements provider.cloudfront.aws.calls.CloudFront."""

    tenants: dict[str, ObservedTenant] = field(default_factory=dict)
    """By id; tags included."""
    distributions: dict[str, Distribution] = field(
        default_factory=lambda: {
            DISTRIBUTION: Distribution(
                DISTRIBUTION,
                parameters=dict.fromkeys(("tenantName", "tier", "a", "b", "c"), False),
                certificate_arn=INHERITED_CERTIFICATE,
            )
        }
    )
    certificates: dict[str, Certificate] = field(
        default_factory=lambda: {
            INHERITED_CERTIFICATE: Certificate(
                INHERITED_CERTIFICATE,
                "issued",
                domains=frozenset({"*.example.com", "*.acme.com"}),
                not_after="2027-01-01T00:00:00Z",
            )
        }
    )
    """Of ACM, by ARN."""
    managed: dict[str, Certificate] = field(default_factory=dict)
    """By tenant."""
    groups: dict[str, ObservedGroup] = field(
        default_factory=lambda: {
            DEFAULT_GROUP: ObservedGroup(
                DEFAULT_GROUP,
                f"arn:aws:cloudfront::{ACCOUNT}:connection-group/{DEFAULT_GROUP}",
                "CreatedByCloudFront-1",
                "v1",
                ENDPOINT,
                is_default=True,
            )
        }
    )
    elsewhere: dict[str, Conflict] = field(default_factory=dict)
    """Domains that other accounts have."""
    pointing: set[str] = field(default_factory=set)
    """Domains that lead here."""
    loses_requests: bool = False
    attaches: bool = False
    """A certificate is attached as soon as it is issued."""
    journal: list[str] = field(default_factory=list)
    die: tuple[int, str] | None = None
    """(index of the call, before or after its effect)."""
    refuse: dict[str, AwsError] = field(default_factory=dict)
    """By operation; stays until removed."""
    keeps_ineffective: frozenset[str] = frozenset()
    """Fields of ObservedTenant that updates do not change."""
    deploys: bool = True
    """False: what is written stays InProgress until `deploy`."""
    disables_used_groups: bool = False
    """A connection group that has tenants can be disabled."""
    unlisted: set[str] = field(default_factory=set)
    """Ids of tenants that lists do not show yet."""
    deletes_in_progress: bool = True
    """False: a tenant that is not rolled out cannot be deleted."""
    account_id: str = ACCOUNT
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    # What tests do.

    def add(self, **values):
        """A tenant that another client made."""
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
        self.groups = {id_: replace(g, status="Deployed") for id_, g in self.groups.items()}

    def settle_certificate(self, status, reason=None):
        """Bring the only tenant's managed certificate to an end."""
        tenant = self.only
        before = self.managed[tenant.id]
        self.managed[tenant.id] = replace(before, status=status)
        told = replace(before, status=status, failure_reason=reason, not_after="2027-02-01T00:00:00Z")
        self.certificates[before.arn] = told
        if status == "issued" and self.attaches:
            self.edit(tenant.id, customizations=replace(tenant.customizations, certificate_arn=before.arn))
            self._activate(tenant.id)
        else:
            self.edit(tenant.id)

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
            self._check_free("CreateDistributionTenant", tenant.domains, None)
            self._check_request(tenant.certificate_request, tenant.domains, None)
            made = self.add(
                name=tenant.name,
                distribution_id=tenant.distribution_id,
                connection_group_id=tenant.connection_group_id or DEFAULT_GROUP,
                domains={d: self._status(tenant, d) for d in tenant.domains},
                enabled=tenant.enabled,
                parameters=dict(tenant.parameters),
                customizations=tenant.customizations,
                tags=dict(tenant.tags or {}),
                status="Deployed" if self.deploys else "InProgress",
            )
            if tenant.certificate_request:
                self._request(made.id, tenant.certificate_request, tenant.domains)
            return replace(made, tags=None)

    def update_tenant(self, id_, etag, tenant, emptied=frozenset(), request=None):
        with _Call(self, "UpdateDistributionTenant"):
            before = self._current(id_, etag)
            self._check_parents(tenant)
            self._check_free("UpdateDistributionTenant", tenant.domains or (), id_)
            self._check_request(request, tenant.domains, id_)
            if request:
                self._request(id_, request, tenant.domains)
            written = {
                "distribution_id": tenant.distribution_id,
                "connection_group_id": tenant.connection_group_id,
                "domains": {
                    d: "active" if before.domains.get(d) == "active" else self._status(tenant, d)
                    for d in tenant.domains or ()
                },
                "enabled": tenant.enabled,
                "parameters": dict(tenant.parameters),
                "customizations": tenant.customizations,
            }
            if not tenant.parameters and "Parameters" not in emptied:
                del written["parameters"]
            if not tenant.customizations and "Customizations" not in emptied:
                del written["customizations"]
            for left_out in ("distribution_id", "connection_group_id", "domains", "enabled"):
                if written[left_out] in (None, {}):
                    del written[left_out]
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
            found = self._by_arn(arn)
            self._store(replace(found, tags={**found.tags, **tags}))

    def untag(self, arn, keys):
        with _Call(self, "UntagResource"):
            found = self._by_arn(arn)
            left = {key: value for key, value in found.tags.items() if key not in keys}
            self._store(replace(found, tags=left))

    def distribution(self, id_):
        with _Call(self, "GetDistribution"):
            return self.distributions.get(id_)

    def managed_certificate(self, tenant):
        with _Call(self, "GetManagedCertificateDetails"):
            return self.managed.get(tenant)

    def certificate(self, arn):
        with _Call(self, "DescribeCertificate"):
            return self.certificates.get(arn)

    def tenant_of_domain(self, domain):
        with _Call(self, "GetDistributionTenantByDomain"):
            return next((t for t in self.tenants.values() if domain in t.domains), None)

    def conflicts(self, domain, tenant):
        with _Call(self, "ListDomainConflicts"):
            return (self.elsewhere[domain],) if domain in self.elsewhere else ()

    def move_domain(self, domain, tenant, etag):
        with _Call(self, "UpdateDomainAssociation"):
            self._current(tenant, etag)
            source = next(t for t in self.tenants.values() if domain in t.domains)
            left = {name: status for name, status in source.domains.items() if name != domain}
            self.edit(source.id, domains=left)
            self.edit(tenant, domains={**self.tenants[tenant].domains, domain: "active"})
            return self.tenants[tenant].etag

    def verify_dns(self, tenant):
        with _Call(self, "VerifyDnsConfiguration"):
            return {
                d: DnsVerdict("valid-configuration" if d in self.pointing else "invalid-configuration")
                for d in self._find(tenant).domains
            }

    def get_group(self, identifier):
        with _Call(self, "GetConnectionGroup"):
            return replace(self._group(identifier), tags=None)

    def default_group(self):
        with _Call(self, "ListConnectionGroups"):
            return next((group for group in self.groups.values() if group.is_default), None)

    def create_group(self, group):
        with _Call(self, "CreateConnectionGroup"):
            if any(other.name == group.name for other in self.groups.values()):
                raise AwsError("CreateConnectionGroup", "EntityAlreadyExists", "exists", status=409)
            return replace(self.add_group(group.name, group), tags=None)

    def update_group(self, id_, etag, group, *, emptied=False):
        with _Call(self, "UpdateConnectionGroup"):
            before = self._current_group(id_, etag)
            if group.enabled is False and not self.disables_used_groups and self.tenants_in(id_):
                raise AwsError("UpdateConnectionGroup", "ResourceInUse", "has tenants", status=409)
            self.groups[id_] = replace(
                before,
                etag=self._next(etag),
                ipv6_enabled=before.ipv6_enabled if group.ipv6_enabled is None else group.ipv6_enabled,
                enabled=before.enabled if group.enabled is None else group.enabled,
                anycast_ip_list_id=None if emptied else group.anycast_ip_list_id or before.anycast_ip_list_id,
                status="Deployed" if self.deploys else "InProgress",
            )
            return replace(self.groups[id_], tags=None)

    def delete_group(self, id_, etag):
        with _Call(self, "DeleteConnectionGroup"):
            group = self._current_group(id_, etag)
            if self.tenants_in(id_):
                raise AwsError("DeleteConnectionGroup", "CannotDeleteEntityWhileInUse", "used", status=409)
            if group.enabled or not (group.deployed or self.deletes_in_progress):
                raise AwsError("DeleteConnectionGroup", "ResourceNotDisabled", "not disabled", status=409)
            del self.groups[id_]

    def tenants_of_group(self, id_):
        with _Call(self, "ListDistributionTenants"):
            return tuple(
                replace(t, tags=None, parameters={})
                for t in self.tenants_in(id_)
                if t.id not in self.unlisted
            )

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
        for resource in (*self.tenants.values(), *self.groups.values()):
            if resource.arn == arn:
                return resource
        raise AwsError("ListTagsForResource", "NoSuchResource", "no such resource", status=404)

    def _current(self, id_, etag):
        tenant = self._find(id_)
        if tenant.etag != etag:
            raise AwsError("Write", "PreconditionFailed", "stale", status=412)
        return tenant

    def _check_parents(self, tenant):
        missing = tenant.distribution_id and tenant.distribution_id not in self.distributions
        if missing or (tenant.connection_group_id and tenant.connection_group_id not in self.groups):
            raise AwsError("Write", "EntityNotFound", "one of them is not there", status=404)

    def _check_free(self, operation, domains, id_):
        others = {name for other in self.tenants.values() if other.id != id_ for name in other.domains}
        if set(domains) & (others | self.elsewhere.keys()):
            raise AwsError(operation, "CNAMEAlreadyExists", "taken", status=409)

    def add_group(self, name, group=None, **values):
        """A connection group; another owner's, unless `group` says what was asked."""
        number = next(self._ids)
        made = ObservedGroup(
            id=f"cg_{number}",
            arn=f"arn:aws:cloudfront::{ACCOUNT}:connection-group/cg_{number}",
            name=name,
            etag="v1",
            routing_endpoint=f"d{number}.cloudfront.net",
            status="Deployed" if self.deploys else "InProgress",
            enabled=group.enabled if group else True,
            ipv6_enabled=group.ipv6_enabled if group else True,
            anycast_ip_list_id=group.anycast_ip_list_id if group else None,
            tags=dict(group.tags or {}) if group else {},
        )
        self.groups[made.id] = replace(made, **values)
        return self.groups[made.id]

    def put_group(self, id_, endpoint="d1.cloudfront.net"):
        """A connection group of that id, another owner's."""
        self.groups[id_] = replace(
            self.groups[DEFAULT_GROUP],
            id=id_,
            name=id_,
            routing_endpoint=endpoint,
            is_default=False,
            arn=f"arn:aws:cloudfront::{ACCOUNT}:connection-group/{id_}",
            tags={},
        )

    def put_distribution(self, id_, **values):
        """Another distribution, like the first but for `values`."""
        self.distributions[id_] = replace(self.distributions[DISTRIBUTION], id=id_, **values)

    def tenants_in(self, group):
        return tuple(t for t in self.tenants.values() if t.connection_group_id == group)

    def _store(self, resource):
        (self.groups if resource.id in self.groups else self.tenants)[resource.id] = resource

    def _group(self, identifier):
        for group in self.groups.values():
            if identifier in (group.id, group.arn, group.name):
                return group
        raise AwsError("GetConnectionGroup", "EntityNotFound", "no such group", status=404)

    def _current_group(self, id_, etag):
        group = self._group(id_)
        if group.etag != etag:
            raise AwsError("Write", "PreconditionFailed", "stale", status=412)
        return group

    def _status(self, tenant, domain):
        own = self.certificates.get(tenant.customizations.certificate_arn)
        inherited = self.certificates.get(self.distributions[tenant.distribution_id].certificate_arn)
        names = [n for c in (own, inherited) if c and c.status == "issued" for n in c.domains]
        covered = domain in names or f"*.{domain.partition('.')[2]}" in names
        return "active" if covered else "inactive"

    def _activate(self, id_):
        tenant = self.tenants[id_]
        self.tenants[id_] = replace(tenant, domains=dict.fromkeys(tenant.domains, "active"))

    def _check_request(self, request, domains, id_):
        if request is None:
            return
        if id_ in self.managed and self.managed[id_].status == "pending-validation":
            raise AwsError("Write", "InvalidArgument", "already a pending request", status=400)
        if request.token_host == "cloudfront" and not domains <= self.pointing:
            raise AwsError("Write", "InvalidArgument", NOT_OWNED, status=400)

    def _request(self, id_, request, domains):
        if self.loses_requests:
            return
        arn = f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/managed-{next(self._ids)}"
        tokens = tuple(Token(d, f"{d}/.well-known/x.txt", f"acm/{d}") for d in sorted(domains))
        host = request.token_host
        self.managed[id_] = Certificate(arn, "pending-validation", host, tokens, frozenset(domains))

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
        if self.operation.startswith("Create"):
            announce_creation()
        self.fake.journal.append(self.operation)
        if self.operation in self.fake.refuse:
            raise self.fake.refuse[self.operation]

    def __exit__(self, *_):
        if self.fake.die == (self.index, "after"):
            raise Killed
