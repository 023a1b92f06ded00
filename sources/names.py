"""Names of Kubernetes objects from texts of any form."""

from __future__ import annotations

import hashlib
import re
from typing import Final

__all__ = ["LONGEST", "label_value", "object_name"]

LONGEST: Final = 63
"""Characters of an object's name. Crossplane puts a composite's name into labels, which may have no more."""
_DIGITS: Final = 10
_VALID: Final = re.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LABEL: Final = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def object_name(text: str) -> str:
    """The text, if it is a name that Kubernetes accepts (RFC 1123 label); else a readable form of it with a
    hash, so that two texts do not get one name.

    >>> object_name("acme"), object_name("Ünïted Shoes!")
    ('acme', 'n-ted-shoes-5a8bf19083')
    """
    if len(text) <= LONGEST and _VALID.fullmatch(text):
        return text
    readable = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[: LONGEST - _DIGITS - 1].rstrip("-")
    return f"{readable}-{_digest(text)}" if readable else _digest(text)


def label_value(text: str) -> str:
    """The text, if it can be the value of a label; else a readable form of it with a hash."""
    if len(text) <= LONGEST and _LABEL.fullmatch(text):
        return text
    readable = re.sub("[^A-Za-z0-9._-]+", "-", text)[: LONGEST - _DIGITS - 1].strip("-._")
    return f"{readable}-{_digest(text)}" if readable else _digest(text)


def _digest(text: str) -> str:
    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: _DIGITS - 1]
