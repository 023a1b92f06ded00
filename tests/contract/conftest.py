"""One emulator in this process, emptied after each test: its start and boto3's cost more than a test. Fresh
ones, and ministack, for what is compared."""

from __future__ import annotations

import pytest

from edgetenants_emulator.certificates import acm as certificates
from edgetenants_emulator.server import EmulatorServer
from tests.contract import in_process, ministack
from tests.contract.account import SESSION, Account
from tests.contract.admin import Admin
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


@pytest.fixture
def without_sockets(emulated):
    with in_process.reaching(emulated.server):
        yield


@pytest.fixture
def ours():
    """Account number to account, at a fresh emulator of ours: domains are unique over all accounts."""
    with EmulatorServer(rate=0) as server:
        admin = Admin(server.url)

        def deploy() -> None:
            admin("POST", "clock", {"step": 3600})

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
