"""The alerts of docs/how-to/run-in-production.md: their metrics are on the page, their states exist, and none
fires for ever for what waits for a customer."""

from __future__ import annotations

import re
from pathlib import Path

from apis.conditions import TenantReadyReason
from edgetenants_runtime.api.conditions import ReadyReason

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "run-in-production.md").read_text()
METRICS, _, REST = PAGE.partition("## What to alert on")
ALERTS = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", REST.partition("\n## ")[0], re.MULTILINE))
REASONS = {*map(str, TenantReadyReason), *map(str, ReadyReason)}
WAIT_FOR_THE_CUSTOMER = {"DomainValidationPending", "CertificatePending"}
NOT_TO_SERVE = {"Disabled", "Disabling", "Deleting"}


def states(alert: str, operator: str) -> set[str]:
    (found,) = re.findall(rf'\{{state{operator}"([^"]*)"', ALERTS[alert])
    return set(found.split(r"\|"))


def documented() -> set[str]:
    """The metrics in the tables, with those that are written as a common beginning and its ends."""
    found: set[str] = set()
    for cell in re.findall(r"^\| (`.*?) \|", METRICS, re.MULTILINE):
        first, *others = re.findall(r"`([a-z_]+)`", cell) or [""]
        found |= {first, *(each for each in others if not each.startswith("_"))}
        for end in (each for each in others if each.startswith("_")):
            parts = first.split("_")
            found |= {"_".join(parts[:kept]) + end for kept in range(1, len(parts))}
    return found


def test_the_metrics_of_the_alerts_are_on_the_page() -> None:
    named = {each for text in ALERTS.values() for each in re.findall(r"\b[a-z]+(?:_[a-z]+){2,}\b", text)}
    assert len(named) > 8
    known = documented()
    assert {each for each in named if re.sub(r"_(bucket|count|sum)$", "", each) not in known} == set()


def test_a_tenant_that_waits_or_is_suspended_raises_no_alarm() -> None:
    left_out = states("tenants do not serve", "!~")
    assert left_out == {"Available"} | WAIT_FOR_THE_CUSTOMER | NOT_TO_SERVE
    assert left_out <= REASONS


def test_no_leader_is_noticed_when_every_process_is_down() -> None:
    assert "absent(leader_election_master_status" in ALERTS["no leader, or no pod"]
