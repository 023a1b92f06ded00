"""The provider's flags, each of which is also an environment variable, and the settings they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click
from pydantic import TypeAdapter, ValidationError

from apis.domains import AllowedDomain
from apis.drift import DriftPolicy
from edgetenants_runtime import logs, shards
from edgetenants_runtime.admission.server import Certificate
from edgetenants_runtime.manager import Settings
from edgetenants_runtime.process.leader import Election, Timing
from provider.cloudfront.account.dns_servers import parse_servers
from provider.cloudfront.domain import text_lookup
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.safety.guards import CONFIRM_ANNOTATION
from provider.records.life import LONGEST_KEPT

__all__ = [
    "Command",
    "Policy",
    "Section",
    "Webhooks",
    "options",
    "own_namespace",
    "policy",
    "settings",
    "text",
    "webhooks",
]

_T = TypeVar("_T")
_SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - kubelet and Prometheus connect from outside the pod


class Section(StrEnum):
    """The sections of `--help`, in order."""

    CLUSTER = "Kubernetes"
    """Access to the API server, and the identity of this installation."""
    RECONCILING = "Reconciling"
    """Concurrency, intervals and time limits."""
    WRITING = "Writes to AWS"
    """Limits on writes."""
    ELECTION = "Leader election"
    """Which of several processes works."""
    PAGES = "Probes and metrics"
    """The HTTP endpoints."""
    WEBHOOKS = "Admission webhooks"
    """The HTTPS endpoint that the API server calls."""
    PROOF = "Public DNS and the proof of domains"
    """Which domains need a TXT record of their owner, and who is asked for records."""
    LOGS = "Logs"
    """What the provider logs, and its format."""


@dataclass(frozen=True)
class Webhooks:
    """The flags of the webhooks."""

    certificate: Certificate
    address: str
    port: int
    dns: bool
    """Whether to warn of domains that DNS does not know."""


class DnsCheck(StrEnum):
    """Where the provider looks for records, besides CloudFront's own check."""

    RECURSIVE = "recursive"
    AUTHORITATIVE = "authoritative"
    OFF = "off"


@dataclass(frozen=True)
class Policy:
    """The flags that apply to all tenants."""

    installation: str
    drift: DriftPolicy
    read_only: bool
    allow_namespaced_identity: bool
    keep_domains: timedelta
    """How long to keep a domain for a namespace that no longer holds it; 0 keeps none."""
    sweep: bool = True
    """List all tenants of an account where that takes fewer calls than a Get for each."""
    check_seconds: float = DEEP_CHECK_SECONDS
    """The longest interval between checks of a tenant's tags, certificate and DNS."""
    proof: Rules = field(default_factory=Rules)
    """Which domains need a proof, whatever the specs say."""
    resolvers: tuple[tuple[str, int], ...] = ()
    """Addresses and ports of the resolvers; empty: those of the system."""
    dns_check: DnsCheck = DnsCheck.OFF
    namespaced_dns_servers: frozenset[tuple[str, int]] = frozenset()
    """Hosts and ports of the DNS servers that namespaced configs may name."""
    cloudflare_url: str | None = None
    """Of a server in place of Cloudflare's API; None for Cloudflare's."""
    azure_url: str | None = None
    """As above, in place of Azure's."""


