"""Images: the same bytes each time, and the format that Crossplane reads."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from xpkg.errors import PackagingError
from xpkg.image import Entry, Image, file, layer, loaded


def names(blob: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob))) as tar:
        return tar.getnames()


def test_a_layer_does_not_depend_on_the_order_of_its_files() -> None:
    one, two = file("b/x", "1"), Entry("a", link="b/x")
    assert layer([one, two]) == layer([two, one])
    assert names(layer([one, two]).blob) == ["a", "b", "b/x"]


def test_a_layer_has_no_time_and_belongs_to_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(layer([file("a/b", "x", 0o755)]).blob), mode="r:gz") as tar:
        assert {(m.mtime, m.uid, m.gid, m.uname) for m in tar} == {(0, 0, 0, "")}
        assert [(m.name, m.mode, m.isdir()) for m in tar] == [("a", 0o755, True), ("a/b", 0o755, False)]


def test_two_different_files_of_one_path_are_refused() -> None:
    with pytest.raises(PackagingError, match="two files of the image are called a"):
        layer([file("a", "1"), file("a", "2")])


def test_an_image_has_the_digests_of_its_layers(tmp_path: Path) -> None:
    base, contents = layer([file("usr/x", "x")]), layer([file("package.yaml", "---\n")], "base")
    path = tmp_path / "x.xpkg"
    digest = Image((base, contents), {"User": "2000:2000"}).save(path)
    assert digest == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    with tarfile.open(path) as tar:

        def read(name: str) -> bytes:
            found = tar.extractfile(name)
            assert found is not None
            return found.read()

        [manifest] = json.loads(read("manifest.json"))
        assert manifest["Config"] == f"sha256:{hashlib.sha256(read(manifest['Config'])).hexdigest()}"
        config = json.loads(read(manifest["Config"]))
        blobs = [read(name) for name in manifest["Layers"]]
    assert [f"{hashlib.sha256(blob).hexdigest()}.tar.gz" for blob in blobs] == manifest["Layers"]
    unpacked = [f"sha256:{hashlib.sha256(gzip.decompress(blob)).hexdigest()}" for blob in blobs]
    assert config["rootfs"]["diff_ids"] == unpacked
    assert config["config"]["User"] == "2000:2000"
    assert config["config"]["Labels"] == {f"io.crossplane.xpkg:{contents.digest}": "base"}


def test_the_files_below_a_folder_are_found() -> None:
    made = layer([file("a/b/x", "1"), file("a/bc", "2"), Entry("a/b/y", link="x")])
    assert made.files("a/b") == {"a/b/x": b"1"}


def test_an_image_is_the_same_bytes_twice(tmp_path: Path) -> None:
    def save(name: str) -> bytes:
        Image((layer([file("a", "x")], "base"),)).save(tmp_path / name)
        return (tmp_path / name).read_bytes()

    assert save("one") == save("two")


def test_an_image_of_docker_save_is_a_runtime(tmp_path: Path) -> None:
    made = Image((layer([file("bin/x", "x")]),), {"Entrypoint": ["/bin/x"]})
    made.save(tmp_path / "image.tar")
    read = loaded(tmp_path / "image.tar")
    assert read.layers == made.layers
    assert read.settings["Entrypoint"] == ["/bin/x"]


@pytest.mark.parametrize("content", [b"", b"no tar file", None])
def test_what_is_no_image_is_refused_with_its_path(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "image.tar"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PackagingError, match=r"image\.tar: expected the output of `docker save`"):
        loaded(path)
