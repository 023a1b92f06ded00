"""What somebody must still enter into DNS, in the form in which it is shown on managed resources and
claims."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube


class RecordType(StrEnum):
    """Type of a DNS record to be made."""

    CNAME = "CNAME"
    """An alias for a name below the top of a zone."""
    ALIAS = "ALIAS"
    """The zone provider's own kind of alias for the top of a zone (Route 53: A and AAAA alias)."""
    TXT = "TXT"
    """A text that proves control over a name."""


class RecordPurpose(StrEnum):
    """What a DNS record is for."""

    ROUTING = "Routing"
    """It leads visitors of the domain to CloudFront."""
    OWNERSHIP = "Ownership"
    """It proves to CloudFront that the domain may be served."""
    VALIDATION = "Validation"
    """It lets a certificate authority validate the domain."""


class RecordState(StrEnum):
    """Whether a DNS record is in place."""

    UNKNOWN = "Unknown"
    """It could not be looked up yet."""
    MISSING = "Missing"
    """It is not there."""
    WRONG = "Wrong"
    """Something else is there."""
    PRESENT = "Present"
    """It is in place."""


class DnsInstruction(ApiModel):
    """One DNS record that somebody must make, ready to paste."""

    type: RecordType
    """Type of the record: CNAME, ALIAS (at the top of a zone) or TXT."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Full name of the record, without a final dot."""
    value: Annotated[str, Field(min_length=1, max_length=2048)]
    """Value of the record."""
    purpose: RecordPurpose
    """Routing leads visitors to CloudFront, Ownership proves that the domain may be served, Validation is for
    the certificate."""
    state: RecordState = RecordState.UNKNOWN
    """Whether the record was seen in public DNS: Unknown, Missing, Wrong or Present."""


DnsInstructions = Annotated[
    tuple[DnsInstruction, ...],
    Field(max_length=1000),
    Kube(list_type="map", keys=("type", "name", "purpose")),
]
"""The records of one tenant or claim."""
