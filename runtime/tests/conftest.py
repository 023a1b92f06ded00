"""A scripted API server over HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlparse

import pytest

from edgetenants_runtime.clock import Stopwatch, SystemClock, pause
from edgetenants_runtime.kube.client import KubeClient

pytest.register_assert_rewrite("edgetenants_runtime.testing.cases")

Json = dict[str, Any]


class ScriptedServer:
    """Answers lists and watches as scripted, each answer once, the last one for ever; notes all requests."""

    TOYS_CRD: ClassVar[Json] = {
        "metadata": {"name": "toys.toys.m.example.org", "uid": "crd-toys", "resourceVersion": "5"}
    }

    @staticmethod
    def listed(*items: Json) -> tuple[int, Json]:
        """The answer to a list."""
        return 200, {"metadata": {"resourceVersion": "7"}, "items": list(items)}

    def __init__(self) -> None:
        self.lists: list[tuple[int, Json]] = []
        self.watches: list[Any] = ["hang"]
        """Each a status code, or a list of lines with "hang" (stay open), "drop" (cut the connection),
        an Event (go on when it is set)."""
        self.crds: tuple[int, Json] = self.listed(self.TOYS_CRD)
        """What there is to say about CustomResourceDefinitions; their watch never tells of anything more
        than `crd_events`."""
        self.crd_events: list[Any] = ["hang"]
        self.others: dict[str, tuple[int, Json]] = {}
        """Answers to everything else, by "METHOD path"."""
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.over = threading.Event()

    def queries(self, *, watch: bool) -> list[dict[str, str]]:
        """The queries of all lists, or of all watches."""
        return [q for m, _, q, _ in list(self.requests) if m == "GET" and q and ("watch" in q) is watch]

    def next(self, script: list[Any]) -> Any:
        """The next answer."""
        return script.pop(0) if len(script) > 1 else script[0]


def handler(script: ScriptedServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            query = dict(parse_qsl(urlparse(self.path).query))
            self.note(query, None)
            crds = urlparse(self.path).path.endswith("/customresourcedefinitions")
            if crds and query:
                return self.stream(script.crd_events) if "watch" in query else self.answer(*script.crds)
            if not query:
                self.answer(*script.others.get(f"GET {self.path}", (404, {})))
            elif "watch" in query:
                self.stream(script.next(script.watches))
            else:
                self.answer(*script.next(script.lists))
            return None

        def write(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = urlparse(self.path).path
            self.note({}, body)
            self.answer(*script.others.get(f"{self.command} {path}", (201, body)))

        do_POST = do_PATCH = write  # noqa: N815

        def note(self, query: dict[str, str], body: Any) -> None:
            script.requests.append((self.command, urlparse(self.path).path, query, body))

        def answer(self, status: int, body: Json) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self, lines: Any) -> None:
            if isinstance(lines, int):
                return self.answer(lines, {"message": "no"})
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in [lines] if isinstance(lines, str) else lines:
                if line == "drop":
                    self.close_connection = True
                    return None
                if isinstance(line, threading.Event):
                    line.wait(10)
                    continue
                if line == "hang":
                    script.over.wait(10)
                    continue
                data = json.dumps(line).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            return None

        def log_message(self, *args: object) -> None: ...

    return Handler


@pytest.fixture
def api() -> Iterator[ScriptedServer]:
    """The script; `api.url` is where it is served."""
    script = ScriptedServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield script
    script.over.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(api: ScriptedServer, tmp_path: Path) -> KubeClient:
    """A client of the scripted server."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": api.url}}],  # type: ignore[attr-defined]
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return KubeClient.from_kubeconfig(path)


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], None]:
    """Wait a little for something to become true."""

    def wait(condition: Callable[[], Any]) -> None:
        watch = Stopwatch()
        while not condition():
            assert watch.elapsed() < 5, "it did not become true within 5 s"
            pause(SystemClock(), 0.005)

    return wait