class Command(click.Command):
    """A command whose help lists its flags by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        for section in Section:
            records = [
                record
                for parameter in self.get_params(ctx)
                if isinstance(parameter, _Option) and parameter.section is section
                and (record := parameter.get_help_record(ctx))
            ]  # fmt: skip
            with formatter.section(section.value):
                formatter.write_dl(records)


class _Option(click.Option):
    """A flag with its section."""

    def __init__(self, *args: Any, section: Section, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def _servers(given: str) -> frozenset[tuple[str, int]]:
    try:
        return parse_servers([each.strip() for each in given.split(",") if each.strip()])
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _flag(section: Section, *names: str, says: str, **how: Any) -> click.Option:
    return _Option(names, section=section, help=says, **how)


def _seconds(least: float, *, above: bool = False) -> dict[str, Any]:
    return {"type": click.FloatRange(min=least, min_open=above), "metavar": "SECONDS"}


_PORT: Final = {"type": click.IntRange(0, 65535), "metavar": "PORT"}

_FLAGS: Final = (
    _flag(
        Section.CLUSTER,
        "--kubeconfig",
        type=click.Path(dir_okay=False),
        says="Kubeconfig file. Without it, the provider uses the pod's service account.",
    ),
    _flag(
        Section.CLUSTER,
        "--namespace",
        metavar="NAME",
        envvar=["EDGETENANTS_NAMESPACE", "POD_NAMESPACE"],
        says="Namespace of the Lease, the installation id, and connection Secrets that set no namespace. "
        "Without it, the provider uses the pod's namespace, or crossplane-system outside a pod.",
    ),
    _flag(
        Section.CLUSTER,
        "--installation-id",
        metavar="ID",
        says="Identifies this installation; part of each owner tag in AWS. Without it, the provider "
        "generates an id once and stores it in a ConfigMap. Never change it while tenants exist.",
    ),
    _flag(
        Section.RECONCILING,
        "--poll-interval",
        **_seconds(1),
        default=60.0,
        says="Poll interval: how often the provider observes a tenant while nothing changes. A longer "
        "interval makes fewer requests and finds drift later.",
    ),
    _flag(
        Section.RECONCILING,
        "--sweep/--no-sweep",
        default=True,
        says="Once per poll interval, list all tenants of an account, and observe only those that changed. "
        "Where that takes more requests than observing each, or AWS refuses it, the provider observes each.",
    ),
    _flag(
        Section.RECONCILING,
        "--deep-check-interval",
        **_seconds(600),
        default=DEEP_CHECK_SECONDS,
        says="Longest interval between checks of what no list shows: the tags, the certificate and the DNS "
        "of each tenant. A shorter interval makes more requests.",
    ),
    _flag(
        Section.RECONCILING,
        "--workers",
        "--max-reconcile-rate",
        "workers",
        type=click.IntRange(1, 256),
        metavar="NUMBER",
        default=16,
        says="Maximum concurrent reconciles of each kind. Namespaces take turns; one namespace gets at most "
        "half of the workers.",
    ),
    _flag(
        Section.RECONCILING,
        "--timeout",
        **_seconds(1),
        default=60.0,
        says="Time limit of one reconcile. The provider logs and counts a reconcile that exceeds it, starts "
        "no more writes in it, and replaces its worker; it cannot end the reconcile.",
    ),
    _flag(
        Section.RECONCILING,
        "--stop-timeout",
        **_seconds(0),
        default=20.0,
        says="Time that running reconciles get to finish after SIGTERM. Keep it below the pod's "
        "terminationGracePeriodSeconds. A second signal ends the process immediately.",
    ),
    _flag(
        Section.RECONCILING,
        "--clock",
        "clock_url",
        metavar="URL",
        says="URL of a clock to use instead of the system clock; for sandboxes.",
    ),
    _flag(
        Section.RECONCILING,
        "--cloudflare-url",
        metavar="URL",
        callback=lambda _context, flag, given: _url(flag, given),
        says="URL of a server to use instead of Cloudflare's API; for sandboxes. It gets the API tokens.",
    ),
    _flag(
        Section.RECONCILING,
        "--azure-url",
        metavar="URL",
        callback=lambda _context, flag, given: _url(flag, given),
        says="URL of a server to use instead of Azure's API; for sandboxes. Its requests have no token.",
    ),
    _flag(
        Section.WRITING,
        "--drift-policy",
        type=click.Choice([policy.value for policy in DriftPolicy]),
        default=DriftPolicy.ENFORCE.value,
        says="How to handle changes made in AWS, for resources that do not set spec.driftPolicy.",
    ),
    _flag(
        Section.WRITING,
        "--hold-deletions",
        is_flag=True,
        says="Delete nothing in AWS unless the deletion is confirmed on the resource. Set it before you "
        "remove the package from a cluster where the provider may not read CRDs.",
    ),
    _flag(Section.WRITING, "--read-only", is_flag=True, says="Observe AWS and never write to it."),
    _flag(
        Section.WRITING,
        "--keep-domains",
        type=click.IntRange(0, LONGEST_KEPT),
        metavar="SECONDS",
        default=72 * 3600,
        says="How long the provider keeps a domain for the namespace that had it last, while no tenant of "
        "that namespace has it. No other namespace gets the domain in that time. Only time in which the "
        "provider runs counts. 0 keeps no domains.",
    ),
    _flag(
        Section.WRITING,
        "--allow-namespaced-identity",
        is_flag=True,
        says="Allow namespaced ProviderConfigs to use the provider's own identity, and to set endpoints and "
        "any DNS server.",
    ),
    _flag(
        Section.WRITING,
        "--namespaced-dns-servers",
        metavar="HOST:PORT,...",
        default="",
        callback=lambda _context, _parameter, given: _servers(given),
        says="DNS servers, by rfc2136 or powerdns, that namespaced ProviderConfigs may name, written as they "
        "write them. Without it, they may name none.",
    ),
    _flag(
        Section.ELECTION,
        "--leader-election/--no-leader-election",
        default=True,
        says="Elect a leader: of several processes, one works and the others wait. Also needed with one "
        "replica, because an upgrade runs the old and the new pod side by side.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-name",
        metavar="NAME",
        default="provider-edgetenants",
        says="Name of the Lease for leader election. Each installation in a namespace needs its own.",
    ),
    _flag(
        Section.ELECTION,
        "--shards",
        type=click.IntRange(1, shards.MOST),
        metavar="NUMBER",
        default=1,
        says="Spread the AWS accounts over this many shards. Each shard has a Lease, and one process works "
        "on it. 1: one process works on all accounts.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-duration",
        type=click.IntRange(1, 3600),
        metavar="SECONDS",
        default=Timing.lease,
        says="How long the other processes wait for a leader that stopped without releasing the Lease.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-renew-deadline",
        **_seconds(0, above=True),
        default=Timing.renew,
        says="A leader that cannot renew the Lease for this long stops working and exits with 1. Must be "
        "less than the lease duration, so that the leader stops before another one starts.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-retry-period",
        **_seconds(0, above=True),
        default=Timing.retry,
        says="Interval between attempts to acquire or renew the Lease.",
    ),
    _flag(
        Section.ELECTION,
        "--rebalance-after",
        **_seconds(0, above=True),
        default=Election.rebalance,
        says="With --shards: a process that has held no shard for this long asks the one that holds the most "
        "for a share. If that holds two or more, it ends and starts again, so that both get some. At least "
        "the lease duration.",
    ),
    _flag(
        Section.PAGES,
        "--health-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Address on which the provider serves /healthz and /readyz.",
    ),
    _flag(Section.PAGES, "--health-port", **_PORT, default=8081, says="Port of the probes. 0: a free port."),
    _flag(
        Section.PAGES,
        "--metrics-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Address on which the provider serves /metrics.",
    ),
    _flag(
        Section.PAGES,
        "--metrics-port",
        **_PORT,
        default=8080,
        says="Port of the metrics; by default the one that Crossplane's annotations tell Prometheus to "
        "scrape. If it equals the health port, both share it. 0: no metrics.",
    ),
    _flag(
        Section.WEBHOOKS,
        "--webhook-certificates",
        metavar="FOLDER",
        envvar=["EDGETENANTS_WEBHOOK_CERTIFICATES", "TLS_SERVER_CERTS_DIR"],
        says="Folder with the webhooks' serving certificate, tls.crt and tls.key; Crossplane mounts one. "
        "Without it, the provider serves no webhooks.",
    ),
    _flag(
        Section.WEBHOOKS,
        "--webhook-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Address on which the provider serves the webhooks.",
    ),
    _flag(
        Section.WEBHOOKS,
        "--webhook-port",
        **_PORT,
        default=9443,
        says="Port of the webhooks; by default the one that Crossplane's Service leads to. 0: a free port.",
    ),
    _flag(
        Section.WEBHOOKS,
        "--webhook-dns/--no-webhook-dns",
        default=True,
        says="Warn of domains that DNS does not know. Turn it off where the pod's DNS does not know public "
        "names.",
    ),
    _flag(
        Section.PROOF,
        "--require-domain-proof",
        is_flag=True,
        says="Let a tenant get a domain only with the TXT record of its owner, whatever plans and specs "
        "say.",
    ),
    _flag(
        Section.PROOF,
        "--domain-proof-exempt",
        metavar="DOMAINS",
        callback=lambda _, flag, value: _listed(flag, value, TypeAdapter(AllowedDomain).validate_python),
        says="With --require-domain-proof: the domains that need none, separated by commas, in the form of a "
        "plan's allow.domains (*.apps.example.com). Also name the plans' parking domains here.",
    ),
    _flag(
        Section.PROOF,
        "--dns-resolvers",
        metavar="ADDRESSES",
        callback=lambda _, flag, value: _listed(flag, value, text_lookup.server),
        says="Recursive resolvers that are asked for proofs and by --dns-check, separated by commas: an IP "
        "address, with a port if it is not 53 (192.0.2.53:5353, [2001:db8::53]:5353). Without it, the "
        "provider asks those of its system.",
    ),
    _flag(
        Section.PROOF,
        "--dns-check",
        type=click.Choice([each.value for each in DnsCheck]),
        default=DnsCheck.RECURSIVE.value,
        says="Where the provider looks for the records of status.dnsInstructions, besides CloudFront's own "
        "check: at recursive resolvers, as visitors do, or at the name servers of the zone, which have a "
        "change at once. off: only CloudFront's check counts.",
    ),
    _flag(
        Section.LOGS,
        "--log-format",
        type=click.Choice([format_.value for format_ in logs.LogFormat]),
        default=logs.LogFormat.JSON.value,
        says="Log format: JSON lines for machines, or aligned text for people.",
    ),
    _flag(Section.LOGS, "--debug", is_flag=True, says="Log every reconcile. Secrets stay hidden."),
    _flag(Section.LOGS, "--version", is_flag=True, expose_value=False, is_eager=True,
          allow_from_autoenv=False,
          callback=lambda context, _, asked: _version(context, asked=asked),
          says="Show the version and exit."),
    _flag(Section.LOGS, "-h", "--help", is_flag=True, expose_value=False, is_eager=True,
          allow_from_autoenv=False,
          callback=lambda context, _, asked: _help(context, asked=asked), says="Show this message and exit."),
)  # fmt: skip


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all flags to the command; a decorator below `@click.command`."""
    for flag in reversed(_FLAGS):
        command = _with(command, flag)
    return command


