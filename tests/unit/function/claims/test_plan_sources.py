"""Plans from EnvironmentConfigs, which Crossplane reads for the function."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.unit.function import building

BY_NAME = {"environmentConfig": {"name": "gold-plans"}}
BY_LABELS = {"environmentConfig": {"matchLabels": {"edgetenants.io/plans": "true"}}}
CAPABLE = [fnv1.CAPABILITY_CAPABILITIES, fnv1.CAPABILITY_REQUIRED_RESOURCES]
GOLD = {"distributionId": "E1GOLD"}
SILVER = {"distributionId": "E1SILVER"}


def config(name: str, plans: Any) -> dict[str, Any]:
    data = {} if plans is None else {"data": {"plans": plans}}
    kind = {"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig"}
    return {**kind, "metadata": {"name": name}, **data}


def request(
    *sources: dict[str, Any],
    plan: str = "gold",
    resolved: dict[str, list[dict[str, Any]]] | None = None,
    capable: bool = True,
    input_: dict[str, Any] | None = None,
    observed: dict[str, Any] | None = None,
) -> fnv1.RunFunctionRequest:
    """A claim of a plan; `resolved` is what core has read, by the names of the requirements."""
    req = building.request(
        input_={"plansFrom": list(sources), "defaultPlan": None, **(input_ or {})},
        spec={"plan": plan, "domains": ["acme.example.com", "shop.acme.com"]},
        observed=observed,
    )
    if capable:
        req.meta.capabilities.extend(CAPABLE)
    answers = req.required_resources if capable else req.extra_resources
    for name, items in (resolved or {}).items():
        answers[name].SetInParent()
        for item in items:
            answers[name].items.add().resource.update(item)
    return req


def distribution(rsp: fnv1.RunFunctionResponse) -> str:
    return str(building.desired(rsp)["tenant"]["spec"]["forProvider"]["distributionId"])


class TestRequirements:
    def test_by_name_and_by_labels(self) -> None:
        rsp = building.run(request(BY_NAME, BY_LABELS))

        found = rsp.requirements.resources
        assert sorted(found) == ["plans-0", "plans-1"]
        assert {each.api_version for each in found.values()} == {"apiextensions.crossplane.io/v1beta1"}
        assert {each.kind for each in found.values()} == {"EnvironmentConfig"}
        assert found["plans-0"].match_name == "gold-plans"
        assert dict(found["plans-1"].match_labels.labels) == {"edgetenants.io/plans": "true"}
        assert not rsp.requirements.extra_resources

    def test_cores_that_say_nothing_of_themselves_are_asked_in_the_old_way_too(self) -> None:
        asked = building.run(request(BY_NAME, capable=False)).requirements

        assert dict(asked.extra_resources) == dict(asked.resources)

    @pytest.mark.parametrize("capable", [True, False])
    @pytest.mark.parametrize("items", [None, [], [config("gold-plans", {"gold": GOLD})]])
    def test_they_are_the_same_with_each_call(self, *, capable: bool, items: list[Any] | None) -> None:
        resolved = None if items is None else {"plans-0": items}

        first = building.run(request(BY_NAME, capable=capable)).requirements
        then = building.run(request(BY_NAME, capable=capable, resolved=resolved)).requirements

        assert then == first

    def test_none_without_sources(self) -> None:
        assert not building.run(building.request()).HasField("requirements")


class TestPlans:
    @pytest.mark.parametrize("capable", [True, False])
    def test_of_a_source(self, *, capable: bool) -> None:
        resolved = {"plans-0": [config("gold-plans", {"gold": GOLD})]}

        assert distribution(building.run(request(BY_NAME, capable=capable, resolved=resolved))) == "E1GOLD"

    def test_of_the_input_beside_sources(self) -> None:
        rsp = building.run(
            request(BY_NAME, plan="standard", resolved={"plans-0": [config("gold-plans", {})]})
        )

        assert distribution(rsp) == "E1EDGETENANTS"

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_one_name_the_last_is_used_whatever_order_core_reads_in(self, *, turned: bool) -> None:
        configs = [config("a", {"standard": SILVER}), config("b", {"standard": GOLD})]
        resolved = {"plans-0": configs[::-1] if turned else configs}

        rsp = building.run(request(BY_LABELS, plan="standard", resolved=resolved))

        assert distribution(rsp) == "E1GOLD"

    def test_a_plan_of_another_source_is_another_plan_until_the_claim_confirms(self) -> None:
        """The EnvironmentConfig is replaced, and for a moment the input's plan of the same name counts."""
        resolved = {"plans-0": [config("gold-plans", {"standard": GOLD})]}
        first = building.run(request(BY_LABELS, plan="standard", resolved=resolved))
        composed = building.desired(first)["tenant"]
        assert composed["metadata"]["annotations"]["edgetenants.io/plan"] == (
            "standard, EnvironmentConfig gold-plans"
        )
        served = building.merged(composed, {"status": {"atProvider": {"id": "dt_1"}}})
        req = request(BY_LABELS, plan="standard", resolved={"plans-0": []}, observed={"tenant": served})

        assert distribution(building.run(req)) == "E1GOLD"

    def test_the_default_plan_may_stand_in_a_source(self) -> None:
        req = request(
            BY_NAME, input_={"defaultPlan": "gold"}, resolved={"plans-0": [config("x", {"gold": GOLD})]}
        )
        del req.observed.composite.resource["spec"]["plan"]

        assert distribution(building.run(req)) == "E1GOLD"

    def test_a_broken_one_is_told_with_its_place(self) -> None:
        resolved = {"plans-0": [config("gold-plans", {"gold": {"distributionId": "no id!"}})]}

        rsp = building.run(request(BY_NAME, resolved=resolved))

        assert building.results(rsp) == [["FATAL", "PlanInvalid"]]
        expected = "EnvironmentConfig gold-plans: data.plans.gold.distributionId: expected"
        assert expected in building.live(rsp)[2]

    def test_a_broken_one_harms_no_other(self) -> None:
        resolved = {"plans-0": [config("gold-plans", {"gold": GOLD, "bad": {}})]}

        rsp = building.run(request(BY_NAME, resolved=resolved))

        assert building.results(rsp) == [["NORMAL", "Creating"], ["WARNING", "PlanInvalid"]]

    @pytest.mark.parametrize("plans", [None, "x", [1]])
    def test_a_source_without_plans_is_told_where_one_is_missing(self, plans: Any) -> None:
        rsp = building.run(request(BY_NAME, resolved={"plans-0": [config("gold-plans", plans)]}))

        assert building.live(rsp)[1] == "PlanNotFound"
        assert "EnvironmentConfig gold-plans: data.plans: expected an object" in building.live(rsp)[2]

    def test_labels_that_nothing_has_give_no_plans(self) -> None:
        rsp = building.run(request(BY_LABELS, resolved={"plans-0": []}))

        assert building.live(rsp)[1] == "PlanNotFound"


