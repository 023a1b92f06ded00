"""The actions on a tenant. A plan consists of these; each makes one call to CloudFront."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.disabling import Said
from provider.cloudfront.lifecycle.actions import Effects
from provider.cloudfront.state.certificates import Request
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant

__all__ = [
    "AttachCertificate",
    "CreateTenant",
    "DeleteTenant",
    "MoveDomain",
    "RequestCertificate",
    "SwitchTenant",
    "UpdateTenant",
]

_Effects = Effects[ObservedTenant]

_ASKED: Final = "requested a certificate from CloudFront"
_TOLD: Final = 5
"""The most changed fields that an event lists; an event has room for a thousand characters."""


@dataclass(frozen=True)
class CreateTenant:
    """CreateDistributionTenant."""

    tenant: Tenant

    def __str__(self) -> str:
        asking = f", {_ASKED}" if self.tenant.certificate_request else ""
        return f"created tenant {self.tenant.name}{asking}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.seen = replace(cloudfront.create_tenant(self.tenant), tags=self.tenant.tags)
        effects.requested = self.tenant.certificate_request is not None


@dataclass(frozen=True)
class UpdateTenant:
    """UpdateDistributionTenant with the whole tenant, so it does not matter what omitted fields mean."""

    id: str
    tenant: Tenant
    changes: tuple[FieldDiff, ...]
    """The differences, for the event."""
    emptied: frozenset[str] = frozenset()
    """Members of the request whose last entry is removed: Parameters, Customizations."""
    request: Request | None = None
    """The certificate to request in the same call, as CloudFront accepts no domain without one."""

    def __str__(self) -> str:
        told = [f"{change.field} {change.observed} → {change.desired}" for change in self.changes[:_TOLD]]
        more = [f"and {len(self.changes) - _TOLD} more fields"] if len(self.changes) > _TOLD else []
        asking = [_ASKED] if self.request else []
        return f"updated tenant {self.tenant.name}: {', '.join(told + more + asking)}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        etag, emptied, request = effects.etag, self.emptied, self.request
        effects.answered(cloudfront.update_tenant(self.id, etag, self.tenant, emptied, request))
        effects.requested |= request is not None


@dataclass(frozen=True)
class MoveDomain:
    """UpdateDomainAssociation."""

    id: str
    name: str
    domain: str
    source: str
    """The tenant that has the domain, described as far as the reader may know it."""

    def __str__(self) -> str:
        return f"moved domain {self.domain} from tenant {self.source} to tenant {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        etag = cloudfront.move_domain(self.domain, self.id, effects.etag)
        effects.seen = effects.there.given(self.domain, etag)


@dataclass(frozen=True)
class RequestCertificate:
    """UpdateDistributionTenant with the tenant unchanged and a ManagedCertificateRequest."""

    id: str
    tenant: Tenant
    request: Request

    def __str__(self) -> str:
        return f"{_ASKED} for tenant {self.tenant.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.answered(cloudfront.update_tenant(self.id, effects.etag, self.tenant, request=self.request))
        effects.requested = True


@dataclass(frozen=True)
class AttachCertificate:
    """UpdateDistributionTenant that changes only the certificate. It sends all customizations, because
    CloudFront replaces them as a whole."""

    id: str
    tenant: Tenant
    arn: str

    def __str__(self) -> str:
        return f"attached certificate {self.arn} to tenant {self.tenant.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.answered(cloudfront.update_tenant(self.id, effects.etag, self.tenant))


@dataclass(frozen=True)
class SwitchTenant:
    """UpdateDistributionTenant with Enabled and, if AWS requires more members, the observed tenant.

    It sends the observed values, not the desired ones: an edit just before the deletion, such as a domain
    that is in use elsewhere, must not block the deletion.
    """

    id: str
    name: str
    enabled: bool
    ways: tuple[tuple[Said, Tenant], ...]
    """The updates to try, in this order, until AWS accepts one."""

    def __str__(self) -> str:
        return f"{'enabled' if self.enabled else 'disabled'} tenant {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        etag = effects.etag
        effects.switched(self.ways, lambda way: cloudfront.update_tenant(self.id, etag, way))


@dataclass(frozen=True)
class DeleteTenant:
    """DeleteDistributionTenant."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"deleted tenant {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        cloudfront.delete_tenant(self.id, effects.etag)
        effects.seen = None
