"""HTTP requests and responses, independent of a server's types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import parse_qsl

__all__ = ["Request", "Response", "json_response"]

_INDENTED_CHARACTERS = 2_000
"""Maximum length of a response that is indented."""


@dataclass(frozen=True)
class Request:
    """An HTTP request."""

    method: str
    path: str
    """The path without the query string, still percent-encoded: an ARN in a path contains `%2F`."""
    query_string: str
    headers: Mapping[str, str]
    """The headers, with names in lower case."""
    body: bytes

    @cached_property
    def query(self) -> dict[str, str]:
        """The decoded keys and values of the query string. A key without a value has an empty one."""
        return dict(parse_qsl(self.query_string, keep_blank_values=True))

    def json(self) -> Any:
        """The body as JSON; an empty body is an empty object. Raises ValueError for invalid JSON."""
        try:
            found = json.loads(self.body, parse_constant=_no_number) if self.body.strip() else {}
            if b"\\ud" in self.body.lower():
                json.dumps(
                    found, ensure_ascii=False
                ).encode()  # an unpaired surrogate cannot be in a response
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the body is not valid JSON: {error}") from error
        return found


@dataclass(frozen=True)
class Response:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response. A short one is indented for people. A long one is not, because Python indents thirty
    times slower, and a test may read the complete state after each step."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _INDENTED_CHARACTERS:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    return Response(status, {"Content-Type": "application/json"}, text.encode() + b"\n")