SERVING: dict[str, Any] = {
    "tenant": {"status": building.live_status(), "spec": {"forProvider": {"tags": {"a": "b"}}}}
}


class TestNothingLiveDies:
    def test_a_named_source_that_is_missing_changes_nothing(self) -> None:
        rsp = building.run(request(BY_NAME, plan="standard", resolved={"plans-0": []}, observed=SERVING))

        assert building.results(rsp) == [["FATAL", "Blocked"]]
        told = building.conditions(rsp)
        assert told["Live"][:2] == ("True", "Live")
        assert "EnvironmentConfig gold-plans" in told["Degraded"][2]
        assert told["Blocked"][1] == "MissingDependencies"
        assert not rsp.desired.resources

    def test_before_the_sources_are_read_what_is_there_stays_as_it_is(self) -> None:
        req = request(BY_NAME, observed=SERVING)
        req.observed.resources["other"].resource.update({"apiVersion": "v1", "kind": "ConfigMap"})

        rsp = building.run(req)

        wanted = building.desired(rsp)
        assert list(wanted) == ["tenant"]
        assert wanted["tenant"]["spec"]["forProvider"]["tags"] == {"a": "b"}
        assert wanted["tenant"]["metadata"] == {"annotations": {"crossplane.io/external-name": "shop.acme"}}
        assert "status" not in wanted["tenant"]
        assert building.ready(rsp) == {"tenant": True}
        assert not rsp.results


@pytest.mark.parametrize(("input_", "seconds"), [({}, 600), ({"ttl": "1h"}, 3600), ({"ttl": "30s"}, 30)])
def test_ttl_is_shorter_with_sources_where_nobody_says(input_: dict[str, Any], seconds: int) -> None:
    assert building.run(request(BY_NAME, input_=input_)).meta.ttl.seconds == seconds
