"""What a message advises whoever wrote the resource: by its own annotations and fields, or, where a claim
composes it, by what the claim's author and the plan's owner can set (pure)."""

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
    "name_field",
    "sentence",
    "sources",
    "take_over",
    "wanting",
]

_CLAIMS: Final = f"{kinds.TENANT_CLAIM.group}/"


def name_field(mr: Managed) -> str:
    """Where the external name is from."""
    if not _of_claim(mr):
        return f"metadata.annotations[{EXTERNAL_NAME}]"
    if mr.external_name and mr.external_name == mr.annotations.get(ADOPT_ANNOTATION):
        return "spec.adopt.tenantId of the claim"
    return "metadata.name of the claim"


def sources(mr: Managed) -> str:
    """What is said of the many tenants from which a resource takes domains."""
    some = "each reconcile looks at a few of these tenants; the next reconcile goes on with the others"
    if _of_claim(mr):
        return f"The domains are those of many tenants: {some}. Nobody needs to act"
    return f"metadata.annotations[{TAKE_ANNOTATION}]: {some}. Remove the ids that are not needed any more"


def another_name(mr: Managed) -> str:
    """How the resource gets another external name, as a sentence ends."""
    if _of_claim(mr):
        return "make the claim under another name"
    return f"choose another name with the annotation {EXTERNAL_NAME}"


def take_over(mr: Managed, id_: str) -> str:
    """How somebody says that the external resource of that id is to be this resource's."""
    if mr.deleted and _of_claim(mr):
        # Its claim may be gone.
        return f"set the annotation {ADOPT_ANNOTATION} of {mr.kind} {mr.name} to {id_}"
    if _of_claim(mr) and mr.kind == kinds.DISTRIBUTION_TENANT.kind:
        return f"set spec.adopt.tenantId of the claim to {id_}, which its plan must allow (allow.adopt)"
    if _of_claim(mr):
        return f"have the platform team set the annotation {ADOPT_ANNOTATION} of this resource to {id_}"
    return f"set the annotation {ADOPT_ANNOTATION} to {id_}"


def wanting(mr: Managed, field: str) -> str:
    """Where values of a field of spec.forProvider are added or removed."""
    return (
        f"spec.{field} of the claim, or {field} of its plan" if _of_claim(mr) else f"spec.forProvider.{field}"
    )


def disabling(mr: Managed) -> str:
    """How another tenant, which gives a domain, is disabled."""
    # For the claim's own tenant of before there is no such field: claims suspend all of theirs.
    return "suspend its claim" if _of_claim(mr) else "set spec.forProvider.enabled to false there"


def correcting(mr: Managed, error: AwsError) -> str:
    """What whoever is refused by AWS corrects; empty where the error alone tells what to do."""
    wrong = error.asked_wrongly and _of_claim(mr)
    return "Correct the claim or its plan; a change is tried at once" if wrong else ""


def certificate(mr: Managed) -> str:
    """How the tenant gets a certificate."""
    if _of_claim(mr):
        return "Set spec.certificate of the claim, or certificate of its plan"
    return "Name one in spec.forProvider.customizations.certificate, or add managedCertificateRequest"


def sentence(words: str) -> str:
    """The words at the beginning of a sentence."""
    return f"{words[:1].upper()}{words[1:]}"


def _of_claim(mr: Managed) -> bool:
    """A TenantClaim composes it; other composites have fields of which nothing is known here."""
    owners = mr.metadata.get("ownerReferences") or ()
    return any(each.get("controller") and each.get("apiVersion", "").startswith(_CLAIMS) for each in owners)
