"""Answers to HTTP requests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer", "refusal"]


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


def refusal(status: int, why: str) -> Answer:
    """An answer that says why there is no other."""
    return Answer(status, f"{why}\n".encode())
