"""What can be done to a tenant: the words of a plan, and the call that each stands for."""

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
    "DisableTenant",
    "MoveDomain",
    "RequestCertificate",
    "UpdateTenant",
]

_Effects = Effects[ObservedTenant]

_ASKED: Final = "asked CloudFront for a certificate"
_TOLD: Final = 5
"""Changed fields that a story tells; an event has room for a thousand characters."""


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
    """UpdateDistributionTenant with the whole tenant, whatever it does with what is left out."""

    id: str
    tenant: Tenant
    changes: tuple[FieldDiff, ...]
    """What differed, for the story."""
    emptied: frozenset[str] = frozenset()
    """Members of the request whose last entry is taken away: Parameters, Customizations."""
    request: Request | None = None
    """The certificate that is asked for in the same call, as CloudFront takes no domain without one."""

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
    """The tenant that has it, as it may be named."""

    def __str__(self) -> str:
        return f"moved domain {self.domain} from tenant {self.source} to tenant {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        etag = cloudfront.move_domain(self.domain, self.id, effects.etag)
        effects.seen = effects.there.given(self.domain, etag)


@dataclass(frozen=True)
class RequestCertificate:
    """UpdateDistributionTenant with the tenant as it is, and ManagedCertificateRequest."""

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
    """UpdateDistributionTenant with the tenant as it is, and the certificate in its customizations, all of
    which are sent: CloudFront replaces them as a whole."""

    id: str
    tenant: Tenant
    arn: str

    def __str__(self) -> str:
        return f"attached certificate {self.arn} to tenant {self.tenant.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.answered(cloudfront.update_tenant(self.id, effects.etag, self.tenant))


@dataclass(frozen=True)
class DisableTenant:
    """UpdateDistributionTenant of Enabled; where AWS wants more said, with the tenant as CloudFront has it.

    As it is there and not as the spec has it: an edit made just before the deletion, such as a domain that is
    in use elsewhere, must not hold it up.
    """

    id: str
    name: str
    ways: tuple[tuple[Said, Tenant], ...]
    """The updates to try, in this order, until AWS takes one."""

    def __str__(self) -> str:
        return f"disabled tenant {self.name}"

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
