"""A claim with a tenant per domain, several of which have failed: Live has the cause of each."""

from __future__ import annotations

from typing import Any

from tests.unit.function import building

DOMAINS = [f"d{number}.example.com" for number in range(6)]
SPEC = {"plan": "standard", "isolation": "PerDomain", "domains": DOMAINS}


def live(failed: dict[str, str]) -> tuple[str, str, str]:
    """Live of the claim whose tenants of these domains failed with these messages; the others serve."""
    observed: dict[str, Any] = {}
    for _ in DOMAINS:
        # A few are created at a time.
        rsp = building.run(building.request(spec=SPEC, observed=observed))
        for name, resource in building.desired(rsp).items():
            [domain] = resource["spec"]["forProvider"]["domains"]
            observed[name] = {
                "spec": {"forProvider": {"domains": [domain]}},
                "status": _status(domain, failed),
            }
    assert len(observed) == len(DOMAINS)
    return building.live(building.run(building.request(spec=SPEC, observed=observed)))


def _status(domain: str, failed: dict[str, str]) -> dict[str, Any]:
    if domain in failed:
        return {"conditions": [building.condition("Ready", "False", "DomainConflict", failed[domain])]}
    return building.live_status(domain)


def test_each_cause_is_told() -> None:
    conflicts = {"d1.example.com": "Another tenant has d1.", "d4.example.com": "Set give-domains-to of d4."}
    _, reason, message = live(conflicts)
    assert reason == "DomainConflict"
    assert message == "d1.example.com: Another tenant has d1; also d4.example.com: Set give-domains-to of d4."


def test_one_cause_of_several_is_told_once() -> None:
    assert live(dict.fromkeys(DOMAINS[:3], "AWS denies it."))[2] == "d0.example.com: AWS denies it."


def test_of_many_causes_the_first_are_told_and_how_many_there_are() -> None:
    message = live({domain: f"Cause of {domain[:2]}." for domain in DOMAINS[:5]})[2]
    causes = "d0.example.com: Cause of d0; also d1.example.com: Cause of d1; also d2.example.com: Cause of d2"
    assert message == f"{causes}; also 2 more"
