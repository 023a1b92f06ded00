"""Advice in messages to the author of a resource: in terms of its own annotations and fields or, if a claim
composes it, in terms of what the claim's author and the platform team can set (pure)."""

from __future__ import annotations

from typing import Final

from apis import kinds
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain.moves import TAKE_ANNOTATION
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION

__all__ = [
    "another_name",
    "certificate",
    "correcting",
    "disabling",
    "field_to_edit",
    "name_field",
    "sentence",
    "sources",
    "take_over",
]

_CLAIMS: Final = f"{kinds.TENANT_CLAIM.group}/"


def name_field(mr: Managed) -> str:
    """Return the field that sets the external name."""
    if not _of_claim(mr):
        return f"metadata.annotations[{EXTERNAL_NAME}]"
    if mr.external_name and mr.external_name == mr.annotations.get(ADOPT_ANNOTATION):
        return "spec.adopt.tenantId of the claim"
    return "metadata.name of the claim"


def sources(mr: Managed) -> str:
    """Return the advice for a resource that takes domains from many tenants."""
    some = "each reconcile checks a few of these tenants; the next reconcile continues with the others"
    if _of_claim(mr):
        return f"The domains belong to many tenants: {some}. No action is needed"
    return f"metadata.annotations[{TAKE_ANNOTATION}]: {some}. Remove the ids that are no longer needed"


def another_name(mr: Managed) -> str:
    """Return how to give the resource another external name, as the end of a sentence."""
    if _of_claim(mr):
        return "create the claim under another name"
    return f"choose another name with the annotation {EXTERNAL_NAME}"


def take_over(mr: Managed, id_: str) -> str:
    """Return how to adopt the external resource with that id."""
    if mr.deleted and _of_claim(mr):
        # Its claim may be gone.
        return f"set the annotation {ADOPT_ANNOTATION} of {mr.kind} {mr.name} to {id_}"
    if _of_claim(mr) and mr.kind == kinds.DISTRIBUTION_TENANT.kind:
        return f"set spec.adopt.tenantId of the claim to {id_}, which its plan must allow (allow.adopt)"
    if _of_claim(mr):
        return f"have the platform team set the annotation {ADOPT_ANNOTATION} of this resource to {id_}"
    return f"set the annotation {ADOPT_ANNOTATION} to {id_}"


def field_to_edit(mr: Managed, field: str) -> str:
    """Return where to add or remove values of a field of spec.forProvider."""
    return (
        f"spec.{field} of the claim, or {field} of its plan" if _of_claim(mr) else f"spec.forProvider.{field}"
    )


def disabling(mr: Managed) -> str:
    """Return how to disable the other tenant, which gives up a domain."""
    # There is no field for the claim's own former tenant: a claim suspends all its tenants.
    return "suspend its claim" if _of_claim(mr) else "set spec.forProvider.enabled to false there"


def correcting(mr: Managed, error: AwsError) -> str:
    """Return what the claim's author has to correct when AWS refuses; "" if the error says what to do."""
    wrong = error.asked_wrongly and _of_claim(mr)
    return "Correct the claim or its plan; the provider retries as soon as it changes" if wrong else ""


def certificate(mr: Managed) -> str:
    """Return how to give the tenant a certificate."""
    if _of_claim(mr):
        return "Set spec.certificate of the claim, or certificate of its plan"
    return "Name one in spec.forProvider.customizations.certificate, or add managedCertificateRequest"


def sentence(words: str) -> str:
    """Return the words with a capital letter, for the start of a sentence."""
    return f"{words[:1].upper()}{words[1:]}"


def _of_claim(mr: Managed) -> bool:
    """Whether a TenantClaim composes it; the fields of other composites are unknown here."""
    owners = mr.metadata.get("ownerReferences") or ()
    return any(each.get("controller") and each.get("apiVersion", "").startswith(_CLAIMS) for each in owners)
