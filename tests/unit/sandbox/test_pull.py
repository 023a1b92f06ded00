"""An image that is pulled from a registry and unpacked once."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sandbox.errors import WorldError
from sandbox.packages.pull import pull


def digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def layer(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        header = tarfile.TarInfo(name)
        header.size = len(content)
        tar.addfile(header, io.BytesIO(content))
    return gzip.compress(out.getvalue())


class Registry(HTTPServer):
    """A registry with one image, `team/x:v1`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        one, two = layer("a", b"1"), layer("b/c", b"2")
        config = json.dumps({"config": {"Entrypoint": ["/a"]}}).encode()
        manifest = {
            "config": {"digest": digest(config)},
            "layers": [{"digest": digest(b)} for b in (one, two)],
        }
        self.blobs = {digest(blob): blob for blob in (one, two, config)}
        self.manifest = json.dumps(manifest).encode()
        self.asked: list[str] = []

    @property
    def image(self) -> str:
        return f"127.0.0.1:{self.server_port}/team/x:v1"


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/v2/team/x/manifests/v1":
            body: bytes | None = self.server.manifest
        else:
            body = self.server.blobs.get(self.path.rpartition("/")[2])
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_layers_are_unpacked_once(registry: Registry, tmp_path: Path) -> None:
    first = pull(registry.image, tmp_path / "roots")
    assert (first.root / "a").read_text() == "1"
    assert (first.root / "b/c").read_text() == "2"
    assert first.settings["Entrypoint"] == ["/a"]
    registry.asked.clear()
    assert pull(registry.image, tmp_path / "roots") == first
    assert len(registry.asked) == 2  # manifest and config


def test_a_copy_has_files_of_its_own_beside_those_of_the_image(registry: Registry, tmp_path: Path) -> None:
    pulled = pull(registry.image, tmp_path / "roots")
    copy = pulled.copied(tmp_path / "process")
    (copy / "own").write_text("x")
    assert (copy / "b/c").stat().st_ino == (pulled.root / "b/c").stat().st_ino
    assert not (pulled.root / "own").exists()


def test_a_blob_that_does_not_match_its_digest_is_refused(registry: Registry, tmp_path: Path) -> None:
    registry.blobs = {key: blob + b" " for key, blob in registry.blobs.items()}
    with pytest.raises(WorldError, match="does not match its digest"):
        pull(registry.image, tmp_path / "roots")
    assert not list((tmp_path / "roots").glob("[!.]*"))


def test_an_image_that_does_not_exist_is_named(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"cannot pull .*/v2/team/y/manifests/v1.*404"):
        pull(registry.image.replace("/x:", "/y:"), tmp_path / "roots")
