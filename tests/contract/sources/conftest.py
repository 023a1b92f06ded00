"""The databases of tests, each started once for a test file. Its cluster is made once, and copied."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.contract.sources import mariadb, redis_server, servers
from tests.contract.sources.packages import installed
from xpkg.errors import PackagingError


@pytest.fixture(scope="session")
def packages():
    try:
        return installed()
    except PackagingError as error:
        # With --no-skips, as in CI, this fails.
        pytest.skip(f"did not run, as the databases cannot be installed: {error}")


@pytest.fixture(scope="session")
def scratch():
    """Short, and open to the user of the server: pytest's own folders are for this user only."""
    with tempfile.TemporaryDirectory(prefix="edgetenants-databases-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def new_cluster(packages, scratch):
    return servers.prepared(packages, scratch / "new")


@pytest.fixture(scope="module")
def database(packages, new_cluster, scratch, request):
    home = scratch / f"{request.module.__name__.rpartition('.')[2]}-{os.getpid()}"
    home.mkdir()
    with servers.postgresql(packages, new_cluster, home) as running:
        yield running


@pytest.fixture(scope="session")
def new_mariadb(packages, scratch):
    return mariadb.prepared(packages, scratch / "new-mariadb")


@pytest.fixture(scope="module")
def mysql(packages, new_mariadb, scratch, request):
    home = scratch / f"{request.module.__name__.rpartition('.')[2]}-mariadb-{os.getpid()}"
    with mariadb.mariadb(packages, new_mariadb, home) as running:
        yield running


@pytest.fixture(scope="module")
def redis(packages, scratch, request):
    home = scratch / f"{request.module.__name__.rpartition('.')[2]}-redis-{os.getpid()}"
    with redis_server.redis(packages, home) as running:
        yield running
