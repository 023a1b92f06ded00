"""The provider's flags, each an environment variable too, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import click

from apis.drift import DriftPolicy
from edgetenants_runtime import logs
from edgetenants_runtime.manager import Settings
from edgetenants_runtime.process.leader import Election, Timing
from provider.cloudfront.safety.guards import CONFIRM_ANNOTATION

__all__ = ["Command", "Policy", "Section", "options", "own_namespace", "policy", "settings", "text"]

_SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - kubelet and Prometheus come from outside the pod


class Section(StrEnum):
    """The sections of `--help`, in order."""

    CLUSTER = "Kubernetes"
    """How the API server is reached, and who this installation is."""
    RECONCILING = "Reconciling"
    """How much, how often, for how long."""
    WRITING = "What is written to AWS"
    """What is held back."""
    ELECTION = "Leader election"
    """Who of several works."""
    PAGES = "Probes and metrics"
    """What is served over HTTP."""
    LOGS = "Logs"
    """What is told, and how."""


@dataclass(frozen=True)
class Policy:
    """What the flags say about all tenants."""

    installation: str
    drift: DriftPolicy
    read_only: bool
    allow_namespaced_identity: bool
    keep_domains: timedelta
    """For how long a domain is kept for a namespace that does not hold it any more; 0: none is kept."""


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
    """A flag that knows its section."""

    def __init__(self, *args: Any, section: Section, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def _flag(section: Section, *names: str, says: str, **how: Any) -> click.Option:
    return _Option(names, section=section, help=says, **how)


def _seconds(least: float, *, above: bool = False) -> dict[str, Any]:
    return {"type": click.FloatRange(min=least, min_open=above), "metavar": "SECONDS"}


_LONGEST_KEPT: Final = 365 * 24 * 3600
_PORT: Final = {"type": click.IntRange(0, 65535), "metavar": "PORT"}

_FLAGS: Final = (
    _flag(
        Section.CLUSTER,
        "--kubeconfig",
        type=click.Path(dir_okay=False),
        says="Kubeconfig file; without it the pod's own account is used.",
    ),
    _flag(
        Section.CLUSTER,
        "--namespace",
        metavar="NAME",
        envvar=["EDGETENANTS_NAMESPACE", "POD_NAMESPACE"],
        says="Where the Lease and the installation id are kept, and connection Secrets that name no "
        "namespace; else the pod's own namespace, or crossplane-system.",
    ),
    _flag(
        Section.CLUSTER,
        "--installation-id",
        metavar="ID",
        says="Whose tenants they are: part of each owner tag in AWS. Without it, one is made once and kept "
        "in a ConfigMap. Never change it while there are tenants.",
    ),
    _flag(
        Section.RECONCILING,
        "--poll-interval",
        **_seconds(1),
        default=60.0,
        says="Seconds between two looks at a tenant while nothing changes. More is cheaper, and finds drift "
        "later.",
    ),
    _flag(
        Section.RECONCILING,
        "--workers",
        "--max-reconcile-rate",
        "workers",
        type=click.IntRange(1, 256),
        metavar="NUMBER",
        default=16,
        says="Reconciles at once, for each kind. Namespaces take turns, and one alone has at most half.",
    ),
    _flag(
        Section.RECONCILING,
        "--timeout",
        **_seconds(1),
        default=60.0,
        says="Seconds for one reconcile. One that takes longer is logged and counted, begins no more writes, "
        "and its worker is replaced; it cannot be ended.",
    ),
    _flag(
        Section.RECONCILING,
        "--stop-timeout",
        **_seconds(0),
        default=20.0,
        says="Seconds that reconciles under way get after SIGTERM. Keep it below the pod's "
        "terminationGracePeriodSeconds. A second signal ends the process at once.",
    ),
    _flag(
        Section.RECONCILING,
        "--clock",
        "clock_url",
        metavar="URL",
        says="Follow another clock instead of the system's; for sandboxes.",
    ),
    _flag(
        Section.WRITING,
        "--drift-policy",
        type=click.Choice([policy.value for policy in DriftPolicy]),
        default=DriftPolicy.ENFORCE.value,
        says="What is done about changes made in AWS, where a resource does not say.",
    ),
    _flag(
        Section.WRITING,
        "--hold-deletions",
        is_flag=True,
        says="Delete nothing in AWS unless confirmed on the resource: before the package is removed from a "
        "cluster where the provider may not read CRDs.",
    ),
    _flag(Section.WRITING, "--read-only", is_flag=True, says="Look at AWS, write nothing there."),
    _flag(
        Section.WRITING,
        "--keep-domains",
        type=click.IntRange(0, _LONGEST_KEPT),
        metavar="SECONDS",
        default=72 * 3600,
        says="Seconds for which a domain is kept for the namespace that had it last, while no tenant of that "
        "namespace has it: nobody else gets it meanwhile. 0: no domain is kept.",
    ),
    _flag(
        Section.WRITING,
        "--allow-namespaced-identity",
        is_flag=True,
        says="Let ProviderConfigs in namespaces use the provider's own identity and other endpoints.",
    ),
    _flag(
        Section.ELECTION,
        "--leader-election/--no-leader-election",
        default=True,
        says="Of several processes, one works and the others wait. Needed also for one replica: an upgrade "
        "runs the old and the new pod side by side.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-name",
        metavar="NAME",
        default="provider-edgetenants",
        says="The Lease that they agree by; another one for each installation in a namespace.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-duration",
        type=click.IntRange(1, 3600),
        metavar="SECONDS",
        default=Timing.lease,
        says="Seconds that the others wait for a leader that died without a word.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-renew-deadline",
        **_seconds(0, above=True),
        default=Timing.renew,
        says="A leader that cannot renew for so many seconds stops working and exits with 1. Below the lease "
        "duration, so that it stops before another begins.",
    ),
    _flag(
        Section.ELECTION,
        "--lease-retry-period",
        **_seconds(0, above=True),
        default=Timing.retry,
        says="Seconds between two attempts to take or to renew the Lease.",
    ),
    _flag(
        Section.PAGES,
        "--health-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Where /healthz and /readyz are served.",
    ),
    _flag(Section.PAGES, "--health-port", **_PORT, default=8081, says="Their port. 0: a free one."),
    _flag(
        Section.PAGES,
        "--metrics-address",
        metavar="ADDRESS",
        default=_ANYWHERE,
        says="Where /metrics is served.",
    ),
    _flag(
        Section.PAGES,
        "--metrics-port",
        **_PORT,
        default=8080,
        says="Its port, by default the one that Crossplane has scraped. The health port: beside the probes. "
        "0: no metrics.",
    ),
    _flag(
        Section.LOGS,
        "--log-format",
        type=click.Choice([format_.value for format_ in logs.LogFormat]),
        default=logs.LogFormat.JSON.value,
        says="JSON lines for machines, or aligned text for people.",
    ),
    _flag(
        Section.LOGS, "--debug", is_flag=True, says="Tell of each reconcile. Secrets are hidden here too."
    ),
    _flag(Section.LOGS, "--help", is_flag=True, expose_value=False, is_eager=True,
          callback=lambda context, _, asked: _help(context, asked=asked), says="Show this, and exit."),
)  # fmt: skip


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command all flags; a decorator below `@click.command`."""
    for flag in reversed(_FLAGS):
        command = _with(command, flag)
    return command


