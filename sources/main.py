"""The process `edgetenants-sources`: its flags, and the only place that wires its parts.

Exit codes: 0 stopped on request; 1 could not start, was interrupted while stopping, or lost leadership;
2 invalid flags.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import click
import structlog

from apis import kinds
from edgetenants_runtime import logs, open_files
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.kube import crds
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.process.controller import Controller
from edgetenants_runtime.process.start import StartFailed, connect, start_clock
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.reconcile.writer import ManagedWriter
from sources import options
from sources.metrics import SourceMetrics
from sources.objects import ANNOTATIONS, BY_OWNER, CONFIRM, OWNER, Existing, by_owner, owner_value
from sources.reading import Allowed, opener
from sources.reconciler import Parts, SourceReconciler
from sources.records import Records
from sources.stores.postgresql import ignore_environment
from sources.template import KINDS
from sources.writing import resource_kind

__all__ = ["main", "wire"]

_log = structlog.get_logger("sources.main")

_CALM: Final = 2.0
"""Real seconds in which further changes of objects cost no further count."""


def wire(
    client: KubeClient, clock: Clock, settings: Settings, allowed: Allowed, *, removes: bool = False
) -> Manager:
    """Wire the parts. `removes`: objects whose rows are gone may be suspended and deleted."""
    manager = Manager(client, clock, settings)
    source = resource_kind(kinds.TENANT_SOURCE)
    informers = {
        kind.kind: manager.watch(resource_kind(kind), annotations=ANNOTATIONS, labels=(OWNER,))
        for kind in KINDS.values()
    }
    for informer in informers.values():
        informer.cache.add_index(BY_OWNER, by_owner)
    metrics = SourceMetrics(manager.metrics.registry, clock.now)

    def reconciler(informer: Informer) -> SourceReconciler:
        # Of the TenantSources: by the label value of their objects.
        informer.cache.add_index(BY_OWNER, lambda obj: _owned(Managed(obj)))
        return SourceReconciler(
            Parts(
                objects=client,
                writer=ManagedWriter(client, source, informer.cache, may_act=manager.may_act),
                seen=informer.cache.get,
                informers=informers,
                open_store=opener(client.get, clock, allowed),
                clock=clock,
                now=client.server_time.now,
                may_act=manager.may_act,
                removes=removes,
                kind_leaves=partial(crds.leaves, client, source),
                metrics=metrics,
                records=Records(client, settings.namespace, lambda key: informer.cache.get(key) is not None),
            )
        )

    controller = manager.control(source, reconciler, annotations={CONFIRM: LONGEST_ANNOTATION})
    for kind in KINDS.values():
        informers[kind.kind].add_handler(partial(_changed, controller, kind))
    return manager


def _owned(source: Managed) -> str:
    return f"{source.namespace}/{owner_value(source.name)}"


def _changed(controller: Controller, kind: kinds.Kind, change: ObjectChange) -> None:
    """Count again after a change of what is counted; each claim is written some twenty times in its life."""
    if _counted(kind, change.old) == _counted(kind, change.new):
        return
    for obj in filter(None, (change.old, change.new)):
        owner = Managed(obj).labels.get(OWNER)
        if not owner:
            continue
        for key in controller.informer.cache.keys_by_index(BY_OWNER, f"{change.key.namespace}/{owner}"):
            controller.enqueue_after(ObjectKey(key.namespace, key.name), _CALM, Priority.POLL)


def _counted(kind: kinds.Kind, obj: Mapping[str, Any] | None) -> tuple[bool, str]:
    if obj is None:
        return False, ""
    existing = Existing(kind, obj)
    return existing.live, existing.owner


_EPILOG = (
    "You can also set each flag by an environment variable: --timeout is EDGETENANTS_SOURCES_TIMEOUT. Exit "
    "codes: 0 stopped on request; 1 could not start, was interrupted while stopping, or lost leadership; 2 "
    "invalid flags."
)


@click.command(
    epilog=_EPILOG,
    context_settings={
        "auto_envvar_prefix": "EDGETENANTS_SOURCES",
        "show_default": True,
        "max_content_width": 110,
        "help_option_names": ["-h", "--help"],
    },
)
@options.options
@click.pass_context
def main(context: click.Context, /, **_options: object) -> None:
    """Turn the rows of tables into claims or managed resources, as TenantSources say, until SIGTERM."""
    given = context.params
    logs.configure(logs.LogFormat(given["log_format"]), debug=given["debug"])
    try:
        settings = options.settings(given)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    sys.exit(run(given, settings))


def run(given: Mapping[str, Any], settings: Settings) -> int:
    """Start, run until stopped, and return the exit code."""
    open_files.raise_limit()
    # Before there are threads that read the environment.
    ignore_environment()
    try:
        client = connect(options.text(given["kubeconfig"]), "edgetenants-sources")
        clock = start_clock(options.text(given["clock_url"]))
        return wire(client, clock, settings, options.allowed(given), removes=given["removes"]).run()
    except StartFailed as error:
        _log.error("cannot start", error=str(error))
    except OSError as error:
        _log.error("cannot start", error=f"--health-port or --metrics-port: {error}")
    return 1


if __name__ == "__main__":
    main()
