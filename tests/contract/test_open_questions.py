"""Tenants and connection groups live as asked, whatever AWS turns out to do.

Each open question of the emulator is switched alone, then many at once by chance; the provider's own clients
are called as the runtime would call them, and time is stepped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from edgetenants_emulator import EmulatorServer
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.unknowns.catalog import UNKNOWNS
from tests.contract import in_process, readings
from tests.contract.lives import DISTRIBUTION, Life, Recorded, with_every_field, with_managed_certificate
from tests.unit.provider.world import managed

LIVES = [with_managed_certificate, with_every_field]
READINGS = [
    pytest.param({}, id="default"),
    *(pytest.param(each, id="=".join(map(str, *each.items()))) for each in readings.single()),
    *(pytest.param(each, id=f"combination-{n}") for n, each in enumerate(readings.combined())),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Recorded]:
    with EmulatorServer(rate=0) as running, in_process.reaching(running):
        yield Recorded(running.url)


@pytest.fixture
def aws(server: Recorded) -> Iterator[Recorded]:
    yield server
    server.unset()


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("reading", READINGS)
def test_a_life_under_each_reading(aws: Recorded, reading: dict[str, Any], life: Any) -> None:
    aws.set(reading)
    try:
        life(aws)
    except Exception as error:
        error.add_note(f"EDGETENANTS_SEED={readings.SEED}, settings {reading}")
        raise


def test_no_setting_of_an_open_question_is_left_out() -> None:
    asked = {name for unknown in UNKNOWNS for name in unknown.settings}
    tried = {name for reading in readings.single() for name in reading}
    assert tried == asked - set(readings.NEVER)
    assert set(readings.NEVER) | set(readings.FITTING) <= asked <= {field.name for field in fields(Settings)}
    defaults = Settings().as_json()
    assert not [each for each in readings.single() if each.items() <= defaults.items()]


def test_where_requests_are_lost_they_are_repeated_with_patience(aws: Recorded) -> None:
    aws.set({"certificate_request_lost": True})
    request = {"validationTokenHost": "self-hosted"}
    domains = ["www.lost.test"]
    asked = {"distributionId": DISTRIBUTION, "domains": domains, "managedCertificateRequest": request}
    tenant = Life(managed(asked), aws)
    before = aws.called
    for _ in range(5):
        tenant.cloudfront.deploy()
        tenant.reconcile()
    made = aws.operations(before)
    assert "CreateDistributionTenant" in made
    assert "UpdateDistributionTenant" not in made
    aws.set({"certificate_request_lost": False})
    tenant.clock.advance(601)
    tenant.reconcile()
    aws.admin("PATCH", "managed-certificates/shop.acme", {"served": True})
    tenant.settle()
