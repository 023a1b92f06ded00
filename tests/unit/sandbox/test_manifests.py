"""What is applied: our generated package, and the rules that Crossplane would give the provider."""

import pytest
import yaml

from sandbox import manifests
from sandbox.errors import WorldError
from sandbox.manifests import Package
from sandbox.state import ROOT, Crossplane


def crd(group, plural):
    return {"spec": {"group": group, "names": {"plural": plural}}, "metadata": {"name": f"{plural}.{group}"}}


def test_the_providers_rules_are_those_of_crossplanes_rbac_manager():
    role, binding = manifests.provider_role(
        [crd("b.io", "zebras"), crd("a.io", "bears"), crd("b.io", "apes")]
    )
    own = ["get", "list", "watch", "update", "patch", "create"]
    assert role["rules"] == [
        {
            "apiGroups": ["b.io"],
            "resources": ["apes", "apes/status", "zebras", "zebras/status"],
            "verbs": own,
        },
        {"apiGroups": ["a.io"], "resources": ["bears", "bears/status"], "verbs": own},
        {"apiGroups": ["b.io", "a.io"], "resources": ["*/finalizers"], "verbs": ["update"]},
        {
            "apiGroups": ["", "coordination.k8s.io"],
            "resources": ["secrets", "configmaps", "events", "leases"],
            "verbs": ["*"],
        },
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "namespace": "crossplane-system", "name": "provider-edgetenants"}
    ]


def test_v1_gives_the_provider_no_right_to_read_crds():
    with_them, without = (
        manifests.provider_role([], reads_crds=reads)[0]["rules"] for reads in (True, False)
    )
    assert [rule for rule in with_them if rule not in without] == [with_them[-1]]
    assert with_them[-1]["resources"] == ["customresourcedefinitions"]


@pytest.mark.parametrize("legacy", [False, True])
def test_v1_has_the_legacy_claim_and_every_kind(legacy):
    package = Package.load(ROOT, Crossplane.V1, legacy=legacy)
    assert package.legacy
    assert package.xrd["metadata"]["name"] == "xtenantclaims.platform.edgetenants.io"
    assert package.xrd["apiVersion"] == "apiextensions.crossplane.io/v1"
    assert "scope" not in package.xrd["spec"]
    assert package.composition["spec"]["compositeTypeRef"]["kind"] == "XTenantClaim"


def test_capabilities_of_functions_are_told_to_v2_only():
    assert "capabilities" in manifests.function_status(9443, Crossplane.V2)["status"]
    assert "capabilities" not in manifests.function_status(9443, Crossplane.V1)["status"]


@pytest.mark.parametrize("legacy", [False, True])
def test_the_cluster_scoped_tree_is_active_only_when_asked_for(legacy):
    package = Package.load(ROOT, legacy=legacy)
    groups = {c["spec"]["group"] for c in package.crds}
    assert {"cloudfront.m.edgetenants.io", "m.edgetenants.io"} <= groups
    assert ("cloudfront.edgetenants.io" in groups) is legacy
    assert (package.inactive == ()) is legacy
    everything = {c["metadata"]["name"] for c in (*package.crds, *package.inactive)}
    assert "distributiontenants.cloudfront.edgetenants.io" in everything


def test_a_missing_package_says_how_it_is_made(tmp_path):
    with pytest.raises(WorldError, match=r"package/crds contains no manifests; run `make generate`"):
        Package.load(tmp_path, legacy=False)


def test_a_missing_or_broken_file_is_named(tmp_path):
    for folder in ("crds", "crds-legacy"):
        (tmp_path / "package" / folder).mkdir(parents=True)
        (tmp_path / "package" / folder / "one.yaml").write_text(yaml.safe_dump(crd("a.io", "bears")))
    with pytest.raises(WorldError, match=r"xrds/tenantclaim.yaml not found; run `make generate`"):
        Package.load(tmp_path, legacy=False)
    (tmp_path / "package" / "crds" / "one.yaml").write_text("a: [")
    with pytest.raises(WorldError, match=r"one.yaml: invalid YAML"):
        Package.load(tmp_path, legacy=False)


@pytest.mark.parametrize(
    ("legacy", "kinds"),
    [(False, ["ClusterProviderConfig"]), (True, ["ClusterProviderConfig", "ProviderConfig"])],
)
def test_the_configs_lead_to_the_emulator_by_a_secret(legacy, kinds):
    secret, *configs = manifests.credentials("http://127.0.0.1:5000", legacy=legacy)
    assert [c["kind"] for c in configs] == kinds
    for config in configs:
        reference = config["spec"]["credentials"]["secretRef"]
        assert (reference["namespace"], reference["name"]) == (
            secret["metadata"]["namespace"],
            secret["metadata"]["name"],
        )
        assert reference["key"] in secret["stringData"]
        assert config["spec"]["endpoint"] == {"url": "http://127.0.0.1:5000"}


def test_the_function_is_found_by_the_composition_and_left_alone_by_the_package_manager():
    package = Package.load(ROOT, legacy=False)
    [name] = {step["functionRef"]["name"] for step in package.composition["spec"]["pipeline"]}
    metadata = manifests.function_revision()["metadata"]
    assert metadata["labels"]["pkg.crossplane.io/package"] == name
    assert metadata["annotations"]["crossplane.io/paused"] == "true"
    assert manifests.function_status(9443)["status"]["endpoint"] == "dns:///127.0.0.1:9443"


def test_the_seeded_distribution_is_the_one_that_the_plan_names():
    plans = Package.load(ROOT, legacy=False).composition["spec"]["pipeline"][0]["input"]["plans"]
    assert plans["standard"]["distributionId"] in {d["id"] for d in manifests.seed()["distributions"]}


def test_the_webhooks_of_core_lead_to_its_port_and_trust_the_sandboxs_authority(tmp_path):
    (tmp_path / "usage.yaml").write_text(
        "kind: ValidatingWebhookConfiguration\nmetadata: {name: no-usages}\nwebhooks:\n"
        "- clientConfig: {service: {name: webhook-service, namespace: system, path: /validate}}\n"
    )
    service, configuration = manifests.core_webhooks(tmp_path, 20001, b"authority")
    assert service["metadata"]["annotations"] == {"sandbox.edgetenants.io/loopback-port": "20001"}
    [webhook] = configuration["webhooks"]
    assert webhook["clientConfig"] == {
        "caBundle": "YXV0aG9yaXR5",
        "service": {
            "name": service["metadata"]["name"],
            "namespace": service["metadata"]["namespace"],
            "path": "/validate",
        },
    }
    assert f"{service['metadata']['name']}.crossplane-system.svc" == manifests.WEBHOOKS_HOST


def test_without_the_webhooks_of_core_the_folder_is_named(tmp_path):
    with pytest.raises(WorldError, match=f"{tmp_path} does not contain Crossplane's webhook configurations"):
        manifests.core_webhooks(tmp_path, 20001, b"authority")
