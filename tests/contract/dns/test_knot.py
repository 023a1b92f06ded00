"""The store for dynamic updates against Knot DNS."""

import pytest

from tests.contract.dns import benches
from tests.contract.dns.updated import Updated
from tests.unit.provider.dns.conformance import Conformance


class Test(Conformance, Updated):
    @pytest.fixture
    def running(self, knot):
        return knot

    @pytest.fixture
    def bench(self, running):
        return benches.rfc2136(running)
