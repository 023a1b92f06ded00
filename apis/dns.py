"""The DNS records that the domain's owner must create, as the status of managed resources and claims shows
them."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube


class RecordType(StrEnum):
    """Type of a DNS record to create."""

    CNAME = "CNAME"
    """An alias for a name below a zone's apex."""
    ALIAS = "ALIAS"
    """The DNS provider's own kind of alias for a zone's apex (Route 53: A and AAAA alias)."""
    TXT = "TXT"
    """A text that proves control of a name."""


class RecordPurpose(StrEnum):
    """What a DNS record is for."""

    ROUTING = "Routing"
    """It leads visitors of the domain to CloudFront."""
    OWNERSHIP = "Ownership"
    """It proves to CloudFront that the domain may be served."""
    VALIDATION = "Validation"
    """It lets a certificate authority validate the domain."""
    PROOF = "Proof"
    """It proves to the provider that the domain's owner agrees to be served for the namespace."""


class RecordState(StrEnum):
    """Whether a DNS record is in place."""

    UNKNOWN = "Unknown"
    """It has not been checked yet."""
    MISSING = "Missing"
    """It does not exist."""
    WRONG = "Wrong"
    """It has another value or type."""
    PRESENT = "Present"
    """It is in place."""


class RecordManager(StrEnum):
    """Who maintains a DNS record."""

    PROVIDER = "Provider"
    """The provider. No action is needed."""


class DnsInstruction(ApiModel):
    """One DNS record that a domain needs, ready to paste."""

    type: RecordType
    """Type of the record: CNAME, ALIAS (at a zone's apex) or TXT."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Full name of the record, without a final dot."""
    value: Annotated[str, Field(min_length=1, max_length=2048)]
    """Value of the record."""
    purpose: RecordPurpose
    """Routing: leads visitors to CloudFront. Ownership: proves that CloudFront may serve the domain.
    Validation: validates the certificate. Proof: proves to the provider that the domain's owner agrees to be
    served for the namespace; the name may have other values, too."""
    state: RecordState = RecordState.UNKNOWN
    """Whether the record is in public DNS: Unknown, Missing, Wrong or Present."""
    found: Annotated[str | None, Field(max_length=1024)] = None
    """What DNS has instead, or what else is wrong there: signatures that resolvers reject, or a CAA record
    that forbids Amazon's certificate authority. Unset: nothing is known to be."""
    managed_by: RecordManager | None = None
    """Provider: the provider creates and maintains the record. Unset: the domain's owner creates it."""


DnsInstructions = Annotated[
    tuple[DnsInstruction, ...],
    Field(max_length=1500),
    Kube(list_type="atomic"),
]
"""The records of one tenant or claim. Like the other lists of a status, it is atomic: it has one writer. For
a list of type map, the API server also stores who wrote which field of which item: half the size of a claim
with 100 domains."""
