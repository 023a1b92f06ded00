"""An OCI image as a .xpkg file: layers, config, and the tar file that `docker save` would write.

The format is that of Crossplane's xpkg specification (contributing/specifications/xpkg.md) and of its
builder (crossplane-runtime, pkg/xpkg/build.go and layers.go): the layers of the runtime, then one with
package.yaml, then one with the examples. A tar file cannot hold the annotations of layers, so each is a label
of the config; `crossplane xpkg push` turns the labels into annotations.

Everything is a function of the content: no time, no user, no order of a file system.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from xpkg.errors import PackagingError

__all__ = ["Entry", "Image", "Layer", "file", "layer", "loaded"]

_ANNOTATION: Final = "io.crossplane.xpkg"
_LEVEL: Final = 6
_EPOCH: Final = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Entry:
    """A file, a folder or a symbolic link of a layer. All belong to root."""

    path: str
    """Without a leading slash."""
    content: bytes = b""
    mode: int = 0o644
    link: str = ""
    """The target of a symbolic link."""
    folder: bool = False


def file(path: str, content: bytes | str, mode: int = 0o644) -> Entry:
    """An entry for a file."""
    return Entry(path, content.encode() if isinstance(content, str) else content, mode)


@dataclass(frozen=True)
class Layer:
    """A layer, compressed."""

    blob: bytes
    diff_id: str
    """The digest of the layer before its compression."""
    annotation: str = ""
    """What Crossplane finds in it: "base" for package.yaml, "upbound" for the examples."""

    @property
    def digest(self) -> str:
        """The digest of the compressed layer."""
        return _digest(self.blob)

    def files(self, folder: str) -> dict[str, bytes]:
        """Its files below a folder, by path."""
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(self.blob))) as tar:
            below = [m for m in tar if m.isfile() and m.name.startswith(f"{folder}/")]
            return {member.name: _member(tar, member.name) for member in below}

    def save(self, folder: Path) -> None:
        """Write it below a folder."""
        (folder / "layer.tar.gz").write_bytes(self.blob)
        (folder / "diff-id").write_text(self.diff_id)

    @classmethod
    def load(cls, folder: Path) -> Layer:
        """A layer that `save` wrote."""
        return cls((folder / "layer.tar.gz").read_bytes(), (folder / "diff-id").read_text())


@dataclass(frozen=True)
class Image:
    """An image: its layers, and how its process starts."""

    layers: tuple[Layer, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The member `config` of the image's config: Entrypoint, Env, User, …"""

    def config(self) -> bytes:
        """The image's config file."""
        labels = {f"{_ANNOTATION}:{one.digest}": one.annotation for one in self.layers if one.annotation}
        settings = {**self.settings, "Labels": {**self.settings.get("Labels", {}), **labels}}
        config = {
            "architecture": "amd64",
            "os": "linux",
            "created": _EPOCH,
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in self.layers]},
            "history": [{"created": _EPOCH, "created_by": "edgetenants"} for _ in self.layers],
        }
        return _json(config)

    def save(self, path: Path) -> str:
        """Write the .xpkg file atomically, and return its digest."""
        config = self.config()
        name = _digest(config)
        blobs = {f"{one.digest.removeprefix('sha256:')}.tar.gz": one.blob for one in self.layers}
        manifest = [{"Config": name, "RepoTags": [], "Layers": [*blobs]}]
        entries = [file(name, config), *(file(*blob) for blob in blobs.items())]
        entries.append(file("manifest.json", _json(manifest)))
        new = path.with_name(f".{path.name}.new")
        new.write_bytes(_tar(entries))
        new.replace(path)
        return _digest(path.read_bytes())


def layer(entries: Iterable[Entry], annotation: str = "") -> Layer:
    """A layer with these entries, sorted by path. Missing folders are added.

    Raises:
        PackagingError: two different entries have one path.
    """
    tar = _tar(_sorted(entries))
    return Layer(gzip.compress(tar, _LEVEL, mtime=0), _digest(tar), annotation)


def loaded(path: Path) -> Image:
    """The image in a file that `docker save` wrote, as the runtime of a package.

    Raises:
        PackagingError: the file is missing, or is not such a file with one image.
    """
    try:
        with tarfile.open(path) as tar:
            [manifest] = json.loads(_member(tar, "manifest.json"))
            config = json.loads(_member(tar, manifest["Config"]))
            blobs = [_member(tar, name) for name in manifest["Layers"]]
    except (OSError, tarfile.TarError, ValueError, KeyError) as error:
        raise PackagingError(
            f"{path}: expected the output of `docker save` with one image: {error}"
        ) from error
    layers = (
        Layer(_compressed(blob), diff_id)
        for blob, diff_id in zip(blobs, config["rootfs"]["diff_ids"], strict=True)
    )
    return Image(tuple(layers), config.get("config") or {})


def _compressed(blob: bytes) -> bytes:
    return blob if blob.startswith(b"\x1f\x8b") else gzip.compress(blob, _LEVEL, mtime=0)


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found.read()


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    by_path: dict[str, Entry] = {}
    for entry in entries:
        there = by_path.setdefault(entry.path, entry)
        if there != entry and not (there.folder and entry.folder):
            raise PackagingError(f"two files of the image are called {entry.path}")
    for path in list(by_path):
        for parent in Path(path).parents:
            if str(parent) != ".":
                by_path.setdefault(str(parent), Entry(str(parent), mode=0o755, folder=True))
    return [by_path[path] for path in sorted(by_path)]


def _tar(entries: Iterable[Entry]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            header = tarfile.TarInfo(entry.path)
            header.mode = entry.mode
            if entry.folder:
                header.type = tarfile.DIRTYPE
            elif entry.link:
                header.type, header.linkname, header.mode = tarfile.SYMTYPE, entry.link, 0o777
            else:
                header.size = len(entry.content)
            tar.addfile(header, io.BytesIO(entry.content))
    return out.getvalue()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
