"""A scripted API server over HTTP, and a tree of provider configs over one in memory."""

import json
import os
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlparse

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import FakeClock, Stopwatch, SystemClock, pause
from edgetenants_runtime.config.resolved import PRIMARY, ConfigUse, ResolvedConfig
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Invalid, Operation
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind, key_of
from edgetenants_runtime.providerconfigs import Access, ConfigKinds, ProviderConfigs
from edgetenants_runtime.testing import TOYS, FakeObjects, FakeRecorder, Journal, toy

pytest.register_assert_rewrite("edgetenants_runtime.testing.cases")

Json = dict[str, Any]
ASKS = "asks which version the server has reached"
"""Marks a list of one object between two watches."""


class ScriptedServer:
    """Answers lists and watches as scripted, each answer once, the last one for ever; notes all requests."""

    TOYS_CRD: ClassVar[Json] = {
        "metadata": {"name": "toys.toys.m.example.org", "uid": "crd-toys", "resourceVersion": "8"}
    }

    @staticmethod
    def listed(*items: Json) -> tuple[int, Json]:
        """The answer to a list."""
        return 200, {"metadata": {"resourceVersion": "7"}, "items": list(items)}

    def __init__(self) -> None:
        self.lists: list[tuple[int, Json]] = []
        self.watches: list[Any] = ["hang"]
        """Each a status code, or a list of lines with "hang" (stay open), "drop" (cut the connection),
        an Event (go on when it is set), a number (refuse that many requests with 503 from now on)."""
        self.refuses = 0
        self.crds: tuple[int, Json] = self.listed(self.TOYS_CRD)
        """What there is to say about CustomResourceDefinitions; their watch never tells of anything more
        than `crd_events`."""
        self.crd_events: list[Any] = ["hang"]
        self.reached: str | None = "1000000"
        """The version that the server has reached, as a list of one object tells it; None: it does not."""
        self.others: dict[str, tuple[int, Json]] = {}
        """Answers to everything else, by "METHOD path"; a "LIST path" wins over `lists`."""
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.written: list[tuple[str, str, dict[str, str]]] = []
        """Of each write: method, content type and query."""
        self.bodies: list[bytes] = []
        """Of each write, as it was sent."""
        self.over = threading.Event()

    def queries(self, *, watch: bool) -> list[dict[str, str]]:
        """The queries of all lists, but for those that only ask for the version, or of all watches."""
        queries = [q for m, _, q, _ in list(self.requests) if m == "GET" and q and ASKS not in q]
        return [q for q in queries if ("watch" in q) is watch]

    def next(self, script: list[Any]) -> Any:
        """The next answer."""
        return script.pop(0) if len(script) > 1 else script[0]


