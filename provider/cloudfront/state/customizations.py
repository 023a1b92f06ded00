"""The settings with which a tenant may override its distribution, as plain values.

The desired and the observed state have the same types, so that they compare (API model: Customizations).
Lists without a meaningful order are sets: CloudFront returns locations sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["INHERITED", "Customizations", "GeoRestrictions", "WebAcl"]


@dataclass(frozen=True)
class WebAcl:
    """The web ACL of one tenant."""

    action: str
    """override or disable."""
    arn: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.action, self.arn)))


@dataclass(frozen=True)
class GeoRestrictions:
    """The countries that one tenant serves."""

    restriction_type: str
    """none, whitelist or blacklist."""
    locations: frozenset[str] = frozenset()
    """ISO 3166-1 alpha-2."""

    def __str__(self) -> str:
        return " ".join((self.restriction_type, *sorted(self.locations)))


@dataclass(frozen=True)
class Customizations:
    """All customizations; None means that the distribution's setting applies."""

    web_acl: WebAcl | None = None
    certificate_arn: str | None = None
    geo_restrictions: GeoRestrictions | None = None

    def __bool__(self) -> bool:
        return any((self.web_acl, self.certificate_arn, self.geo_restrictions))


INHERITED: Final = Customizations()
"""No customizations."""