def settings(given: Mapping[str, Any]) -> Settings:
    """Return the manager's settings.

    Raises:
        ValueError: the times of the leader election contradict each other; the message lists all three. Or
            shards without a leader election.
    """
    if given["shards"] > 1 and not given["leader_election"]:
        raise ValueError("--shards: expected 1 with --no-leader-election, as shards have Leases")
    return Settings(
        hold_deletions=given["hold_deletions"],
        confirm_annotation=CONFIRM_ANNOTATION,
        poll_interval=given["poll_interval"],
        workers=given["workers"],
        timeout=given["timeout"],
        stop_seconds=given["stop_timeout"],
        namespace=_namespace(given),
        election=_election(given) if given["leader_election"] else None,
        health_address=given["health_address"],
        health_port=given["health_port"],
        metrics_address=given["metrics_address"],
        metrics_port=given["metrics_port"] or None,
    )


def policy(given: Mapping[str, Any], installation: str) -> Policy:
    """Return the flags that apply to all tenants."""
    return Policy(
        installation=installation,
        drift=DriftPolicy(given["drift_policy"]),
        read_only=given["read_only"],
        allow_namespaced_identity=given["allow_namespaced_identity"],
        keep_domains=timedelta(seconds=given["keep_domains"]),
        sweep=given["sweep"],
        check_seconds=given["deep_check_interval"],
        proof=Rules(given["require_domain_proof"], given["domain_proof_exempt"]),
        resolvers=given["dns_resolvers"],
        dns_check=DnsCheck(given["dns_check"]),
        namespaced_dns_servers=given["namespaced_dns_servers"],
        cloudflare_url=text(given["cloudflare_url"]),
        azure_url=text(given["azure_url"]),
    )


