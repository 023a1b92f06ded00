"""Tags and parameters: maps from names to values, with the limits of CloudFront's API model."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from edgetenants_runtime.api.model import Kube, Rule

RESERVED_TAG_PREFIXES: Final = ("aws:", "crossplane-", "edgetenants")
"""Prefixes of tag keys that are reserved for AWS, Crossplane and this provider."""

_TAG_CHARACTERS = r"^[\p{L}\p{Z}\p{N}_.:/=+@-]*$"
_PARAMETER_NAME = "^[a-zA-Z0-9_-]+$"
_SENDABLE: Final = r"^[^\x00-\x08\x0B-\x1F\x{FFFE}\x{FFFF}]*$"
_UNSENDABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
"""CloudFront's API uses XML 1.0, which does not allow these characters (CloudFront answers MalformedXML). XML
also reads a carriage return as a line feed, so the value would show as drift for ever."""


def is_reserved_tag(key: str) -> bool:
    """The key begins with a reserved prefix, or looks like that to a reader: with leading blanks, in upper
    case, or in letters that Unicode regards as the same. The API server refuses only the first two."""
    return unicodedata.normalize("NFKC", key).strip().casefold().startswith(RESERVED_TAG_PREFIXES)


def _fit(values: Mapping[str, Any], longest: int) -> bool:
    return all(1 <= len(key) <= longest for key in values)


_NOT_RESERVED = " || ".join(
    f"key.trim().lowerAscii().startsWith('{prefix}')" for prefix in RESERVED_TAG_PREFIXES
)


def _has_tag_characters(key: str) -> bool:
    return all(char in "_.:/=+@-" or unicodedata.category(char)[0] in "LNZ" for char in key)


def _check_sendable(value: str) -> str:
    if _UNSENDABLE.search(value):
        text = (
            "expected no control characters except tabs and line feeds, as CloudFront's API accepts no others"
        )
        raise PydanticCustomError("parameter", "{text}", {"text": text})
    return value


Tags = Annotated[
    dict[str, Annotated[str, Field(max_length=256, pattern=_TAG_CHARACTERS)]],
    Field(max_length=50),
    Kube(
        rules=(
            Rule(
                f"self.all(key, !({_NOT_RESERVED}))",
                "expected tag keys that do not start with aws:, crossplane- or edgetenants",
                lambda tags: not any(map(is_reserved_tag, tags)),
            ),
            Rule(
                "self.all(key, size(key) >= 1 && size(key) <= 128)",
                "expected tag keys of 1 to 128 characters",
                lambda tags: _fit(tags, 128),
            ),
            Rule(
                f"self.all(key, key.matches(r'{_TAG_CHARACTERS}'))",
                "expected tag keys of letters, digits, spaces and the characters _ . : / = + @ -",
                lambda tags: all(map(_has_tag_characters, tags)),
            ),
        )
    ),
]
"""AWS tags: at most 50, keys of 1 to 128 characters, values of up to 256."""

ParameterValue = Annotated[
    str,
    Field(min_length=1, max_length=256, json_schema_extra={"pattern": _SENDABLE}),
    AfterValidator(_check_sendable),
]
"""The value of a parameter."""

ParameterMap = Annotated[
    dict[str, ParameterValue],
    Field(max_length=50),
    Kube(
        rules=(
            Rule(
                f"self.all(name, size(name) <= 128 && name.matches('{_PARAMETER_NAME}'))",
                "expected parameter names of 1 to 128 letters, digits, - and _",
                lambda names: (
                    _fit(names, 128) and all(re.fullmatch("[a-zA-Z0-9_-]+", name) for name in names)
                ),
            ),
        )
    ),
]
"""Values for the parameters that a multi-tenant distribution defines: at most 50, values of 1 to 256
characters."""
