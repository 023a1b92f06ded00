"""The lock of the DNS servers."""

from tests.contract.dns.packages import NAME, WANTED
from tests.contract.unpacked import lock_of
from xpkg import debian


def test_the_lock_has_exactly_what_the_servers_need():
    assert sorted(one.name for one in debian.locked(lock_of(NAME))) == sorted(WANTED)


def test_the_servers_run_with_the_libraries_beside_them(packages):
    for program in ("named", "knotd", "pdns_server"):
        loaded = debian.run(
            [
                *packages.command(f"usr/sbin/{program}")[:3],
                "--list",
                str(packages.root / "usr/sbin" / program),
            ]
        )
        paths = [line.partition("=> ")[2] for line in loaded.decode().splitlines() if "=> " in line]
        assert paths
        assert all(path.startswith(str(packages.root)) for path in paths)
