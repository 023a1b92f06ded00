"""Descriptions of the HTTP APIs of DNS services, and a server that holds a request and its answer to one.

A file NAME.json has, in our own form and words, what the provider uses of a service's published description;
its `$comment` names that, its version and its licence.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema

HOST = "127.0.0.1"


class NotDescribedError(AssertionError):
    """A request or an answer is not as the service's description has it."""


@dataclass(frozen=True)
class Request:
    """A request that fits the description."""

    operation: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None

    @property
    def writes(self) -> bool:
        return self.operation.split()[0] not in ("list", "get")


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent instead of the body, and not held to the description."""


class Service:
    """A service behind its description. Subclasses answer."""

    description: str

    def __init__(self) -> None:
        text = (Path(__file__).parent / f"{self.description}.json").read_text()
        self.described = json.loads(text)
        self.lock = threading.RLock()
        self.seen: list[Request] = []
        self.wrong: list[str] = []
        self.fault: Callable[[int, Request], Answer | str | None] = lambda number, request: None
        """What becomes of a request: None as it is; "lost" is not received; "unanswered" is received, and its
        answer is lost; "hangs" is not received, and the connection stays; or an answer instead."""
        self.port = 0

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def request(self, method: str, target: str, headers: Mapping[str, str], data: bytes) -> Request:
        split = urlsplit(target)
        for each in self.described["operations"]:
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(each["path"]))
            found = re.fullmatch(pattern, split.path, re.IGNORECASE)
            if found and each["method"] == method:
                return self._checked(each, found, split.query, headers, data)
        raise NotDescribedError(f"{method} {split.path}: no such operation")

    def _checked(self, each, found, query: str, headers: Mapping[str, str], data: bytes) -> Request:
        parameters = {name: unquote(value) for name, value in found.groupdict().items()}
        asked = dict(parse_qsl(query, keep_blank_values=True))
        name, in_path = each["name"], each.get("parameters", {})
        conditions = {key: value for key, value in headers.items() if key.startswith("If-")}
        always = self.described["header"]
        for known, values, what in (
            (in_path, {one: parameters[one] for one in in_path}, "path"),
            (each["query"], asked, "query"),
            (each.get("headers", {}), conditions, "header"),
            (always, {one: headers.get(one, "") for one in always}, "header"),
        ):
            for key, value in values.items():
                if key not in known or not re.fullmatch(known[key], value):
                    raise NotDescribedError(f"{name}: {what} {key}={value}")
        if missing := set(each.get("required", ())) - set(asked):
            raise NotDescribedError(f"{name}: without {missing}")
        body = json.loads(data) if data else None
        self._fits(f"{name}: body", body, each.get("body", "nothing"))
        return Request(name, parameters, asked, headers, body)

    def answered(self, request: Request) -> Answer:
        answer = self.answer(request)
        (each,) = [one for one in self.described["operations"] if one["name"] == request.operation]
        schema = each["answers"].get(str(answer.status)) or each["answers"]["default"]
        self._fits(f"{request.operation}: answer {answer.status}", answer.body, schema)
        return answer

    def _fits(self, what: str, value: Any, schema: str) -> None:
        whole = {"$ref": f"#/$defs/{schema.replace(' ', '%20')}", "$defs": self.described["schemas"]}
        try:
            jsonschema.Draft202012Validator(whole).validate(value)
        except jsonschema.ValidationError as error:
            raise NotDescribedError(f"{what}: {error.message} at {error.json_path}") from error


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The URL of a service on loopback. A request or an answer that is not as described fails the test."""
    ends = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                request = service.request(self.command, self.path, self.headers, data)
                with service.lock:
                    number = len(service.seen)
                    service.seen.append(request)
                    fault = service.fault(number, request)
                    answer = fault if isinstance(fault, Answer) else None
                    if fault in (None, "unanswered"):
                        answer = service.answered(request)
            except NotDescribedError as error:
                service.wrong.append(str(error))
                fault, answer = None, Answer(400, raw=f"not described: {error}".encode())
            if fault == "hangs":
                ends.wait(10)
            if answer is None or fault == "unanswered":
                self.close_connection = True
                return
            self.reply(answer)

        def reply(self, answer: Answer) -> None:
            body = b"" if answer.body is None else json.dumps(answer.body).encode()
            body = body if answer.raw is None else answer.raw
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        service.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://{HOST}:{service.port}"
        ends.set()
        server.shutdown()
        thread.join()
    assert not service.wrong
