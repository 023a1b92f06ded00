"""What the webhooks answer to a write."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from edgetenants_runtime.admission.review import Request, Verdict
from edgetenants_runtime.api.annotations import EXTERNAL_NAME, FINALIZER
from edgetenants_runtime.managed import Managed
from provider.admission import rules
from provider.cloudfront.domain.moves import TAKE_ANNOTATION
from provider.cloudfront.state.distribution import Distribution
from tests.unit.provider.world import FOR_PROVIDER, managed

NAMESPACE = "crossplane-system"
TAKEN = "taken.example.com"
NOWHERE = "nowhere.example.com"
DISTRIBUTION = Distribution("E1", parameters={"tenantName": True, "colour": False})


class Facts:
    """One kept domain, one domain without a record, one distribution."""

    def __init__(self, distribution: Distribution | None = DISTRIBUTION) -> None:
        self._distribution = distribution

    def kept_for_others(self, domains: frozenset[str], namespace: str) -> Mapping[str, str]:
        return {TAKEN: "key taken"} if TAKEN in domains and namespace != "holder" else {}

    def distribution(self, mr: Managed, id_: str) -> Distribution | None:
        assert mr.kind == "DistributionTenant"
        return self._distribution if id_ == "E1" else None

    def without_records(self, domains: frozenset[str]) -> tuple[str, ...]:
        return (NOWHERE,) if NOWHERE in domains else ()


def tenant(name: str = "shop.acme", /, *, namespace: str = "shop", **changes: Any) -> dict[str, Any]:
    """A new resource as the API server sends it."""
    spec = {**FOR_PROVIDER, "distributionId": "E1", "parameters": {"tenantName": "acme"}, **changes}
    obj = managed({key: value for key, value in spec.items() if value is not None})
    obj["metadata"] = {
        "name": "acme",
        "namespace": namespace,
        "annotations": {EXTERNAL_NAME: name},
        "finalizers": [FINALIZER],
    }
    obj.pop("status", None)
    return obj


def living(obj: dict[str, Any] | None = None) -> dict[str, Any]:
    """The same with a tenant in AWS."""
    made = copy.deepcopy(obj or tenant())
    made["status"] = {
        "atProvider": {"id": "dt_1", "arn": "arn:aws:cloudfront::123456789012:distribution-tenant/dt_1"},
        "applied": {"owner": "i/DistributionTenant/shop/shop.acme", "values": {}},
    }
    return made


def review(
    new: dict[str, Any] | None,
    old: dict[str, Any] | None = None,
    *,
    user: str = "jane",
    facts: Facts | None = None,
    path: str = rules.MANAGED,
) -> Verdict:
    operation = "DELETE" if new is None else "UPDATE" if old else "CREATE"
    shown = new or old or {}
    namespace = shown["metadata"].get("namespace", "")
    name = shown["metadata"].get("name", "")
    request = Request("u", operation, "g", shown["kind"], namespace, name, user, new, old)
    return rules.checks(facts or Facts(), NAMESPACE)[path](request)


def test_a_good_resource_passes_without_a_word() -> None:
    assert review(tenant()) == Verdict()
    assert review(living(), living()) == Verdict()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"domains": [TAKEN]}, f"spec.forProvider.domains: {TAKEN} is kept for another namespace"),
        ({"domains": [TAKEN.upper()]}, f"spec.forProvider.domains: {TAKEN} is kept"),
        (
            {"parameters": {"tenantName": "a", "size": "b"}},
            "spec.forProvider.parameters.size: distribution E1",
        ),
    ],
)
def test_what_the_controller_would_refuse_is_refused(changes: dict[str, Any], field: str) -> None:
    [problem] = review(tenant(**changes)).problems
    assert problem.startswith(field)


def test_all_problems_are_told_at_once() -> None:
    verdict = review(tenant("-", domains=[TAKEN], parameters={"size": "b"}))
    fields = [problem.partition(":")[0] for problem in verdict.problems]
    assert fields == [
        f"metadata.annotations[{EXTERNAL_NAME}]",
        "spec.forProvider.domains",
        "spec.forProvider.parameters.size",
    ]


def test_the_answer_names_no_other_namespace() -> None:
    assert "holder" not in str(review(tenant(domains=[TAKEN])))


def test_the_holder_of_a_domain_may_list_it() -> None:
    assert review(tenant(namespace="holder", domains=[TAKEN])).allowed


def test_a_resource_that_takes_domains_may_list_those_of_another_namespace() -> None:
    """The holder may give them (docs/how-to/move-a-domain.md); the provider decides."""
    obj = tenant(domains=[TAKEN])
    obj["metadata"]["annotations"][TAKE_ANNOTATION] = "dt_2abc"
    verdict = review(obj)
    assert verdict.allowed
    assert f"{TAKEN} is kept for another namespace" in verdict.warnings[0]


def test_a_claims_namespace_counts_for_its_cluster_scoped_resource() -> None:
    obj = tenant(domains=[TAKEN])
    del obj["metadata"]["namespace"]
    assert not review(obj).allowed
    obj["metadata"]["labels"] = {"crossplane.io/claim-namespace": "holder"}
    assert review(obj).allowed


def test_an_edit_of_something_else_does_not_fail_because_of_a_domain() -> None:
    old = living(tenant(domains=[TAKEN]))
    new = copy.deepcopy(old)
    new["spec"]["forProvider"]["enabled"] = False
    assert review(new, old) == Verdict()


def test_domains_of_init_provider_count() -> None:
    obj = tenant(domains=None)
    obj["spec"]["initProvider"] = {"domains": [TAKEN]}
    assert not review(obj).allowed


def test_a_parameter_that_a_new_tenant_lacks_is_a_warning() -> None:
    verdict = review(tenant(parameters={"colour": "red"}))
    assert verdict.allowed
    assert "requires tenantName" in verdict.warnings[0]


@pytest.mark.parametrize("known", [None, Distribution("E1", multi_tenant=False)])
def test_without_a_known_distribution_parameters_are_not_checked(known: Distribution | None) -> None:
    assert review(tenant(parameters={"size": "b"}), facts=Facts(known)) == Verdict()


def test_parameters_are_checked_when_they_change() -> None:
    old = living(tenant(parameters={"tenantName": "a", "size": "b"}))
    assert review(copy.deepcopy(old), old).allowed
    new = copy.deepcopy(old)
    new["spec"]["forProvider"]["parameters"]["size"] = "c"
    assert not review(new, old).allowed


def test_the_name_of_a_tenant_stays() -> None:
    new = living(tenant("shop.other"))
    [problem] = review(new, living()).problems
    assert "shop.other is not the tenant shop.acme (dt_1) that this resource manages" in problem
    # Before there is a tenant, the name is free.
    assert review(tenant("shop.other"), tenant()).allowed


@pytest.mark.parametrize("name", ["dt_0123", "arn:aws:cloudfront::1:distribution-tenant/dt_1"])
def test_an_import_by_id_is_no_name(name: str) -> None:
    assert review(tenant(name)).allowed


def test_a_generated_name_is_not_checked() -> None:
    obj = tenant()
    obj["metadata"] = {"generateName": "a", "namespace": "shop"}
    assert review(obj).allowed


def test_a_resource_that_only_observes_may_list_anything() -> None:
    obj = tenant("-", domains=[TAKEN], parameters={"size": "b"})
    obj["spec"]["managementPolicies"] = ["Observe"]
    assert review(obj) == Verdict()


def test_what_the_platform_writes_passes() -> None:
    new = tenant("-", domains=[TAKEN])
    assert review(new, user=f"system:serviceaccount:{NAMESPACE}:crossplane") == Verdict()
    assert not review(new, user=f"system:serviceaccount:{NAMESPACE}x:crossplane").allowed
    assert not review(new, user="system:serviceaccount:other:crossplane").allowed


def test_what_is_composed_is_stored_with_warnings_whoever_crossplane_is() -> None:
    new = tenant("-", domains=[TAKEN])
    new["metadata"]["ownerReferences"] = [{"kind": "TenantClaim", "name": "acme", "controller": True}]
    verdict = review(new)
    assert verdict.allowed
    assert len(verdict.warnings) == 2
    new["metadata"]["ownerReferences"][0]["controller"] = False
    assert not review(new).allowed


def test_nothing_holds_up_a_deletion() -> None:
    old = living(tenant("-", domains=[TAKEN]))
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    new = copy.deepcopy(old)
    new["spec"]["forProvider"]["domains"] = [TAKEN, "b.example.com"]
    new["metadata"]["finalizers"] = []
    assert review(new, old).allowed
    assert review(None, old).allowed


def test_a_domain_without_a_record_is_a_warning() -> None:
    verdict = review(tenant(domains=[NOWHERE]))
    assert verdict.allowed
    assert verdict.warnings[0].startswith(f"DNS has no record of {NOWHERE}.")


def test_the_deletion_of_a_protected_tenant_says_that_it_will_be_held() -> None:
    old = living()
    assert review(None, old) == Verdict()
    old["spec"]["deletionProtection"] = True
    [warning] = review(None, old).warnings
    assert "deletionProtection is on" in warning
    assert "edgetenants.io/confirm" in warning
    old["spec"]["managementPolicies"] = ["Observe", "Create", "Update"]
    assert review(None, old) == Verdict()


def test_turning_protection_off_during_the_deletion_says_that_it_releases_nothing() -> None:
    old = living()
    old["spec"]["deletionProtection"] = True
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    new = copy.deepcopy(old)
    new["spec"]["deletionProtection"] = False
    [warning] = review(new, old).warnings
    assert "releases nothing" in warning


def test_taking_off_the_finalizer_says_what_stays() -> None:
    new = living()
    new["metadata"]["finalizers"] = []
    [warning] = review(new, living()).warnings
    assert "leaves its tenant shop.acme in AWS" in warning


def test_another_provider_config_must_lead_to_the_same_account() -> None:
    new = living()
    new["spec"]["providerConfigRef"] = {"kind": "ProviderConfig", "name": "mine"}
    [warning] = review(new, living()).warnings
    assert "same AWS account" in warning
    assert "123456789012" in warning


def test_a_claim_gets_warnings_only() -> None:
    claim = {
        "kind": "TenantClaim",
        "metadata": {"name": "acme", "namespace": "shop"},
        "spec": {"domains": [TAKEN, NOWHERE]},
    }
    verdict = review(claim, path=rules.CLAIMS)
    assert verdict.allowed
    assert [each[:12] for each in verdict.warnings] == ["spec.domains", "DNS has no r"]
    assert review(claim, claim, path=rules.CLAIMS) == Verdict()
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert review(claim, path=rules.CLAIMS) == Verdict()


@pytest.mark.parametrize(
    "spelled", ["Taken.Example.COM", "taken.example.com.", "\uff54aken.example\u3002com"]
)
def test_a_claim_may_spell_a_domain_as_it_likes(spelled: str) -> None:
    spec = {"domains": [spelled, "not a domain"]}
    claim = {"kind": "TenantClaim", "metadata": {"name": "acme", "namespace": "shop"}, "spec": spec}
    verdict = review(claim, path=rules.CLAIMS)
    assert f"{TAKEN} is kept for another namespace" in verdict.warnings[0]


def test_a_connection_group_has_no_domains_and_no_parameters() -> None:
    group = {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "ConnectionGroup",
        "metadata": {"name": "g", "namespace": "shop"},
        "spec": {"forProvider": {}},
    }
    assert review(group) == Verdict()
    old = {**group, "status": {"atProvider": {"id": "cg_1"}, "applied": {"owner": "x", "values": {}}}}
    renamed = copy.deepcopy(old)
    renamed["metadata"]["annotations"] = {EXTERNAL_NAME: "other"}
    [problem] = review(renamed, old).problems
    assert "connection group" in problem
