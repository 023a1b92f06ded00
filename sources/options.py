"""The flags of `edgetenants-sources`, each of which is also an environment variable, and the settings that
they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final

import click

from edgetenants_runtime import logs
from edgetenants_runtime.manager import Settings
from edgetenants_runtime.process.leader import Election, Timing
from sources.reading import DATABASES_FLAG, Allowed
from sources.stores.http import Confinement

__all__ = ["allowed", "databases", "hosts", "networks", "options", "settings", "text"]

_SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - kubelet and Prometheus connect from outside the pod


def _seconds(least: float, *, above: bool = False) -> dict[str, Any]:
    return {"type": click.FloatRange(min=least, min_open=above), "metavar": "SECONDS"}


_PORT: Final = {"type": click.IntRange(0, 65535), "metavar": "PORT"}


def _flag(*names: str, says: str, **how: Any) -> click.Option:
    return click.Option(names, help=says, **how)


def _items(given: str) -> Iterator[str]:
    return (each.strip() for each in given.split(",") if each.strip())


def databases(given: str) -> frozenset[tuple[str, int]]:
    """The databases of --allowed-database-hosts. Raises click.BadParameter."""
    found = set()
    for each in _items(given):
        match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})", each)
        if match is None or not 0 < int(match[3]) < 65536:
            raise click.BadParameter(f"expected HOST:PORT, got {each!r}")
        found.add(((match[1] or match[2]).lower(), int(match[3])))
    return frozenset(found)


def hosts(given: str) -> tuple[str, ...]:
    """The hosts of --allowed-http-hosts. Raises click.BadParameter."""
    found = tuple(each.lower() for each in _items(given))
    for each in found:
        match = re.fullmatch(r"\.?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::([0-9]{1,5}))?", each)
        if match is None or not 0 < int(match[1] or 1) < 65536:
            message = (
                "expected a host name, or the end of host names with a dot before it, and :PORT if that is "
                f"not 443, got {each!r}"
            )
            raise click.BadParameter(message)
    return found


def networks(given: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """The networks of --allowed-http-networks. Raises click.BadParameter."""
    try:
        return tuple(ip_network(each) for each in _items(given))
    except ValueError as error:
        raise click.BadParameter(f"expected networks such as 10.0.0.0/8: {error}") from error


_FLAGS: Final = (
    _flag(
        "--kubeconfig",
        type=click.Path(dir_okay=False),
        says="Kubeconfig file. Without it, the process uses the pod's service account.",
    ),
    _flag(
        "--namespace",
        metavar="NAME",
        envvar=["EDGETENANTS_NAMESPACE", "POD_NAMESPACE"],
        says="Namespace of the Lease. Without it, the process uses the pod's namespace, or crossplane-system "
        "outside a pod.",
    ),
    _flag(
        "--workers",
        type=click.IntRange(1, 64),
        metavar="NUMBER",
        default=4,
        says="Maximum concurrent reconciles. Each holds the rows of one table in memory.",
    ),
    _flag(
        "--timeout",
        **_seconds(30),
        default=600.0,
        says="Time limit of one read and the writes that follow. A longer read counts as incomplete; further "
        "writes follow with the next one.",
    ),
    _flag(
        "--stop-timeout",
        **_seconds(0),
        default=20.0,
        says="Time that running reconciles get to finish after SIGTERM. Keep it below the pod's "
        "terminationGracePeriodSeconds.",
    ),
    _flag(
        DATABASES_FLAG,
        metavar="HOST:PORT,...",
        default="",
        callback=lambda _context, _parameter, given: databases(given),
        says="Databases that TenantSources may name, written as they write them. Without it, they may name "
        "none: anyone who may write a TenantSource connects from where this process runs.",
    ),
    _flag(
        "--allowed-http-hosts",
        metavar="HOST[:PORT],...",
        default="",
        callback=lambda _context, _parameter, given: hosts(given),
        says="Hosts whose HTTP APIs TenantSources may name: api.example.com, or .example.com for all hosts "
        "below, with :PORT if that is not 443. Without it, they may name none.",
    ),
    _flag(
        "--allowed-http-networks",
        metavar="NETWORK,...",
        default="",
        callback=lambda _context, _parameter, given: networks(given),
        says="Networks, such as 10.20.0.0/16, that the names of these hosts may lead to. Without it, only "
        "public addresses are called.",
    ),
    _flag(
        "--enable-alpha-removals/--no-alpha-removals",
        "removes",
        default=False,
        says="Alpha: allow whenGone Suspend and Delete. Without it, rows that are gone remove nothing. The "
        "limitations say what is not seen.",
    ),
    _flag(
        "--clock",
        "clock_url",
        metavar="URL",
        says="URL of a clock to use instead of the system clock; for sandboxes.",
    ),
    _flag(
        "--leader-election/--no-leader-election",
        default=True,
        says="Elect a leader: of several processes, one works and the others wait.",
    ),
    _flag(
        "--lease-name",
        metavar="NAME",
        default="edgetenants-sources",
        says="Name of the Lease for leader election.",
    ),
    _flag(
        "--lease-duration",
        type=click.IntRange(1, 3600),
        metavar="SECONDS",
        default=Timing.lease,
        says="How long the other processes wait for a leader that stopped without releasing the Lease.",
    ),
    _flag(
        "--lease-renew-deadline",
        **_seconds(0, above=True),
        default=Timing.renew,
        says="A leader that cannot renew the Lease for this long stops working and exits with 1.",
    ),
    _flag(
        "--lease-retry-period",
        **_seconds(0, above=True),
        default=Timing.retry,
        says="Interval between attempts to acquire or renew the Lease.",
    ),
    _flag(
        "--health-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Address on which the process serves /healthz and /readyz.",
    ),
    _flag("--health-port", **_PORT, default=8081, says="Port of the probes. 0: a free port."),
    _flag(
        "--metrics-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Address on which the process serves /metrics.",
    ),
    _flag("--metrics-port", **_PORT, default=8080, says="Port of the metrics. 0: no metrics."),
    _flag(
        "--log-format",
        type=click.Choice([format_.value for format_ in logs.LogFormat]),
        default=logs.LogFormat.JSON.value,
        says="Log format: JSON lines for machines, or aligned text for people.",
    ),
    _flag("--debug", is_flag=True, says="Log every reconcile. Values of rows are never logged."),
    _flag(
        "--version",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        allow_from_autoenv=False,
        callback=lambda context, _, asked: _version(context, asked=asked),
        says="Show the version and exit.",
    ),
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all flags to the command; a decorator below `@click.command`."""
    # As click's own decorators collect them.
    command.__dict__.setdefault("__click_params__", []).extend(reversed(_FLAGS))
    return command


