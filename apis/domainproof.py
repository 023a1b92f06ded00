"""Proof of a domain: whether a TXT record must show that its owner agrees to be served for a namespace."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube

from .domains import AllowedDomain


class DomainProofMode(StrEnum):
    """Whether domains need a proof."""

    REQUIRED = "Required"
    """A tenant gets a domain only if public DNS has the TXT record of status.dnsInstructions with purpose
    Proof. The value depends on the namespace and the domain."""
    NOT_REQUIRED = "NotRequired"
    """Domains need no proof."""


class DomainProof(ApiModel):
    """Which domains need a proof."""

    mode: DomainProofMode
    """Required: a tenant gets a domain only if public DNS has the TXT record of status.dnsInstructions with
    purpose Proof. It keeps the domains that it has. NotRequired: domains need no proof."""
    exempt: Annotated[
        tuple[AllowedDomain, ...] | None, Field(min_length=1, max_length=101), Kube(list_type="set")
    ] = None
    """Domains that need none, such as those of the platform team. `shop.example.com` matches that name,
    `*.example.com` the names one label below it, `**.example.com` all names below it. The label `{namespace}`
    matches the namespace. Unset: every domain needs a proof."""


class PlanDomainProof(DomainProof):
    """Which domains of claims need a proof."""

    exempt: Annotated[
        tuple[AllowedDomain, ...] | None, Field(min_length=1, max_length=100), Kube(list_type="set")
    ] = None
    """Domains that need none, at most 100 entries, in the form of `allow.domains`. The names below
    `parkingDomain` never need one. Unset: every domain needs a proof."""
