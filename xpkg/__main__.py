"""Build edgetenants' Crossplane packages into `packages/`, without a container engine.

The same sources give the same bytes. `crossplane xpkg push` pushes the files to a registry. Beside a package
with a process, there is the SBOM of its image (CycloneDX); the image has it, too.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from xpkg import audit, contents, runtime, sbom
from xpkg.contents import PACKAGES, Source
from xpkg.errors import PackagingError
from xpkg.image import Image, file, layer, loaded

ROOT: Final = Path(__file__).resolve().parent.parent
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    1: a package cannot be built, or the audit found something; 2: wrong arguments; 3: the advisories are
    unreachable.
    """
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except PackagingError as error:
        print(f"xpkg: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "lock":
            runtime.lock(ROOT, options.cache)
        case "sbom":
            print(_sbom(options.file), end="")
        case "audit":
            return audit.audit(runtime.locks(ROOT), options.cache, options.advisories, print)
        case _:
            images = dict(_pair(given) for given in options.runtime_image)
            build(options.names or list(PACKAGES), options.output, options.cache, images)
    return 0


def build(names: Sequence[str], output: Path, cache: Path, images: dict[str, Path]) -> None:
    """Build packages with their SBOMs, and print the file and the digest of each.

    `images` has, by package, the file of a runtime image that `docker save` wrote; a runtime image that it
    lacks is assembled from Debian packages.

    Raises:
        PackagingError: something is missing; packages that are complete by then stay.
    """
    version = _version()
    runtimes = runtime.Runtimes(ROOT, cache.resolve(), version)
    output.mkdir(parents=True, exist_ok=True)
    for name in names:
        base = _runtime(name, PACKAGES[name], runtimes, images)
        path = output / f"{name}-v{version}.xpkg"
        print(f"{path}: {package(ROOT, PACKAGES[name], base).save(path)}", flush=True)
        listed = sbom.read(base)
        if listed is not None:
            path.with_suffix(".cdx.json").write_bytes(listed)


def package(root: Path, source: Source, base: Image) -> Image:
    """The image of a package on its runtime image.

    Raises:
        PackagingError: its contents cannot be read.
    """
    content = contents.read(root, source)
    ours = (
        layer([file("package.yaml", content.stream())], "base"),
        layer([file(".up/examples.yaml", content.examples_stream())], "upbound"),
    )
    return replace(base, layers=(*base.layers, *ours))


def _runtime(name: str, source: Source, runtimes: runtime.Runtimes, images: dict[str, Path]) -> Image:
    if not source.module:
        return Image(())
    if name in images:
        return loaded(images[name])
    print(f"{name}: assembling the runtime image (the first time takes about a minute)", flush=True)
    return runtimes.image(name.partition("-")[0], source.module)


def _sbom(path: Path) -> str:
    listed = sbom.read(loaded(path))
    if listed is None:
        raise PackagingError(f"{path} has no SBOM: it has no process, or its runtime image was given")
    return listed.decode()


def _version() -> str:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if not _VERSION.fullmatch(version):
        raise PackagingError(f"pyproject.toml: version: expected a semantic version, got {version!r}")
    return str(version)


def _pair(given: str) -> tuple[str, Path]:
    name, _, path = given.partition("=")
    if name not in PACKAGES or not PACKAGES[name].module or not path:
        possible = ", ".join(f"{name}=FILE" for name, source in PACKAGES.items() if source.module)
        raise PackagingError(f"--runtime-image: expected {possible}; got {given!r}")
    return name, Path(path)


def _parser() -> argparse.ArgumentParser:
    default = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache"))
    parser = argparse.ArgumentParser(prog="python -m xpkg", description=__doc__)
    parser.add_argument("--cache", type=Path, default=default, help="where downloads are kept")
    commands: Callable[..., argparse.ArgumentParser] = parser.add_subparsers(
        dest="command", required=True
    ).add_parser
    building = commands("build", help="build packages")
    building.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PACKAGES)}; default: all")
    building.add_argument("--output", type=Path, default=ROOT / "packages", help="default: %(default)s")
    saved = "use the image in FILE, which `docker save` wrote, as the runtime of package NAME"
    building.add_argument("--runtime-image", action="append", default=[], metavar="NAME=FILE", help=saved)
    listing = commands("sbom", help="print the SBOM in a package (CycloneDX)")
    listing.add_argument("file", type=Path, metavar="FILE", help="a .xpkg file")
    auditing = commands(
        "audit", help="look for advisories and licences of the locked wheels; exit code 3: unreachable"
    )
    auditing.add_argument(
        "--advisories", default=audit.OSV, metavar="URL", help="OSV's API; default: %(default)s"
    )
    commands("lock", help=f"write {runtime.LOCK} with the versions that Debian serves today")
    return parser


if __name__ == "__main__":
    sys.exit(main())
