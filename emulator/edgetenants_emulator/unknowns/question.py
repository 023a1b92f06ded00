"""An open question: behaviour that AWS does not document, the emulator's choice, and sources."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GUIDE", "MODEL", "Unknown"]

MODEL = "botocore, cloudfront/2020-05-31"
GUIDE = "CloudFront developer guide"


@dataclass(frozen=True)
class Unknown:
    """One open question."""

    question: str
    reading: str
    """The emulator's default behaviour."""
    settings: tuple[str, ...]
    """The settings that change it; may be empty."""
    sources: tuple[str, ...]
