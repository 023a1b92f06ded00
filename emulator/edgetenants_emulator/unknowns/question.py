"""The form of an open question: what AWS does not say, how it is read here, where that comes from."""

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
    """What the emulator does by default."""
    settings: tuple[str, ...]
    """What switches it; empty where nothing does."""
    sources: tuple[str, ...]