def webhooks(given: Mapping[str, Any]) -> Webhooks | None:
    """Return the flags of the webhooks; None if there is no folder with a certificate."""
    folder = text(given["webhook_certificates"])
    if folder is None:
        return None
    return Webhooks(
        Certificate.of_folder(Path(folder)),
        address=given["webhook_address"],
        port=given["webhook_port"],
        dns=given["webhook_dns"],
    )


def _listed(flag: click.Parameter, value: str | None, read: Callable[[str], _T]) -> tuple[_T, ...]:
    """The values of a flag that has several, separated by commas. Raises click.BadParameter."""
    found = []
    for each in filter(None, map(str.strip, (value or "").split(","))):
        try:
            found.append(read(each))
        except ValidationError as error:
            raise click.BadParameter(f"{error.errors()[0]['msg']}, got {each}", param=flag) from error
        except ValueError as error:
            raise click.BadParameter(str(error), param=flag) from error
    return tuple(found)


def _url(flag: click.Parameter, value: str | None) -> str | None:
    """The URL of a flag, without a final slash. Raises click.BadParameter."""
    split = urlsplit(value or "")
    if value and (
        split.scheme not in ("http", "https") or not split.hostname or split.query or split.fragment
    ):
        raise click.BadParameter("expected an http or https URL", param=flag)
    return value.rstrip("/") if value else None


def own_namespace() -> str:
    """Return the pod's namespace, or Crossplane's default one outside a pod."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text().strip() or "crossplane-system"
    except OSError:
        return "crossplane-system"


def text(value: object) -> str | None:
    """Return a flag's text, or None if the flag is not set or empty."""
    return str(value) if value else None


def _election(given: Mapping[str, Any]) -> Election:
    timing = Timing(given["lease_duration"], given["lease_renew_deadline"], given["lease_retry_period"])
    shards, rebalance = given["shards"], given["rebalance_after"]
    return Election(_namespace(given), given["lease_name"], timing, shards=shards, rebalance=rebalance)


def _namespace(given: Mapping[str, Any]) -> str:
    return text(given["namespace"]) or own_namespace()


def _with(command: Callable[..., None], flag: click.Option) -> Callable[..., None]:
    # As click's own decorators collect them.
    flags: list[click.Option] = command.__dict__.setdefault("__click_params__", [])
    flags.append(flag)
    return command


def _version(context: click.Context, *, asked: bool) -> None:
    if asked:
        click.echo(f"{context.info_name}, version {version('edgetenants')}")
        context.exit()


def _help(context: click.Context, *, asked: bool) -> None:
    if asked:
        click.echo(context.get_help())
        context.exit()
