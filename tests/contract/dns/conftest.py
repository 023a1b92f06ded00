"""The DNS servers of tests, each started once for a test file."""

from __future__ import annotations

import pytest

from tests.contract.dns import servers
from tests.contract.dns.packages import installed
from xpkg.errors import PackagingError


@pytest.fixture(scope="session")
def packages():
    try:
        return installed()
    except PackagingError as error:
        # With --no-skips, as in CI, this fails.
        pytest.skip(f"did not run, as the DNS servers cannot be installed: {error}")


@pytest.fixture(scope="module")
def bind(packages, tmp_path_factory):
    with servers.bind(packages, tmp_path_factory.mktemp("bind")) as running:
        yield running


@pytest.fixture(scope="module")
def knot(packages, tmp_path_factory):
    with servers.knot(packages, tmp_path_factory.mktemp("knot")) as running:
        yield running


@pytest.fixture(scope="module")
def powerdns(packages, tmp_path_factory):
    with servers.powerdns(packages, tmp_path_factory.mktemp("powerdns")) as running:
        yield running
