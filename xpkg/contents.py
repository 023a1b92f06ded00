"""What each of the packages holds, from the manifests of the repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from xpkg.errors import PackagingError

__all__ = ["PACKAGES", "Contents", "Source", "read"]

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the contents of a package stand, as paths below the root of the repository."""

    meta: str
    """The file with the package's metadata, the crossplane.yaml of `crossplane xpkg build`."""
    objects: tuple[str, ...]
    """Files, and folders whose YAML files are all taken, in the order of their names."""
    examples: tuple[str, ...]
    module: str = ""
    """The Python module that the package's image runs; "" for a package without a process."""


PACKAGES: Final[Mapping[str, Source]] = {
    "configuration-edgetenants": Source(
        "crossplane.yaml",
        ("package/xrds/tenantclaim.yaml", "package/configuration"),
        ("examples/quickstart/claim.yaml", "examples/install/plans.yaml"),
    ),
    "configuration-edgetenants-legacy": Source(
        "package/meta/configuration-legacy.yaml",
        ("package/xrds/legacy/xtenantclaim.yaml", "package/configuration-legacy"),
        ("examples/legacy-claim/claim.yaml", "examples/install/plans.yaml"),
    ),
    "provider-edgetenants": Source(
        "package/meta/provider.yaml",
        ("package/crds", "package/crds-legacy", "package/webhooks.yaml"),
        ("examples/provider/cluster-provider-config.yaml",),
        module="provider.main",
    ),
    "function-edgetenants": Source(
        "package/meta/function.yaml",
        ("package/input",),
        ("examples/plans/composition.yaml",),
        module="function.main",
    ),
}
"""All packages, by name."""


@dataclass(frozen=True)
class Contents:
    """The objects of a package."""

    meta: Manifest
    objects: tuple[Manifest, ...]
    examples: tuple[Manifest, ...]

    def stream(self) -> bytes:
        """The file package.yaml: the metadata, then the objects, each after a line of dashes."""
        return _stream((self.meta, *self.objects))

    def examples_stream(self) -> bytes:
        """The file .up/examples.yaml."""
        return _stream(self.examples)


def read(root: Path, source: Source) -> Contents:
    """Read the contents of a package.

    Raises:
        PackagingError: a file is missing or is not valid YAML, or the metadata is not one object.
    """
    meta = _documents(root, (source.meta,))
    if len(meta) != 1:
        raise PackagingError(f"{source.meta}: expected one object, found {len(meta)}")
    return Contents(meta[0], _documents(root, source.objects), _documents(root, source.examples))


def _stream(manifests: Iterable[Manifest]) -> bytes:
    texts = [yaml.dump(m, Dumper=_Dumper, sort_keys=False, allow_unicode=True) for m in manifests]
    return "".join(f"---\n{text}" for text in texts).encode()


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, which Crossplane's linter does not expect."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _documents(root: Path, paths: Iterable[str]) -> tuple[Manifest, ...]:
    files = [file for path in paths for file in _files(root / path)]
    return tuple(document for file in files for document in _loaded(file))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.yaml"))
    if not path.is_file():
        raise PackagingError(f"{path} not found; run `make generate` to write the generated manifests")
    return [path]


def _loaded(file: Path) -> list[Manifest]:
    try:
        return [document for document in yaml.safe_load_all(file.read_text()) if document]
    except yaml.YAMLError as error:
        raise PackagingError(f"{file}: invalid YAML: {error}") from error
