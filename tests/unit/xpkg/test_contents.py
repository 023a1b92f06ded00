"""What each package holds."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
import yaml

from xpkg.__main__ import ROOT, package
from xpkg.contents import PACKAGES, Contents, Source, read
from xpkg.errors import PackagingError
from xpkg.image import Image

ALLOWED = {
    "Configuration": {"CompositeResourceDefinition", "Composition", "ManagedResourceActivationPolicy"},
    "Provider": {"CustomResourceDefinition", "ValidatingWebhookConfiguration"},
    "Function": {"CustomResourceDefinition"},
}
"""What Crossplane's linter lets each kind of package hold, as far as we use it."""


def contents(name: str) -> Contents:
    return read(ROOT, PACKAGES[name])


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_its_name_and_only_kinds_that_crossplane_takes(name: str) -> None:
    found = contents(name)
    assert found.meta["metadata"]["name"] == name
    assert found.meta["apiVersion"] == "meta.pkg.crossplane.io/v1"
    assert {o["kind"] for o in found.objects} <= ALLOWED[found.meta["kind"]]
    assert found.objects
    assert found.examples


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_names_its_licence(name: str) -> None:
    annotations = contents(name).meta["metadata"]["annotations"]
    assert annotations["meta.crossplane.io/license"] == "Apache-2.0"


@pytest.mark.parametrize("name", PACKAGES)
def test_the_stream_parses_to_the_objects(name: str) -> None:
    found = contents(name)
    assert list(yaml.safe_load_all(found.stream())) == [found.meta, *found.objects]
    assert list(yaml.safe_load_all(found.examples_stream())) == list(found.examples)


def test_the_policy_activates_kinds_of_the_provider_and_no_pattern() -> None:
    [policy] = [o for o in contents("configuration-edgetenants").objects if "Activation" in o["kind"]]
    crds = {o["metadata"]["name"] for o in contents("provider-edgetenants").objects}
    activated = set(policy["spec"]["activate"])
    assert activated < crds
    assert all("cloudfront.m.edgetenants.io" in name for name in activated)


@pytest.mark.parametrize("name", ["configuration-edgetenants", "configuration-edgetenants-legacy"])
def test_a_composition_refers_to_the_function_by_the_name_that_crossplane_gives_it(name: str) -> None:
    [composition] = [o for o in contents(name).objects if o["kind"] == "Composition"]
    [step] = composition["spec"]["pipeline"]
    [depends] = [d["package"] for d in contents(name).meta["spec"]["dependsOn"] if d["kind"] == "Function"]
    assert step["functionRef"]["name"] == depends.partition("/")[2].replace("/", "-")


def test_the_capabilities_are_those_that_crossplane_asks_for() -> None:
    assert contents("provider-edgetenants").meta["spec"]["capabilities"] == ["safe-start"]
    assert contents("function-edgetenants").meta["spec"]["capabilities"] == ["composition", "operation"]


def test_the_layers_are_found_by_their_annotations() -> None:
    made = package(ROOT, PACKAGES["configuration-edgetenants"], Image(()))
    by_annotation = {layer.annotation: layer for layer in made.layers}
    assert set(by_annotation) == {"base", "upbound"}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(by_annotation["base"].blob))) as tar:
        assert [(m.name, m.mode) for m in tar] == [("package.yaml", 0o644)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match=r"crossplane\.yaml not found; run `make generate`"):
        read(tmp_path, Source("crossplane.yaml", (), ()))


def test_invalid_yaml_is_named(tmp_path: Path) -> None:
    (tmp_path / "crossplane.yaml").write_text("a: [")
    with pytest.raises(PackagingError, match=r"crossplane\.yaml: invalid YAML"):
        read(tmp_path, Source("crossplane.yaml", (), ()))