def settings(given: Mapping[str, Any]) -> Settings:
    """The manager's settings.

    Raises:
        ValueError: the times of the leader election contradict each other; the message lists all three.
    """
    namespace = text(given["namespace"]) or _own_namespace()
    timing = Timing(given["lease_duration"], given["lease_renew_deadline"], given["lease_retry_period"])
    return Settings(
        workers=given["workers"],
        timeout=given["timeout"],
        stop_seconds=given["stop_timeout"],
        namespace=namespace,
        election=Election(namespace, given["lease_name"], timing) if given["leader_election"] else None,
        health_address=given["health_address"],
        health_port=given["health_port"],
        metrics_address=given["metrics_address"],
        metrics_port=given["metrics_port"] or None,
    )


def allowed(given: Mapping[str, Any]) -> Allowed:
    """Where TenantSources may make the process connect to."""
    confinement = Confinement(given["allowed_http_hosts"], given["allowed_http_networks"])
    return Allowed(given["allowed_database_hosts"], confinement)


def text(value: object) -> str | None:
    """A flag's text, or None if the flag is not set or empty."""
    return str(value) if value else None


def _own_namespace() -> str:
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text().strip() or "crossplane-system"
    except OSError:
        return "crossplane-system"


def _version(context: click.Context, *, asked: bool) -> None:
    if asked:
        click.echo(f"{context.info_name}, version {version('edgetenants')}")
        context.exit()
