"""Where TenantSources may make the process connect to."""

from ipaddress import ip_network

import click
import pytest

from sources import options
from sources.main import main
from sources.reading import Allowed
from sources.stores.http import Confinement


def allowed(*flags: str) -> Allowed:
    return options.allowed(main.make_context("edgetenants-sources", list(flags)).params)


def test_nothing_is_allowed_by_default() -> None:
    assert allowed() == Allowed(frozenset(), Confinement((), (), plain=False))


def test_lists() -> None:
    found = allowed(
        "--allowed-database-hosts=DB.example.com:5432, [::1]:5433,10.0.0.1:5432",
        "--allowed-http-hosts=api.Example.com,.example.org:8443",
        "--allowed-http-networks=10.20.0.0/16,fd00::/8",
    )
    assert found.databases == {("db.example.com", 5432), ("::1", 5433), ("10.0.0.1", 5432)}
    assert found.http.hosts == ("api.example.com", ".example.org:8443")
    assert found.http.networks == (ip_network("10.20.0.0/16"), ip_network("fd00::/8"))
    assert not found.http.plain


@pytest.mark.parametrize(
    "flag",
    [
        "--allowed-database-hosts=db.example.com",
        "--allowed-database-hosts=db.example.com:0",
        "--allowed-database-hosts=db.example.com:65536",
        "--allowed-database-hosts=::1:5432",
        "--allowed-database-hosts=*:5432",
        "--allowed-http-hosts=*",
        "--allowed-http-hosts=.",
        "--allowed-http-hosts=*.example.com",
        "--allowed-http-hosts=https://api.example.com",
        "--allowed-http-hosts=api.example.com:0",
        "--allowed-http-hosts=api.example.com:65536",
        "--allowed-http-hosts=api.example.com:x",
        "--allowed-http-networks=10.20.0.1/16",
        "--allowed-http-networks=all",
    ],
)
def test_what_is_no_list_is_refused(flag: str) -> None:
    with pytest.raises(click.BadParameter):
        allowed(flag)
