"""What can be done to a tenant: the words of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.aws.disabling import Said
from provider.cloudfront.state.certificates import Request
from provider.cloudfront.state.desired import Tenant

__all__ = [
    "Action",
    "AttachCertificate",
    "CreateTenant",
    "DeleteTenant",
    "DisableTenant",
    "MoveDomain",
    "RequestCertificate",
    "TagTenant",
    "UntagTenant",
    "UpdateTenant",
    "Wait",
]

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


@dataclass(frozen=True)
class RequestCertificate:
    """UpdateDistributionTenant with the tenant as it is, and ManagedCertificateRequest."""

    id: str
    tenant: Tenant
    request: Request

    def __str__(self) -> str:
        return f"{_ASKED} for tenant {self.tenant.name}"


@dataclass(frozen=True)
class AttachCertificate:
    """UpdateDistributionTenant with the tenant as it is, and the certificate in its customizations, all of
    which are sent: CloudFront replaces them as a whole."""

    id: str
    tenant: Tenant
    arn: str

    def __str__(self) -> str:
        return f"attached certificate {self.arn} to tenant {self.tenant.name}"


@dataclass(frozen=True)
class TagTenant:
    """TagResource."""

    arn: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"set tags {', '.join(sorted(self.tags))}"


@dataclass(frozen=True)
class UntagTenant:
    """UntagResource."""

    arn: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"removed tags {', '.join(self.keys)}"


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


@dataclass(frozen=True)
class DeleteTenant:
    """DeleteDistributionTenant."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"deleted tenant {self.name}"


@dataclass(frozen=True)
class Wait:
    """Nothing can be done for the moment; look again."""

    reason: str
    seconds: float
    """Of the injected clock."""

    def __str__(self) -> str:
        return self.reason


Action = (
    CreateTenant
    | UpdateTenant
    | MoveDomain
    | RequestCertificate
    | AttachCertificate
    | TagTenant
    | UntagTenant
    | DisableTenant
    | DeleteTenant
    | Wait
)