def handler(script: ScriptedServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are two packets: else the second waits 40 ms until the client confirms the first.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            query = dict(parse_qsl(urlparse(self.path).query))
            if script.refuses:
                script.refuses -= 1
                return self.answer(503, {"message": "starting"})
            if query.get("limit") == "1" and script.queries(watch=True):
                self.note(query | {ASKS: "yes"}, None)
                reached = {"metadata": {"resourceVersion": script.reached}, "items": []}
                return self.answer(429 if script.reached is None else 200, reached)
            self.note(query, None)
            crds = urlparse(self.path).path.endswith("/customresourcedefinitions")
            if crds and query:
                return self.stream(script.crd_events) if "watch" in query else self.answer(*script.crds)
            if not query:
                self.answer(*script.others.get(f"GET {self.path}", (404, {})))
            elif "watch" in query:
                self.stream(script.next(script.watches))
            else:
                path = urlparse(self.path).path
                self.answer(*(script.others.get(f"LIST {path}") or script.next(script.lists)))
            return None

        def write(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            script.bodies.append(data)
            body = json.loads(data)
            path = urlparse(self.path).path
            self.note({}, body)
            query = dict(parse_qsl(urlparse(self.path).query))
            script.written.append((self.command, str(self.headers["Content-Type"]), query))
            self.answer(*script.others.get(f"{self.command} {path}", (201, body)))

        do_POST = do_PATCH = do_DELETE = write  # noqa: N815

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
                if isinstance(line, int):
                    script.refuses = line
                    continue
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


UPSTREAM = "github.com/crossplane/crossplane-runtime/v2@v2.3.3"


@pytest.fixture
def upstream() -> Callable[[str, str], set[str]]:
    """The names of the cases in a test of crossplane-runtime: of a file of its module and a function in it.

    Skips where Go has not fetched the module; the sandbox's control plane is built from it."""
    places = (
        os.environ.get("GOMODCACHE"),
        Path(os.environ.get("GOPATH") or Path.home() / "go") / "pkg" / "mod",
    )
    modules = [Path(place) / UPSTREAM for place in places if place]
    module = next((each for each in modules if each.is_dir()), None)
    if module is None:
        pytest.skip(f"{UPSTREAM} is not in Go's module cache")

    def cases(file: str, test: str) -> set[str]:
        functions = re.split(r"^func ", (module / file).read_text(), flags=re.MULTILINE)
        [body] = [each for each in functions if each.startswith(f"{test}(")]
        return set(re.findall(r'^\t\t"(\w+)": \{', body, re.MULTILINE))

    return cases


G = "m.example.org"


class ApiServer(FakeObjects):
    """Deletes too, and tells what a kind's informer would see."""

    def selecting(self, labels: Mapping[str, str]) -> "ApiServer":
        return self

    def stored(self, kind: ResourceKind) -> list[Json]:
        return [obj for (resource, _), obj in self._objects.items() if resource == kind.resource]

    def write(self, kind: ResourceKind, obj: Mapping[str, Any]) -> None:
        """A user creates or replaces the object."""
        self.put(kind, obj)
        self.touch(kind, key_of(obj))

    def patch(self, kind: ResourceKind, key: ObjectKey, patch: Any, *, subresource: str = "") -> Json:
        """As the real one, which lets no one add finalizers to what is being deleted."""
        metadata = (self.find(kind, key) or {"metadata": {}})["metadata"]
        added = set(patch.get("metadata", {}).get("finalizers") or ()) - set(metadata.get("finalizers") or ())
        if added and metadata.get("deletionTimestamp"):
            raise Invalid(Operation("patch", kind), 422, "metadata.finalizers: Forbidden: no new finalizers")
        return super().patch(kind, key, patch, subresource=subresource)

    def delete(self, kind: ResourceKind, key: ObjectKey) -> None:
        """A user deletes the object: it goes when its finalizers are gone."""
        stored = self._objects[kind.resource, key]
        stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.touch(kind, key)
        if not stored["metadata"].get("finalizers"):
            del self._objects[kind.resource, key]


class Tree:
    """Provider configs over an API server in memory; `look` is a moment in which all that is due happens."""

    NAMESPACED = ResourceKind(G, "v1alpha1", "ProviderConfig", "providerconfigs", namespaced=True)
    CLUSTER = ResourceKind(G, "v1alpha1", "ClusterProviderConfig", "clusterproviderconfigs", namespaced=False)
    USAGE = ResourceKind(G, "v1alpha1", "ProviderConfigUsage", "providerconfigusages", namespaced=True)
    MARK = "m.example.org/in-use"
    OURS: ClassVar[Json] = {"kind": "ProviderConfig", "name": "ours"}
    SECOND = ConfigUse(
        "spec.forProvider.dns.configRef",
        lambda mr: (
            Managed({**mr.raw, "spec": {"providerConfigRef": dns}}).provider_config_ref
            if (dns := mr.for_provider.get("dns"))
            else None
        ),
        "dns",
    )

    def __init__(self, *configs: Json, **options: Any) -> None:
        self.log = Journal()
        self.objects = ApiServer(self.log)
        self.recorder = FakeRecorder(self.log)
        self.options = options
        self.clock = FakeClock()
        for config in configs:
            self.put_config(config)
        self.restart()

    @property
    def journal(self) -> list[str]:
        return self.log.entries

    def restart(self) -> None:
        """A new process: everything that was only in memory is forgotten."""
        self.log.kill = None
        kinds = ConfigKinds(
            (self.NAMESPACED, self.CLUSTER), self.USAGE, ("endpoint",), ("roles",),
            ("credentials.secretRef", "dns.tsigSecretRef"), owner_field="accountId",
        )  # fmt: skip
        rng = random.Random(1)
        client: Any = self.objects
        access = Access(**self.options)
        self.configs = ProviderConfigs(client, kinds, rng, self.recorder, access, self.clock)
        self.resources = Informer(client, TOYS, rng)
        self.configs.used_by(self.resources)
        self.configs.used_by(self.resources, self.SECOND)
        self.controller = self.configs._controller
        self.secrets = self.configs._secrets
        self.told: list[str] = []
        self.configs.on_change(lambda key: self.told.append(str(key)))
        for informer in (*self.configs.informers, self.resources, self.secrets.informer):
            informer._synced.set()
        self.sync()

    def sync(self) -> None:
        """The watches bring what happened."""
        for informer in (*self.configs.informers, self.resources, self.secrets.informer):
            listed = [obj for obj in self.objects.stored(informer.kind) if self._selects(informer, obj)]
            for change in informer.cache.replaced(json.loads(json.dumps(listed)), "1000000"):
                informer._tell(change)

    def _selects(self, informer: Informer, obj: Json) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return informer.kind is not SECRETS or labels.get(self.MARK) == "true"

    def look(self, seconds: float = 0.3) -> list[str]:
        """Let time pass; what was written meanwhile."""
        before = len(self.journal)
        for _ in range(4):
            self.sync()
            self.clock.advance(seconds)
            while (task := self.controller._queue.get(block=False)) is not None:
                try:
                    self.controller._attempt(task)
                finally:
                    self.controller._queue.done(task)
        return self.journal[before:]

    # The world's doings.

    def put_config(self, config: Json) -> None:
        self.objects.write(self.NAMESPACED if config["metadata"].get("namespace") else self.CLUSTER, config)

    def put_secret(self, name: str = "aws", namespace: str = "shop", **data: str) -> None:
        metadata = {"name": name, "namespace": namespace}
        stored = self.objects.find(SECRETS, ObjectKey(namespace, name)) or {"metadata": metadata}
        self.objects.write(SECRETS, stored | {"data": data or {"creds": "QUtJQQ=="}})

    def mr(self, name: str = "acme", **changes: Any) -> Managed:
        """A managed resource that names our config, unless told otherwise."""
        obj = toy(**{"finalizers": [names.FINALIZER], "providerConfigRef": self.OURS} | changes)
        obj["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        self.objects.write(TOYS, obj)
        self.sync()
        return Managed(self.objects.get(TOYS, ObjectKey("shop", name)))

    def resource(self, name: str) -> Managed:
        """A managed resource as stored."""
        return Managed(self.objects.get(TOYS, ObjectKey("shop", name)))

    def resolve(self, mr: Managed, use: ConfigUse = PRIMARY) -> ResolvedConfig:
        return self.configs.resolve(mr, use)

    def refusal(self, mr: Managed, use: ConfigUse = PRIMARY) -> ExternalError:
        with pytest.raises(ExternalError) as raised:
            self.configs.resolve(mr, use)
        return raised.value

    def use(self, name: str = "acme", **changes: Any) -> Managed:
        """A managed resource that uses our config already."""
        mr = self.mr(name, **changes)
        self.resolve(mr)
        return mr

    def finish(self, name: str = "acme") -> None:
        """Its external resource is gone, and so is the managed resource."""
        key = ObjectKey("shop", name)
        written = self.objects.patch(TOYS, key, {"metadata": {"finalizers": []}})
        self.resources.cache.observed(written)

    def config(self, name: str = "ours", namespace: str = "shop") -> Json | None:
        kind = self.NAMESPACED if namespace else self.CLUSTER
        return self.objects.find(kind, ObjectKey(namespace, name))

    def finalizers(self, name: str = "ours", namespace: str = "shop") -> list[str]:
        found = self.config(name, namespace)
        return (found or {"metadata": {}})["metadata"].get("finalizers") or []

    def secret(self, name: str = "aws") -> Json | None:
        return self.objects.find(SECRETS, ObjectKey("shop", name))

    def marked(self, name: str = "aws") -> bool:
        """The Secret carries our finalizer and label; never one of them."""
        metadata = (self.secret(name) or {"metadata": {}})["metadata"]
        both = [self.MARK in (metadata.get("finalizers") or []), self.MARK in (metadata.get("labels") or {})]
        assert both[0] == both[1]
        return both[0]


@pytest.fixture
def tree() -> type[Tree]:
    """Makes trees of provider configs."""
    return Tree
