"""The same boto3 calls against our emulator and against ministack: every difference is a listed one."""

from __future__ import annotations

import json
import urllib.request

import pytest

from edgetenants_emulator import EmulatorServer, certificates
from tests.contract import ministack, scenarios_of_distributions, scenarios_of_groups, scenarios_of_tenants
from tests.contract.account import SESSION, Account
from tests.contract.differences import DIFFERENCES
from tests.contract.facts import SCENARIOS

MISSING = "(no such fact)"
MODULES = (scenarios_of_groups, scenarios_of_tenants, scenarios_of_distributions)  # they fill SCENARIOS
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def ours():
    """Account number to account, at a fresh emulator of ours: domains are unique over all accounts."""
    with EmulatorServer(rate=0) as server:

        def deploy() -> None:
            body = json.dumps({"step": 3600}).encode()
            _DIRECT.open(urllib.request.Request(f"{server.url}/_edgetenants/clock", body)).close()

        yield lambda number: Account(server.url, number, certificates.issue, deploy)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """Account number to account, at ministack, where all is deployed at once."""
    with ministack.running(tmp_path_factory.mktemp("ministack")) as url:

        def issue(number: str, names: list[str]) -> str:
            acm = SESSION.client(
                "acm",
                endpoint_url=url,
                region_name="us-east-1",
                aws_access_key_id=number,
                aws_secret_access_key="any",
            )
            asked = acm.request_certificate(DomainName=names[0], SubjectAlternativeNames=names)
            return asked["CertificateArn"]

        yield lambda number: Account(url, number, issue, lambda: None)


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
