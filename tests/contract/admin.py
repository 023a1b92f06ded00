"""Calls of the emulator's admin API. They keep their connection: tests make thousands."""

from __future__ import annotations

import json
from typing import Any

import urllib3

from tests.contract import in_process


class RefusedError(Exception):
    """The emulator refuses the call."""


class Admin:
    """The admin API of one emulator. Thread-safe."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/_edgetenants"
        self._connections = urllib3.PoolManager(timeout=30, retries=False)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, parsed; None if it is empty. Raises RefusedError."""
        data = None if body is None else json.dumps(body).encode()
        status, content = self._answer(method, f"{self._url}/{path}", data)
        if status >= 400:
            raise RefusedError(f"{method} {path}: {status} {content!r}")
        return json.loads(content) if content else None

    def _answer(self, method: str, url: str, data: bytes | None) -> tuple[int, bytes]:
        found = in_process.answer(method, url, {"content-type": "application/json"}, data or b"")
        if found is not None:
            return found.status, found.body
        headers = {"Content-Type": "application/json"}
        answer = self._connections.request(method, url, body=data, headers=headers)
        return answer.status, answer.data
