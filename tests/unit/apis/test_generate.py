"""What is generated is fresh, complete, and the same each time."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from apis import generate, kinds, tenantplans

CRDS = [
    str(path.relative_to(generate.ROOT))
    for path in sorted(generate.ROOT.glob("package/crds*/**/*.yaml"))
    if path.parent.name != "crds-sources"
]


# On the first call, not on the import: every process of `make test` imports every test file.
@cache
def files() -> dict[str, str]:
    return generate.generate()


@cache
def manifests() -> dict[str, Any]:
    return {path: yaml.safe_load(text) for path, text in files().items() if path.endswith(".yaml")}


def test_the_files_in_the_repository_are_fresh() -> None:
    assert generate.stale(generate.ROOT, files()) == []


def test_the_same_each_time() -> None:
    assert generate.generate() == files()


def test_every_file_says_how_it_was_made() -> None:
    assert all("`make generate`" in text.splitlines()[0] for text in files().values())


def test_check_names_what_is_stale_and_writes_nothing(tmp_path: Path, capsys: Any) -> None:
    generate.write(tmp_path, files())
    (tmp_path / "package/composition.yaml").write_text("edited")
    (tmp_path / "package/crds/old.yaml").write_text("a kind that is no more")
    (tmp_path / "docs/reference/conditions.md").unlink()
    assert generate.main(["--check", "--root", str(tmp_path)]) == 1
    named = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert named == ["docs/reference/conditions.md", "package/composition.yaml", "package/crds/old.yaml"]
    assert (tmp_path / "package/composition.yaml").read_text() == "edited"


def test_writing_removes_what_is_no_longer_made(tmp_path: Path) -> None:
    generate.write(tmp_path, files())
    (tmp_path / "package/crds/old.yaml").write_text("a kind that is no more")
    assert generate.main(["--root", str(tmp_path)]) == 0
    assert generate.main(["--check", "--root", str(tmp_path)]) == 0


def test_one_crd_for_each_kind_in_the_folder_of_its_tree() -> None:
    modern = {m["metadata"]["name"] for path, m in manifests().items() if path.startswith("package/crds/")}
    legacy = {
        m["metadata"]["name"] for path, m in manifests().items() if path.startswith("package/crds-legacy/")
    }
    assert modern == {kind.crd_name for kind in kinds.PROVIDER_KINDS}
    assert legacy == {kind.crd_name for kind in kinds.LEGACY_PROVIDER_KINDS}


TENANT = "READY SYNCED DOMAINS EXTERNAL-NAME AGE"
GROUP = "READY SYNCED ENDPOINT EXTERNAL-NAME AGE"
USAGE = "AGE CONFIG-NAME RESOURCE-KIND RESOURCE-NAME"


@pytest.mark.parametrize(
    ("name", "scope", "short", "columns"),
    [
        ("crds/cloudfront.m.edgetenants.io_distributiontenants", "Namespaced", ["edt"], TENANT),
        ("crds/cloudfront.m.edgetenants.io_connectiongroups", "Namespaced", ["ecg"], GROUP),
        ("crds-legacy/cloudfront.edgetenants.io_distributiontenants", "Cluster", ["ledt"], TENANT),
        ("crds-legacy/cloudfront.edgetenants.io_connectiongroups", "Cluster", ["lecg"], GROUP),
        ("crds/m.edgetenants.io_providerconfigusages", "Namespaced", None, USAGE),
        (
            "crds-sources/platform.edgetenants.io_tenantsources",
            "Namespaced",
            ["tsrc"],
            "ROWS LIVE INVALID SYNCED AGE",
        ),
        ("crds/m.edgetenants.io_clusterproviderconfigs", "Cluster", None, "ACCOUNT USERS WRITES AGE"),
    ],
)
def test_names_and_columns(name: str, scope: str, short: list[str] | None, columns: str) -> None:
    spec = manifests()[f"package/{name}.yaml"]["spec"]
    shown = [c["name"] for c in spec["versions"][0]["additionalPrinterColumns"] if not c.get("priority")]
    assert (spec["scope"], spec["names"].get("shortNames"), " ".join(shown)) == (scope, short, columns)


@pytest.mark.parametrize("path", CRDS)
def test_categories(path: str) -> None:
    spec = manifests()[path]["spec"]
    middle = "managed" if "cloudfront" in spec["group"] else "provider"
    assert spec["names"]["categories"] == ["crossplane", middle, "edgetenants"]


def test_the_xrds_leave_to_crossplane_what_is_its() -> None:
    for name in ("xrds/tenantclaim", "xrds/legacy/xtenantclaim"):
        version = manifests()[f"package/{name}.yaml"]["spec"]["versions"][0]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        assert "conditions" not in properties["status"]["properties"]
        columns = [(each["name"], each.get("priority", 0)) for each in version["additionalPrinterColumns"]]
        narrow, wide = ("PLAN", "LIVE", "DOMAINS", "URL"), ("MESSAGE", "BLOCKED", "DEGRADED")
        assert columns == [*((name, 0) for name in narrow), *((name, 1) for name in wide)]
        assert properties["spec"]["required"] == ["domains"]


def test_each_world_has_its_own_connection_secret() -> None:
    modern = manifests()["package/xrds/tenantclaim.yaml"]["spec"]
    legacy = manifests()["package/xrds/legacy/xtenantclaim.yaml"]["spec"]

    def fields(xrd: Any) -> set[str]:
        return set(xrd["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])

    assert fields(modern) - fields(legacy) == {"connectionSecretName"}
    assert legacy["connectionSecretKeys"] == list(kinds.CONNECTION_KEYS)
    assert legacy["claimNames"]["kind"] == "TenantClaim"
    assert "connectionSecretKeys" not in modern


@pytest.mark.parametrize(
    ("name", "kind"), [("composition", "TenantClaim"), ("composition-legacy", "XTenantClaim")]
)
def test_the_composition_gives_the_function_plans_that_it_accepts(name: str, kind: str) -> None:
    spec = manifests()[f"package/{name}.yaml"]["spec"]
    (step,) = spec["pipeline"]
    assert spec["compositeTypeRef"]["kind"] == kind
    assert step["functionRef"] == {"name": "function-edgetenants"}
    assert tenantplans.parse(step["input"]).plans["standard"].distribution_id == "E1EDGETENANTS"
