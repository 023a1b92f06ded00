"""Pulls an image from the sandbox's registry, and unpacks it into a root file system."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.errors import WorldError

__all__ = ["Pulled", "pull"]

_MANIFESTS: Final = (
    "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"
)


@dataclass(frozen=True)
class Pulled:
    """An unpacked image."""

    root: Path
    """Shared by all processes of the image, and never changed."""
    settings: Mapping[str, Any]
    """The member `config` of the image's config: Entrypoint, Env, User, …"""

    def copied(self, folder: Path) -> Path:
        """A copy of the root for one process, whose files are links to those of the image."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-al", str(self.root), str(folder)], check=True)
        return folder


def pull(image: str, cache: Path) -> Pulled:
    """Pull `HOST:PORT/REPOSITORY:TAG` or `…@DIGEST` by plain HTTP, and unpack it below `cache` once.

    Raises:
        WorldError: the registry does not have it, or a blob does not match its digest.
    """
    host, _, rest = image.partition("/")
    repository, at, reference = rest.partition("@")
    if not at:
        repository, _, reference = rest.rpartition(":")
    base = f"http://{host}/v2/{repository}"
    manifest = json.loads(_get(f"{base}/manifests/{reference}", accept=_MANIFESTS))
    config_digest = manifest["config"]["digest"]
    config = json.loads(_blob(base, config_digest))
    root = cache / config_digest.removeprefix("sha256:")[:24]
    if not root.is_dir():
        new = root.with_name(f".{root.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for layer in manifest["layers"]:
            _unpack(_blob(base, layer["digest"]), new)
        new.rename(root)
    return Pulled(root, config.get("config") or {})


def _unpack(blob: bytes, folder: Path) -> None:
    file = folder.with_suffix(".layer")
    file.write_bytes(blob)
    try:
        with tarfile.open(file) as tar:
            tar.extractall(folder, filter="tar")
    finally:
        file.unlink()


def _blob(base: str, digest: str) -> bytes:
    blob = _get(f"{base}/blobs/{digest}")
    if f"sha256:{hashlib.sha256(blob).hexdigest()}" != digest:
        raise WorldError(f"{base}/blobs/{digest}: the content does not match its digest")
    return blob


def _get(url: str, accept: str = "*/*") -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - always http
    try:
        with opener.open(request, timeout=60) as answer:
            body: bytes = answer.read()
            return body
    except (OSError, urllib.error.URLError) as error:
        raise WorldError(f"cannot pull {url}: {error}") from error
