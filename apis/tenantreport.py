"""TenantReport: the input of the composition function as a step of an Operation that reports on claims.

An Operation runs functions once or on a schedule, without composing anything (Crossplane v2, alpha).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from edgetenants_runtime.api.model import NOT_TEXT, ApiModel
from edgetenants_runtime.api.references import LabelMap, NamespaceName

from . import errors

API_VERSION: Final = "edgetenants.fn.crossplane.io/v1alpha1"
KIND: Final = "TenantReport"


class ReportedClaims(ApiModel):
    """The claims to report on."""

    api_version: Annotated[str, Field(min_length=1, max_length=316)] = "platform.edgetenants.io/v1alpha1"
    """Group and version of the claims."""
    kind: Annotated[str, Field(min_length=1, max_length=63)] = "TenantClaim"
    """Kind of the claims: TenantClaim, or XTenantClaim for legacy claims."""
    match_labels: LabelMap | None = None
    """Only claims with all these labels. Unset: all claims."""
    namespace: NamespaceName | None = None
    """Only claims in this namespace; requires Crossplane v2. Unset: all namespaces."""


class TenantReport(ApiModel):
    """The contents of the report."""

    api_version: Literal["edgetenants.fn.crossplane.io/v1alpha1"] = API_VERSION
    """Group and version."""
    kind: Literal["TenantReport"] = KIND
    """Kind."""
    metadata: dict[str, Any] | None = None
    """Metadata; not read."""
    claims: ReportedClaims = ReportedClaims()
    """The claims to report on."""
    most_rows: Annotated[int, Field(ge=0, le=1000), NOT_TEXT] = 100
    """Maximum number of claims that the report lists with what they need, 0 to 1000; it counts the rest. An
    Operation keeps the report in its status, which must fit into one object."""


def parse(value: Mapping[str, Any]) -> TenantReport:
    """Read the function's input.

    Raises:
        errors.InvalidInput: with all problems, each with its path.
    """
    return errors.parse(TenantReport, value)
