"""Calls of the emulator's admin API. They keep their connection: tests make thousands."""

from __future__ import annotations

import json
from typing import Any

import urllib3


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
        headers = {"Content-Type": "application/json"}
        answer = self._connections.request(method, f"{self._url}/{path}", body=data, headers=headers)
        if answer.status >= 400:
            raise RefusedError(f"{method} {path}: {answer.status} {answer.data!r}")
        return json.loads(answer.data) if answer.data else None
