"""The pure parts: metadata, policies, status."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.managed import Managed, ProviderConfigKey
from edgetenants_runtime.rules import meta, policies, status
from edgetenants_runtime.rules.status import Report
from edgetenants_runtime.testing import toy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
THEN = "2025-12-31T00:00:00Z"


def stamps(**ages: float) -> dict[str, str]:
    return {
        f"crossplane.io/external-create-{name}": (NOW - timedelta(seconds=age)).isoformat()
        for name, age in ages.items()
    }


@pytest.mark.parametrize(
    ("annotations", "incomplete", "attempted"),
    [
        ({}, False, False),
        (stamps(pending=5), True, True),
        (stamps(pending=5, succeeded=4), False, False),
        (stamps(pending=5, failed=4), False, True),
        (stamps(pending=5, succeeded=9), True, True),
        (stamps(pending=5, succeeded=9, failed=7), True, True),
        (stamps(pending=5, succeeded=5), False, False),
        (stamps(succeeded=5), False, False),
    ],
)
def test_how_a_creation_stands(annotations: dict[str, str], incomplete: bool, attempted: bool) -> None:
    creation = meta.creation(annotations)
    assert creation.incomplete is incomplete
    assert creation.attempted_since_success is attempted


def test_two_attempts_within_one_second_are_told_apart() -> None:
    annotations = meta.creation_failed(NOW) | meta.creation_pending(NOW + timedelta(microseconds=1))
    assert meta.creation(annotations).incomplete


@pytest.mark.parametrize(("age", "within"), [(29, True), (31, False)])
def test_the_grace_after_a_creation(age: float, within: bool) -> None:
    assert meta.creation(stamps(succeeded=age)).succeeded_within(30, NOW) is within


@pytest.mark.parametrize(
    ("reason", "seconds_after", "seen"),
    [
        ("Available", 2, True),
        ("Deleting", 2, True),
        ("Creating", 2, False),
        ("Available", -60, False),
    ],
)
def test_a_ready_that_moved_since_the_creation_says_that_it_was_seen(
    reason: str, seconds_after: float, seen: bool
) -> None:
    moved = rfc3339(NOW - timedelta(seconds=10) + timedelta(seconds=seconds_after))
    ready = Condition(type="Ready", status="False", reason=reason, last_transition_time=moved)
    assert meta.creation(stamps(succeeded=10)).seen_since(ready) is seen
    assert not meta.creation(stamps()).seen_since(ready)
    assert not meta.creation(stamps(succeeded=10)).seen_since(None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("100ms", 0.1),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert meta.parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5d", "5mx"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        meta.parse_duration(text)


def test_every_supported_combination_and_what_it_permits() -> None:
    def show(p: policies.Permissions) -> str:
        return "".join(
            c if on else "-"
            for c, on in zip("CUDL", (p.create, p.update, p.delete, p.late_initialize), strict=True)
        )

    assert [show(policies.permissions(combination, None)) for combination in policies.SUPPORTED] == [
        "CUDL", "CUDL", "----", "----", "CUD-", "CU-L", "CU--", "C-DL",
        "C--L", "C-D-", "C---", "--D-", "---L", "-U--", "-U-L",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "combination", [["Create"], ["Update", "Delete"], ["*", "Observe"], ["Observe", "Update", "Delete"]]
)
def test_other_combinations_are_refused(combination: list[str]) -> None:
    with pytest.raises(policies.UnsupportedPolicies, match=r"is not supported; set one of: \[\*\]"):
        policies.permissions(combination, None)


def report(*said: conditions.Condition, **rest: Any) -> Report:
    return Report(conditions=said, **rest)


def patch(old: dict[str, Any], said: Report, generation: int = 1) -> dict[str, Any]:
    return status.patch_for(old, said, generation=generation, now=NOW)


OLD: dict[str, Any] = {
    "observedGeneration": 1,
    "atProvider": {"a": 1, "b": {"c": 2}},
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Available",
            "lastTransitionTime": THEN,
            "observedGeneration": 1,
        },
        {"type": "Other", "status": "True", "reason": "X", "lastTransitionTime": THEN},
    ],
}


def test_no_news_is_no_patch() -> None:
    assert patch(OLD, report(conditions.available(), at_provider={"a": 1, "b": {"c": 2, "d": None}})) == {}


def test_a_transition_moves_its_time_and_keeps_the_others() -> None:
    news = patch(OLD, report(conditions.unavailable("down")))
    assert news["conditions"][0] == {
        "type": "Ready", "status": "False", "reason": "Unavailable", "message": "down",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    }  # fmt: skip
    assert news["conditions"][1] == OLD["conditions"][1]


def test_another_reason_is_news_without_a_transition() -> None:
    news = patch(OLD, report(conditions.available().model_copy(update={"reason": "Serving"})))
    assert news["conditions"][0]["reason"] == "Serving"
    assert news["conditions"][0]["lastTransitionTime"] == THEN


def test_a_new_generation_is_news() -> None:
    news = patch(OLD, report(conditions.available()), generation=2)
    assert news["observedGeneration"] == 2
    assert (
        news["conditions"][0] | {"observedGeneration": 2, "lastTransitionTime": THEN} == news["conditions"][0]
    )


def test_what_is_no_longer_there_is_removed() -> None:
    assert patch(OLD | {"drift": [1]}, report(at_provider={"a": 1}, fields={"drift": None})) == {
        "atProvider": {"b": None},
        "drift": None,
    }


def test_lists_tuples_and_enums_are_compared_as_json() -> None:
    old = OLD | {"atProvider": {"domains": [{"status": "True"}]}}
    seen = {"domains": ({"status": conditions.ConditionStatus.TRUE},)}
    assert patch(old, report(at_provider=seen)) == {}


def test_the_last_condition_of_a_type_wins() -> None:
    news = patch({}, report(conditions.creating(), conditions.available()))
    assert [c["reason"] for c in news["conditions"]] == ["Available"]


def test_the_request_id_is_no_news() -> None:
    old = patch({}, report(conditions.reconcile_error("denied (request id: 1)")))
    assert patch(old, report(conditions.reconcile_error("denied (request id: 2)"))) == {}
    assert patch(old, report(conditions.reconcile_error("gone (request id: 2)"))) != {}


def test_the_request_id_goes_with_the_blanks_before_it() -> None:
    assert status.without_request_id("denied  (request id: 1)") == "denied"
    assert status.without_request_id("a (request id: 1) b (request id: 2)") == "a b"
    assert status.without_request_id("(request id: (request id: 2)") == "(request id:"


@pytest.mark.timeout(5)
@pytest.mark.parametrize("word", [" ", "\t\n", "(request id: ", " (request id: "])
def test_a_message_of_others_takes_no_time(word: str) -> None:
    """A worker reads 8,192 characters of each condition; quadratic time would show in these."""
    message = word * (1_000_000 // len(word))
    assert status.without_request_id(message) == message


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (toy(), ProviderConfigKey("ClusterProviderConfig", "default", "")),
        (toy(cluster=True), ProviderConfigKey("ProviderConfig", "default", "")),
        (
            toy(providerConfigRef={"kind": "ProviderConfig", "name": "x"}),
            ProviderConfigKey("ProviderConfig", "x", "shop"),
        ),
        (toy(cluster=True, providerConfigRef={"name": "x"}), ProviderConfigKey("ProviderConfig", "x", "")),
    ],
)
def test_the_provider_config_that_is_meant(obj: dict[str, Any], expected: ProviderConfigKey) -> None:
    assert Managed(obj).provider_config_ref == expected


def test_a_managed_resource_without_anything_optional() -> None:
    mr = Managed(toy())
    assert (mr.namespace, mr.external_name, mr.deleted, mr.paused) == ("shop", None, False, False)
    assert (mr.management_policies, mr.deletion_policy, mr.at_provider) == (("*",), None, {})
    assert mr.condition("Ready") is None


def test_finalizers_of_others_keep_their_order() -> None:
    assert meta.with_finalizer(("a", "b")) == ["a", "b", names.FINALIZER]
    assert meta.without_finalizer(("a", names.FINALIZER, "b")) == ["a", "b"]
