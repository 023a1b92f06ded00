"""As much of an API server as lists managed resources, over the wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

MODERN, LEGACY = "cloudfront.m.edgetenants.io", "cloudfront.edgetenants.io"


class Cluster:
    """Objects, and which lists of them are refused."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.objects: list[dict[str, Any]] = []
        self.served = {MODERN}
        self.allowed: set[str] | None = None
        """Namespaces whose objects may be listed; None: those of all at once."""
        self.requests: list[str] = []

    def answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        """What is answered to a list; anything else is no request that a plan may make."""
        self.requests.append(f"{method} {path}")
        group, *rest = path.removeprefix("/apis/").split("/")
        namespace = rest[2] if len(rest) == 4 else ""
        if method != "GET" or not path.startswith("/apis/"):
            return 405, {}
        if group not in self.served:
            return 404, {"message": "the server could not find the requested resource"}
        if self.allowed is not None and namespace not in self.allowed:
            return 403, {"message": f"cannot list {rest[-1]}", "reason": "Forbidden"}
        items = [each for each in self.objects if self._is_of(each, group, rest[-1], namespace)]
        return 200, {"metadata": {"resourceVersion": "7"}, "items": items}

    @staticmethod
    def _is_of(obj: dict[str, Any], group: str, plural: str, namespace: str) -> bool:
        return (
            obj["apiVersion"].partition("/")[0] == group
            and f"{obj['kind']}s".lower() == plural
            and namespace in ("", obj["metadata"].get("namespace"))
        )


@contextmanager
def serving(folder: Path) -> Iterator[Cluster]:
    """A cluster that is served, with its kubeconfig in the folder."""
    cluster = Cluster(folder / "kubeconfig")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = cluster.answer(self.command, urlparse(self.path).path)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    cluster.kubeconfig.write_text(json.dumps(config))
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
