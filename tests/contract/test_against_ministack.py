"""The same boto3 calls against our emulator and against ministack: every difference is a listed one."""

from __future__ import annotations

import pytest

from tests.contract import scenarios_of_distributions, scenarios_of_groups, scenarios_of_tenants
from tests.contract.differences import DIFFERENCES
from tests.contract.facts import SCENARIOS

MISSING = "(no such fact)"
MODULES = (scenarios_of_groups, scenarios_of_tenants, scenarios_of_distributions)  # they fill SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_difference_is_listed_and_every_listed_one_is_there(ours, theirs, name):
    number = f"{list(SCENARIOS).index(name) + 1:012}"
    here, there = dict(SCENARIOS[name](ours(number))), dict(SCENARIOS[name](theirs(number)))
    found = {
        fact: (there.get(fact, MISSING), here.get(fact, MISSING))
        for fact in {**here, **there}
        if there.get(fact, MISSING) != here.get(fact, MISSING)
    }
    listed = {known.fact: (known.ministack, known.ours) for known in DIFFERENCES if known.scenario == name}
    assert found == listed


def test_the_list_names_scenarios_and_each_fact_once():
    named = [(known.scenario, known.fact) for known in DIFFERENCES]
    assert {scenario for scenario, _ in named} <= set(SCENARIOS)
    assert len(set(named)) == len(named)