def settings(given: Mapping[str, Any]) -> Settings:
    """The manager's settings.

    Raises:
        ValueError: the times of the election do not fit together; the message has all three.
    """
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
    """What the flags say about all tenants."""
    return Policy(
        installation=installation,
        drift=DriftPolicy(given["drift_policy"]),
        read_only=given["read_only"],
        allow_namespaced_identity=given["allow_namespaced_identity"],
        keep_domains=timedelta(seconds=given["keep_domains"]),
    )


def own_namespace() -> str:
    """The pod's namespace, or Crossplane's usual one outside a pod."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text().strip() or "crossplane-system"
    except OSError:
        return "crossplane-system"


def text(value: object) -> str | None:
    """A flag's text, None when it was not given or is empty."""
    return str(value) if value else None


def _election(given: Mapping[str, Any]) -> Election:
    timing = Timing(given["lease_duration"], given["lease_renew_deadline"], given["lease_retry_period"])
    return Election(_namespace(given), given["lease_name"], timing)


def _namespace(given: Mapping[str, Any]) -> str:
    return text(given["namespace"]) or own_namespace()


def _with(command: Callable[..., None], flag: click.Option) -> Callable[..., None]:
    # As click's own decorators collect them.
    flags: list[click.Option] = command.__dict__.setdefault("__click_params__", [])
    flags.append(flag)
    return command


def _help(context: click.Context, *, asked: bool) -> None:
    if asked:
        click.echo(context.get_help())
        context.exit()
