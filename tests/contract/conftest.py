"""One emulator in this process, emptied after each test: its start and boto3's cost more than a test."""

from __future__ import annotations

import pytest

from edgetenants_emulator.server import EmulatorServer
from tests.contract.emulated import Emulated


@pytest.fixture(scope="session")
def emulated():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "HTTP_PROXY", "http_proxy"):
            patch.delenv(name, raising=False)
        server = EmulatorServer()
        server.start()
        yield Emulated(server)
        server.stop()


@pytest.fixture
def aws(emulated):
    emulated.admin("DELETE", "calls")
    yield emulated
    emulated.empty()
