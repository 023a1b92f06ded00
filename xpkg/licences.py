"""The licences of Python packages, and those that the runtime images may contain.

Debian's packages are not checked here: all are from Debian's section main, and the image has their copyright
files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from license_expression import ExpressionError, Licensing, get_spdx_licensing

__all__ = ["ALLOWED", "licence", "problem"]

Metadata = Mapping[str, Any]
"""The metadata of a Python package as JSON: `importlib.metadata.metadata(name).json`, or part of pip's
report."""

_PERMISSIVE: Final = "permissive: a copy of the licence must go with the package, and each wheel has one"
ALLOWED: Final[Mapping[str, str]] = {
    "Apache-2.0": "our own licence",
    "BSD-2-Clause": _PERMISSIVE,
    "BSD-3-Clause": _PERMISSIVE,
    "ISC": _PERMISSIVE,
    "MIT": _PERMISSIVE,
    "MPL-2.0": "copyleft for its own files only; we change none of them, and the wheels are their source",
    "PSF-2.0": "Python's own; permissive",
}
"""The allowed licences by SPDX id, with the reason. A licence that asks more of those who pass the images on,
such as the GPL, needs a decision first."""

_NAMES: Final[Mapping[str, str]] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""SPDX ids of names and classifiers that mean one licence. The classifier "BSD License" means several."""

_READ: Final[Mapping[str, str]] = {"python-dateutil": "Apache-2.0 AND BSD-3-Clause"}
"""By package: what its licence file says, where its metadata says too little. Read the file before you add a
line."""


def licence(metadata: Metadata) -> str | None:
    """The licence that the metadata of a package names, as an SPDX expression, or None."""
    given = (
        _READ.get(metadata["name"]),
        metadata.get("license_expression"),
        metadata.get("license"),
        *metadata.get("classifier", ()),
    )
    expressions = (_expression(one) for one in given if one)
    return next((one for one in expressions if one is not None), None)


def problem(metadata: Metadata) -> str | None:
    """Why the images may not contain the package, or None.

    Of alternatives (OR), each must be allowed, so that no one has to choose.
    """
    found = licence(metadata)
    if found is None:
        return "its metadata names no licence; read its licence file and add it to xpkg/licences.py"
    forbidden = [key for key in _spdx().license_keys(found) if key not in ALLOWED]
    return f"licence {found}: {', '.join(forbidden)} is not in xpkg/licences.py" if forbidden else None


@cache
def _spdx() -> Licensing:
    """The SPDX ids; to load them takes longer than to read all licences."""
    return get_spdx_licensing()


def _expression(given: str) -> str | None:
    try:
        return str(_spdx().parse(_NAMES.get(given, given), validate=True).render())
    except ExpressionError:
        return None
