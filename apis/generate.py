"""Write all files that are generated from the models; run as `python -m apis.generate [--check]`.

With --check it writes nothing. It prints the stale files and exits with 1 if there are any.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from . import crds, kinds, reference
from .kinds import Kind

ROOT: Final = Path(__file__).parent.parent
COMMAND: Final = "make generate"
_YAML_HEADER: Final = f"# Generated from apis/ by `{COMMAND}`; do not edit.\n---\n"
_PAGE_HEADER: Final = f"<!-- Generated from apis/ by `{COMMAND}`; do not edit. -->\n\n"

OWNED: Final = (
    "package/configuration",
    "package/configuration-legacy",
    "package/crds",
    "package/crds-legacy",
    "package/crds-sources",
    "package/input",
    "package/xrds",
    "docs/reference",
)
"""Folders that contain only generated files, so that the file of a removed kind is stale too."""


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, which are unusual in a manifest."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def generate() -> dict[str, str]:
    """Every generated file: its path below the repository's root, and its content."""
    return {**_crd_files(), **_composite_files(), **_packaged_files(), **_pages()}


def _crd_files() -> dict[str, str]:
    files = {f"package/crds/{_file_name(kind)}": crds.crd(kind) for kind in kinds.PROVIDER_KINDS}
    files |= {
        f"package/crds-legacy/{_file_name(kind)}": crds.crd(kind) for kind in kinds.LEGACY_PROVIDER_KINDS
    }
    files[f"package/crds-sources/{_file_name(kinds.TENANT_SOURCE)}"] = crds.crd(kinds.TENANT_SOURCE)
    for kind in (kinds.TENANT_PLANS, kinds.TENANT_REPORT):
        files[f"package/input/{_file_name(kind)}"] = crds.crd(kind)
    return {path: _yaml(manifest) for path, manifest in files.items()}


def _composite_files() -> dict[str, str]:
    modern, legacy = kinds.TENANT_CLAIM, kinds.LEGACY_TENANT_CLAIM
    files = {
        "package/xrds/tenantclaim.yaml": crds.xrd(modern),
        "package/xrds/legacy/xtenantclaim.yaml": crds.legacy_xrd(legacy, claim=modern),
        "package/composition.yaml": crds.composition(modern, "tenantclaims"),
        "package/composition-legacy.yaml": crds.legacy_composition(legacy, "xtenantclaims"),
    }
    return {path: _yaml(manifest) for path, manifest in files.items()}


def _packaged_files() -> dict[str, str]:
    modern, legacy = kinds.TENANT_CLAIM, kinds.LEGACY_TENANT_CLAIM
    namespaced = (kinds.DISTRIBUTION_TENANT, kinds.CONNECTION_GROUP)
    files = {
        "package/configuration/composition.yaml": crds.packaged(crds.composition(modern, "tenantclaims")),
        "package/configuration/activation.yaml": crds.activation("edgetenants", namespaced),
        # The name of the other package's Composition: so the package manager refuses one beside the other.
        "package/configuration-legacy/composition.yaml": crds.packaged(
            crds.legacy_composition(legacy, "tenantclaims")
        ),
    }
    return {path: _yaml(manifest) for path, manifest in files.items()}


def _pages() -> dict[str, str]:
    pages = {"conditions": reference.conditions_page()}
    pages |= {name: reference.fields_page(listed) for name, listed in reference.FIELD_PAGES.items()}
    return {f"docs/reference/{name}.md": _PAGE_HEADER + text for name, text in pages.items()}


def _file_name(kind: Kind) -> str:
    return f"{kind.group}_{kind.plural}.yaml"


def _yaml(manifest: Mapping[str, Any]) -> str:
    return _YAML_HEADER + yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


def stale(root: Path, files: Mapping[str, str]) -> list[str]:
    """Paths below `root` of files that are missing, differ from `files`, or are no longer generated."""
    differing = [path for path, text in files.items() if _read(root / path) != text]
    return sorted(differing + _forgotten(root, files))


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write `files` below `root`, and remove those that are no longer generated."""
    for path in _forgotten(root, files):
        (root / path).unlink()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _forgotten(root: Path, files: Mapping[str, str]) -> list[str]:
    found = (path for folder in OWNED for path in (root / folder).rglob("*") if path.is_file())
    return [name for path in found if (name := path.relative_to(root).as_posix()) not in files]


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or print the stale ones with --check; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m apis.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository's root (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    files = generate()
    if not options.check:
        write(options.root, files)
        return 0
    old = stale(options.root, files)
    for path in old:
        print(f"stale: {path} (run `{COMMAND}`)", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
