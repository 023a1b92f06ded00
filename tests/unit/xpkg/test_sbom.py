"""The SBOM: valid CycloneDX, and the same bytes each time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion

from xpkg import __main__ as command
from xpkg.debian import Locked
from xpkg.errors import PackagingError
from xpkg.image import Image, file, layer
from xpkg.sbom import FOLDER, Parts, entry, read
from xpkg.wheels import Wheel

PARTS = Parts(
    package="provider-x",
    version="1.2.3",
    ours=("x", "x-runtime"),
    debian=(Locked("libstdc++6", "1:12.2.0-14+deb12u1", "a" * 64), Locked("libc6", "2.36-9", "b" * 64)),
    wheels=(
        Wheel("Some_Thing", "1.0", "c" * 64, "MIT"),
        Wheel("other", "2.0", "d" * 64, "MIT OR Apache-2.0"),
        Wheel("third", "3.0", "e" * 64, None),
    ),
)


def written(parts: Parts = PARTS) -> str:
    return entry(parts).content.decode()


def components(text: str) -> dict[str, Any]:
    return {component["name"]: component for component in json.loads(text)["components"]}


def test_it_is_valid_against_the_schema() -> None:
    # Takes a second, and every process of `make test` imports every test file.
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written()) is None
    assert (
        JsonStrictValidator(SchemaVersion.V1_6).validate_str(written().replace("SHA-256", "SHA")) is not None
    )


def test_it_stands_where_scanners_look() -> None:
    assert entry(PARTS).path == "usr/share/sbom/provider-x.cdx.json"


def test_it_lists_everything_with_versions_hashes_and_licences() -> None:
    found = components(written())
    assert set(found) == {"debian", "libstdc++6", "libc6", "Some_Thing", "other", "third", "x", "x-runtime"}
    assert found["libstdc++6"] == {
        "bom-ref": "pkg:deb/debian/libstdc%2B%2B6@1:12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12",
        "hashes": [{"alg": "SHA-256", "content": "a" * 64}],
        "licenses": [{"license": {"name": "see /usr/share/doc/libstdc++6/copyright in the image"}}],
        "name": "libstdc++6",
        "purl": "pkg:deb/debian/libstdc%2B%2B6@1:12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12",
        "type": "library",
        "version": "1:12.2.0-14+deb12u1",
    }
    assert found["Some_Thing"]["purl"] == "pkg:pypi/some-thing@1.0"
    assert found["Some_Thing"]["hashes"] == [{"alg": "SHA-256", "content": "c" * 64}]
    assert found["Some_Thing"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert found["other"]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert "licenses" not in found["third"]
    assert found["x"] == {
        "bom-ref": "x",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "name": "x",
        "type": "library",
        "version": "1.2.3",
    }


def test_the_image_depends_on_all_of_it() -> None:
    bom = json.loads(written())
    [image] = [one for one in bom["dependencies"] if one["ref"] == "provider-x"]
    assert set(image["dependsOn"]) == {component["bom-ref"] for component in bom["components"]}


def test_it_is_the_same_bytes_in_any_order() -> None:
    reordered = replace(PARTS, debian=PARTS.debian[::-1], wheels=PARTS.wheels[::-1])
    assert written(reordered) == written()


def test_other_content_has_another_serial_number() -> None:
    def serial(text: str) -> Any:
        return json.loads(text)["serialNumber"]

    assert serial(written(replace(PARTS, version="1.2.4"))) != serial(written())


def test_it_is_read_from_a_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = Image((layer([file("usr/x", "x")]), layer([entry(PARTS)]), layer([file("package.yaml", "x")])))
    image.save(tmp_path / "x.xpkg")
    assert command.main(["sbom", str(tmp_path / "x.xpkg")]) == 0
    assert capsys.readouterr().out == written()


def test_a_package_without_one_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image((layer([file("package.yaml", "x")]),)).save(tmp_path / "x.xpkg")
    assert command.main(["sbom", str(tmp_path / "x.xpkg")]) == 1
    assert "x.xpkg has no SBOM" in capsys.readouterr().err


def test_two_in_one_image_are_refused() -> None:
    both = layer([file(f"{FOLDER}/a.cdx.json", "{}"), file(f"{FOLDER}/b.cdx.json", "{}")])
    with pytest.raises(PackagingError, match="has 2 files in usr/share/sbom, expected one"):
        read(Image((both,)))
