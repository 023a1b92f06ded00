"""The SBOM of a runtime image: a CycloneDX file in the image that lists what the image consists of.

It is a function of the locks and of our version: no time, and a serial number that comes from the content.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from xpkg.debian import Locked
from xpkg.errors import PackagingError
from xpkg.image import Entry, Image, file
from xpkg.wheels import Wheel

__all__ = ["FOLDER", "Parts", "entry", "read"]

FOLDER: Final = "usr/share/sbom"
"""Where the image has it. Scanners find files that end in .cdx.json anywhere in an image."""
_SUFFIX: Final = ".cdx.json"
_LICENCE: Final = "Apache-2.0"
_DEBIAN: Final = "12"
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The format needs a time; the image has the same one."""
_SERIALS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "edgetenants.io")


@dataclass(frozen=True)
class Parts:
    """What an image consists of."""

    package: str
    """The package whose image it is."""
    version: str
    """Of the package and of our distributions."""
    ours: tuple[str, ...]
    """Our distributions."""
    debian: tuple[Locked, ...]
    wheels: tuple[Wheel, ...]


def entry(parts: Parts) -> Entry:
    """The SBOM as a file of the image."""
    return file(f"{FOLDER}/{parts.package}{_SUFFIX}", _text(parts))


def read(image: Image) -> bytes | None:
    """The SBOM in an image, or None if we did not build the image.

    Raises:
        PackagingError: it has several.
    """
    for layer in reversed(image.layers):
        found = [content for path, content in layer.files(FOLDER).items() if path.endswith(_SUFFIX)]
        if len(found) > 1:
            raise PackagingError(f"the image has {len(found)} files in {FOLDER}, expected one")
        if found:
            return found[0]
    return None


def _text(parts: Parts) -> str:
    return _written(_bom(parts, _serial(_written(_bom(parts, uuid.UUID(int=0))))))


def _written(bom: Bom) -> str:
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"


def _serial(text: str) -> uuid.UUID:
    return uuid.uuid5(_SERIALS, text)


def _bom(parts: Parts, serial: uuid.UUID) -> Bom:
    image = Component(
        name=parts.package,
        version=parts.version,
        type=ComponentType.CONTAINER,
        bom_ref=parts.package,
        licenses=_licences(_LICENCE),
    )
    components = list(_components(parts))
    bom = Bom(
        serial_number=serial,
        metadata=BomMetaData(component=image, timestamp=_NO_TIME),
        components=components,
    )
    bom.register_dependency(image, components)
    return bom


def _components(parts: Parts) -> Iterator[Component]:
    yield Component(
        name="debian", version=_DEBIAN, type=ComponentType.OPERATING_SYSTEM, bom_ref=f"debian-{_DEBIAN}"
    )
    yield from (_debian(one) for one in parts.debian)
    yield from (_wheel(one) for one in parts.wheels)
    for name in parts.ours:
        # Without a purl: no registry has them. A scanner would take another package of the name for ours.
        yield Component(name=name, version=parts.version, bom_ref=name, licenses=_licences(_LICENCE))


def _debian(package: Locked) -> Component:
    qualifiers = {"arch": "amd64", "distro": f"debian-{_DEBIAN}"}
    purl = PackageURL("deb", "debian", package.name, package.version, qualifiers)
    # Copyright files are prose. Most packages have files under several licences.
    licence = DisjunctiveLicense(name=f"see /usr/share/doc/{package.name}/copyright in the image")
    return _component(package.name, package.version, package.sha256, purl, [licence])


def _wheel(wheel: Wheel) -> Component:
    purl = PackageURL("pypi", name=canonicalize_name(wheel.name), version=wheel.version)
    return _component(
        wheel.name, wheel.version, wheel.sha256, purl, _licences(wheel.licence) if wheel.licence else []
    )


def _component(
    name: str, version: str, sha256: str, purl: PackageURL, licences: Iterable[License]
) -> Component:
    return Component(
        name=name,
        version=version,
        bom_ref=purl.to_string(),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)],
        licenses=licences,
    )


def _licences(expression: str) -> list[License]:
    return [LicenseFactory().make_from_string(expression)]
