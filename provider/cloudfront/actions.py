"""What can be done to a tenant: the words of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.desired import Tenant

__all__ = [
    "Action",
    "CreateTenant",
    "DeleteTenant",
    "DisableTenant",
    "TagTenant",
    "UntagTenant",
    "UpdateTenant",
    "Wait",
]

_TOLD: Final = 5
"""Changed fields that a story tells; an event has room for a thousand characters."""


@dataclass(frozen=True)
class CreateTenant:
    """CreateDistributionTenant."""

    tenant: Tenant

    def __str__(self) -> str:
        return f"created tenant {self.tenant.name}"


@dataclass(frozen=True)
class UpdateTenant:
    """UpdateDistributionTenant with the whole tenant, whatever it does with what is left out."""

    id: str
    tenant: Tenant
    changes: tuple[FieldDiff, ...]
    """What differed, for the story."""
    emptied: frozenset[str] = frozenset()
    """Members of the request whose last entry is taken away: Parameters, Customizations."""

    def __str__(self) -> str:
        told = [f"{change.field} {change.observed} → {change.desired}" for change in self.changes[:_TOLD]]
        more = [f"and {len(self.changes) - _TOLD} more fields"] if len(self.changes) > _TOLD else []
        return f"updated tenant {self.tenant.name}: {', '.join(told + more)}"


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
    """UpdateDistributionTenant with the tenant as CloudFront has it, but disabled.

    As it is there and not as the spec has it: an edit made just before the deletion, such as a domain that is
    in use elsewhere, must not hold it up.
    """

    id: str
    tenant: Tenant

    def __str__(self) -> str:
        return f"disabled tenant {self.tenant.name}"


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


Action = CreateTenant | UpdateTenant | TagTenant | UntagTenant | DisableTenant | DeleteTenant | Wait
