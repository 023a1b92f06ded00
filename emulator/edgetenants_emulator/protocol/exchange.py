"""One HTTP request and its answer, free of any server's types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import parse_qsl

__all__ = ["Request", "Response", "json_response"]


@dataclass(frozen=True)
class Request:
    """What came over the wire."""

    method: str
    path: str
    """Without the query string, still percent-encoded: an ARN in a path holds `%2F`."""
    query_string: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @cached_property
    def query(self) -> dict[str, str]:
        """The query string's keys and values, decoded; a key without a value has the empty one."""
        return dict(parse_qsl(self.query_string, keep_blank_values=True))

    def json(self) -> Any:
        """The body as JSON, an empty one as an empty object. Raises ValueError when it is none."""
        try:
            found = json.loads(self.body, parse_constant=_no_number) if self.body.strip() else {}
            if b"\\ud" in self.body.lower():
                json.dumps(found, ensure_ascii=False).encode()  # half of a character can be in no answer
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the body is not valid JSON: {error}") from error
        return found


@dataclass(frozen=True)
class Response:
    """What goes back."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def json_response(value: Any, status: int = 200) -> Response:
    """An answer in JSON, indented for people."""
    body = json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    return Response(status, {"Content-Type": "application/json"}, body)
