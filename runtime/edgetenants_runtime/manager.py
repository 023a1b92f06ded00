"""Runs a provider: controllers, informers, events and health, from start to graceful shutdown."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from types import FrameType

import structlog

from edgetenants_runtime import logs
from edgetenants_runtime.admission.server import Certificate, Check, WebhookServer
from edgetenants_runtime.api.managed import ManagementPolicy
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.clock import Clock, Stopwatch
from edgetenants_runtime.external import Connector
from edgetenants_runtime.kube import crds
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.events import EventRecorder, EventWriter
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import CRDS
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ResourceKind
from edgetenants_runtime.process.controller import (
    BY_PROVIDER_CONFIG,
    Controller,
    Instruments,
    Limits,
    Reconciles,
    by_provider_config,
    controller_name,
    plain_name,
    shares,
)
from edgetenants_runtime.process.health import PageServers, probe_page
from edgetenants_runtime.process.instruments import NoLives
from edgetenants_runtime.process.leader import Election
from edgetenants_runtime.process.metrics import Metrics
from edgetenants_runtime.process.shard_leases import ShardLeases
from edgetenants_runtime.providerconfigs import Access, ConfigKinds, ProviderConfigs
from edgetenants_runtime.queueing.queue import WorkQueue
from edgetenants_runtime.queueing.rounds import Round
from edgetenants_runtime.reconcile import targets
from edgetenants_runtime.reconcile.collaborators import Collaborators, Pace
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.deletion import DeletionHold
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.reconcile.leftovers import Leftovers
from edgetenants_runtime.reconcile.reconciler import Reconciler
from edgetenants_runtime.reconcile.secret_watch import PublishedSecrets
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.rules import references
from edgetenants_runtime.serving.scrapes import Scrapes

__all__ = ["KindSettings", "Manager", "Settings"]

_log = structlog.get_logger("edgetenants_runtime.manager")

_CALL_SECONDS = 60.0
"""Real seconds for which an external call may still take effect after its client has given up."""
_WATCHDOG_SECONDS = 1.0
"""Interval of the check for reconciles that exceed their timeout."""


@dataclass(frozen=True)
class Settings:
    """The settings of a provider."""

    poll_interval: float = 60.0
    """Poll interval of an external resource, in seconds of the injected clock."""
    shortest_poll: float = 10.0
    """The shortest interval that the annotation crossplane.io/poll-interval can set."""
    creation_grace: float = 30.0
    """Real seconds after a creation during which the external resource may not be visible yet."""
    workers: int = 16
    """Concurrent reconciles per kind. One namespace gets at most half of them."""
    namespace: str = "crossplane-system"
    """The provider's namespace. Connection Secrets without a namespace are written there."""
    timeout: float = 60.0
    """Real seconds for one reconcile; see `edgetenants_runtime.deadline`."""
    election: Election | None = None
    """None: no leader election; this process always works."""
    health_address: str = "127.0.0.1"
    """The address that serves /healthz and /readyz."""
    health_port: int | None = None
    """None: they are not served. 0: a free port."""
    metrics_address: str = "127.0.0.1"
    """The address that serves /metrics."""
    metrics_port: int | None = None
    """None: it is not served. 0: a free port. It can be the same as the health port."""
    stop_seconds: float = 20.0
    """Real seconds that running reconciles have to finish on shutdown."""
    hold_deletions: bool = False
    """Delete no external resource without confirmation: for clusters where CRDs cannot be read."""
    confirm_annotation: str = ""
    """The annotation that confirms one held deletion; see `reconcile.deletion.DeletionHold`."""


@dataclass(frozen=True)
class KindSettings:
    """Overrides of `Settings` for one kind; None: no override."""

    poll_interval: float | None = None
    """As `Settings.poll_interval`."""
    shortest_poll: float | None = None
    """As `Settings.shortest_poll`."""
    creation_grace: float | None = None
    """As `Settings.creation_grace`: longer if new external resources become visible late."""
    workers: int | None = None
    """As `Settings.workers`: fewer if the external API has low rate limits, more if it is slow."""
    timeout: float | None = None
    """As `Settings.timeout`."""
    hold_deletions: bool | None = None
    """As `Settings.hold_deletions`."""

    def over(self, settings: Settings) -> Settings:
        """The settings for this kind."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(settings, **{name: value for name, value in mine.items() if value is not None})


class Manager:
    """Wires and runs the parts: create it, add the kinds that it manages, run it."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        settings: Settings | None = None,
        *,
        rng: random.Random | None = None,
    ) -> None:
        """`clock` times all waiting for the external system; waiting for Kubernetes uses real time."""
        self._client, self._clock = client, clock
        self._settings = settings or Settings()
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, guards nothing
        self.metrics = Metrics()
        client.on_answer(self.metrics.requested)
        self._recorder = EventRecorder(EventWriter(client))
        self._crds = Informer(client, CRDS, self._rng, metadata_only=True, exists=lambda: True)
        self._crds.add_handler(self._on_crd_change)
        self._configs: list[ProviderConfigs] = []
        self._controllers: list[Controller] = []
        self._followed: list[Informer] = []
        self._rounds: list[Round] = []
        self._targets = targets.Targets(client, self._informer_of)
        self._published = PublishedSecrets(client, self._rng)
        self._servers = PageServers()
        self._webhooks: WebhookServer | None = None
        self._stopped = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._cut_off = self._lost = self._signalled = False
        self._shards = self._made_shards()

    def configs(self, kinds: ConfigKinds, *, allow_namespaced_identity: bool = False) -> ProviderConfigs:
        """The provider configs of one API tree, reconciled while the manager runs."""
        configs = ProviderConfigs(
            self._client,
            kinds,
            self._rng,
            self._recorder,
            Access(allow_namespaced_identity, self._served, self._exists, self.mine),
        )
        self._configs.append(configs)
        return configs

    def manage(
        self,
        kind: ManagedKind,
        connector: Connector,
        configs: ProviderConfigs | None = None,
        *,
        settings: KindSettings | None = None,
    ) -> Controller:
        """Reconcile a kind; its resources use the given `configs`. No reconcile of any kind starts before all
        served kinds have been listed once."""
        own = (settings or KindSettings()).over(self._settings)
        informer = Informer(
            self._client,
            kind,
            self._rng,
            indexes={BY_PROVIDER_CONFIG: by_provider_config, targets.BY_TARGET: targets.by_target(kind)},
            annotations={own.confirm_annotation: LONGEST_ANNOTATION} if own.confirm_annotation else {},
            gate=lambda: self._served(kind),
            exists=lambda: self._exists(kind),
        )
        name = controller_name(kind)
        limits = self._limits(own, (lambda _: self.mine("")) if configs is None else configs.mine)
        resources = self.metrics.managed(kind)
        guarded = GuardedConnector(connector, self._may_act, resources)
        deps = self._collaborators(kind, guarded, informer, own)
        leftovers = Leftovers(
            guarded, partial(_has_another, informer), deps.deletion_held, partial(_exists, informer)
        )
        self.repeat(f"leftovers of {kind.plural}", leftovers.round)
        controller = Controller(
            kind,
            informer,
            self._queue(name, informer, own),
            Reconciler(kind, replace(deps, left=leftovers.note)),
            limits=limits,
            instruments=Instruments(self.metrics.controller(name, limits.workers), resources),
        )
        self.metrics.observe(kind, name, controller)
        if configs is not None:
            controller.follow(configs)
            configs.used_by(informer)
            if self._sharded:
                configs.on_moved(controller.look_again)
        self._controllers.append(controller)
        return controller

    def control(
        self,
        kind: ResourceKind,
        reconciler: Callable[[Informer], Reconciles],
        *,
        settings: KindSettings | None = None,
        annotations: Mapping[str, int] | None = None,
    ) -> Controller:
        """Reconcile a kind whose objects are no managed resources: a plain controller, with the same queue,
        leader election, time limit, metrics and probes. `reconciler` makes the reconciler from the informer
        of the kind; `annotations`: those that are read, in characters."""
        own = self._settings if settings is None else settings.over(self._settings)
        informer = Informer(
            self._client,
            kind,
            self._rng,
            annotations=annotations or {},
            gate=lambda: self._served(kind),
            exists=lambda: self._exists(kind),
        )
        name = plain_name(kind)
        limits = self._limits(own, lambda _: self.mine(""))
        instruments = Instruments(self.metrics.controller(name, limits.workers), NoLives())
        controller = Controller(
            kind,
            informer,
            self._queue(name, informer, own),
            reconciler(informer),
            limits=limits,
            instruments=instruments,
        )
        self.metrics.observe_plain(name, controller)
        self._controllers.append(controller)
        return controller

    def watch(
        self,
        kind: ResourceKind,
        *,
        annotations: Mapping[str, int] | None = None,
        labels: Collection[str] = (),
    ) -> Informer:
        """Keep a cache of a kind that a plain controller writes or reads. It starts with the manager; add
        handlers before. `annotations`: those that are read, in characters. `labels`: those that are read,
        also if an object has more than a cache keeps."""
        informer = Informer(
            self._client,
            kind,
            self._rng,
            annotations=annotations or {},
            first=labels,
            gate=lambda: self._served(kind),
            exists=lambda: self._exists(kind),
        )
        self._followed.append(informer)
        return informer

    @property
    def may_act(self) -> Callable[[], bool]:
        """Returns whether this process may write at present: it leads, or there is no election."""
        return self._may_act

    def repeat(self, name: str, job: Callable[[], float]) -> None:
        """Run a job periodically besides the reconciles, while this process may act; see
        `queueing.rounds.Round`. With shards, each process that holds one runs it."""
        self._rounds.append(Round(name, job, self._may_act))

    def mine(self, owner: str) -> bool:
        """Whether this process works on an owner; see `edgetenants_runtime.shards`. Always True without
        shards, also while another process leads."""
        return self._shards is None or self._shards.mine(owner)

    def before_shard(self, prepare: Callable[[], None]) -> None:
        """Call `prepare` before this process works on a further shard, to forget what another process may
        have changed. While it raises KubeError, the shard waits. Not called without shards."""
        if self._shards is not None:
            self._shards.before_gain(prepare)

    def admit(self, address: str, port: int, certificate: Certificate, checks: Mapping[str, Check]) -> None:
        """Serve admission webhooks, each at its path, also while another process leads. Raises OSError if the
        port is in use or the certificate cannot be used."""
        self._webhooks = WebhookServer(address, port, certificate, checks, self.metrics.reviewed)

    def start(self) -> None:
        """Start everything. Raises OSError if a port is in use."""
        settings = self._settings
        probes = {"/healthz": probe_page(self.healthy), "/readyz": probe_page(self.ready)}
        self._servers.serve(settings.health_address, settings.health_port, probes)
        scrapes = {"/metrics": Scrapes(self.metrics.expose)}
        self._servers.serve(settings.metrics_address, settings.metrics_port, scrapes)
        self._servers.start()
        if self._webhooks is not None:
            self._webhooks.start()
        self._follow_targets()
        self._recorder.start()
        self._crds.start()
        self._published.informer.start()
        for informer in self._informers:
            informer.start()
        for controller in self._controllers:
            controller.start()
        for configs in self._configs:
            configs.start(self._may_act)
        for each in self._rounds:
            each.start()
        self._watchdog.start()
        if self._shards is not None:
            self._shards.start()

    def stop(self) -> bool:
        """Finish running work within the time limit. True: nothing was aborted.

        The process keeps the leadership until all work has ended, then releases it. Aborted work starts no
        more external writes, and the Lease is left to expire, because a call may still be running.
        """
        self._stopped.set()
        elapsed, bound = Stopwatch(), self._stop_bound
        for controller in self._controllers:
            controller.stop(0.0)
        ended = [c.stop(max(0.0, bound - elapsed.elapsed())) for c in self._controllers]
        ended += [c.stop(max(0.0, bound - elapsed.elapsed())) for c in self._configs]
        ended += [each.stop(max(0.0, bound - elapsed.elapsed())) for each in self._rounds]
        self._cut_off = True
        if self._lost and not all(ended):
            # This process must have exited when another one starts; do not wait for anything else.
            return False
        if self._shards is not None:
            self._shards.stop(release=all(ended))
        for informer in (self._crds, self._published.informer, *self._informers):
            informer.stop(timeout=0.5)
        self._recorder.stop(timeout=max(1.0, bound - elapsed.elapsed()))
        if self._webhooks is not None:
            self._webhooks.stop()
        self._servers.stop()
        return all(ended)

    def run(self) -> int:
        """Start, wait for SIGTERM or SIGINT, and stop. Returns the exit code. Call it from the main thread.

        If logging is not configured, it calls `logs.configure()`: structlog's own default may print the local
        variables of a traceback, including credentials.

        0: stopped as requested. 1: work was aborted, or the leadership was lost; the process must exit, and a
        new one takes part in the election. A second signal ends the process immediately, with 1.
        """
        if not structlog.is_configured():
            logs.configure()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self.start()
        _log.info(
            "started",
            kinds=[c.kind.resource for c in self._controllers],
            health_port=self.health_port,
            metrics_port=self.metrics_port,
            webhook_port=self.webhook_port,
        )
        self._stopped.wait()
        _log.info("stopping, finishing work in progress", seconds=self._stop_bound)
        finished = self.stop()
        _log.info("stopped", finished=finished)
        return 0 if finished and not self._lost else 1

    def request_stop(self) -> None:
        """Make `run` stop and return."""
        self._stopped.set()

    @property
    def health_port(self) -> int | None:
        """The port that serves the probes; None if they are not served."""
        return self._servers.port_of("/healthz")

    @property
    def metrics_port(self) -> int | None:
        """The port that serves metrics; None if they are not served."""
        return self._servers.port_of("/metrics")

    @property
    def webhook_port(self) -> int | None:
        """The port that serves admission webhooks; None if there are none."""
        return None if self._webhooks is None else self._webhooks.port

    def healthy(self) -> tuple[bool, list[str]]:
        """Whether the workers and the leader election can work: none has died, and not all are stuck."""
        problems = [c.problem for c in self._controllers if c.problem]
        if self._shards is not None and not self._shards.alive:
            problems.append("leader election has stopped")
        return not problems, problems

    def ready(self) -> tuple[bool, list[str]]:
        """Whether all served kinds can be read. Kinds without a CRD are listed in the notes and do not
        prevent readiness."""
        problems, notes = [], []
        if not self._crds.synced and not self._crds.problem:
            problems.append("CRDs have not been listed yet")
        for informer in self._informers:
            if not informer.served:
                notes.append(f"waiting for {informer.kind.resource} to be served")
            elif informer.problem:
                problems.append(informer.problem)
            elif not informer.synced:
                problems.append(f"{informer.kind.resource} have not been listed yet")
        if self._shards is not None:
            if self._shards.problem:
                problems.append(self._shards.problem)
            elif not self._shards.leading:
                notes.append(f"waiting for leadership; current leader: {self._shards.leader or 'none'}")
        refused = [line for line in self._client.refused if line not in problems]
        return not problems, [*problems, *refused, *notes]

    def everything_read(self) -> bool:
        """The objects of every reconciled kind have been listed, or the kind does not exist."""
        # Resources of different kinds may have the same external resource: one that has not been listed may
        # own it.
        return all(self._read(controller.informer) for controller in self._controllers)

    @property
    def _informers(self) -> list[Informer]:
        of_configs = [informer for configs in self._configs for informer in configs.informers]
        return [*of_configs, *self._followed, *(c.informer for c in self._controllers)]

    def _informer_of(self, kind: ResourceKind) -> Informer | None:
        known = [*(controller.informer for controller in self._controllers), *self._followed]
        return next((informer for informer in known if informer.kind.resource == kind.resource), None)

    def _follow_targets(self) -> None:
        for controller in self._controllers:
            managed = controller.kind
            if not isinstance(managed, ManagedKind):
                continue
            for kind in targets.own_kinds(managed):
                informer = self._informer_of(kind) or self._follow(kind)
                targets.follow(informer, managed, controller.informer.cache, controller.enqueue)

    def _follow(self, kind: ResourceKind) -> Informer:
        gate, exists = partial(self._served, kind), partial(self._exists, kind)
        informer = Informer(self._client, kind, self._rng, gate=gate, exists=exists)
        self._followed.append(informer)
        return informer

    def _limits(self, own: Settings, mine: Callable[[Managed], bool]) -> Limits:
        return Limits(
            own.workers,
            own.timeout,
            self._may_act,
            self.everything_read,
            mine=mine,
            now=self._client.server_time.now,
        )

    def _queue(self, name: str, informer: Informer, own: Settings) -> WorkQueue[ObjectKey]:
        return WorkQueue(
            self._clock,
            self._rng,
            share=shares(informer),
            workers=own.workers,
            tally=self.metrics.queue(name),
        )

    def _collaborators(
        self, kind: ManagedKind, connector: Connector, informer: Informer, settings: Settings
    ) -> Collaborators:
        return Collaborators(
            connector=connector,
            writer=ManagedWriter(self._client, kind, informer.cache, may_act=self._may_act),
            connections=ConnectionPublisher(self._client, settings.namespace, self._published),
            recorder=self._recorder,
            rng=self._rng,
            now=self._client.server_time.now,
            resolve=lambda mr: references.resolve(mr, kind.references, self._targets),
            pace=Pace(
                poll_interval=settings.poll_interval,
                shortest_poll=settings.shortest_poll,
                creation_grace=settings.creation_grace,
                uncertain_grace=settings.timeout + _CALL_SECONDS,
            ),
            deletion_held=DeletionHold(
                crd_leaves=partial(crds.leaves, self._client, kind),
                everything=settings.hold_deletions,
                confirm_annotation=settings.confirm_annotation,
            ),
        )

    def _read(self, informer: Informer) -> bool:
        """Its objects have been listed, or there are none."""
        if informer.synced or informer.absent:
            return True
        if self._crds.forbidden:
            # It is unknown whether the kind exists, and a kind that does not exist may be forbidden too.
            return informer.forbidden
        return self._crds.synced and self._crds.cache.get(ObjectKey("", informer.kind.resource)) is None

    def _served(self, kind: ResourceKind) -> bool:
        # Safe start: do not list a kind without a CRD, as the provider may have no permission for it.
        # If CRDs cannot be read (Crossplane v1), try every kind.
        return bool(self._crds.problem) or self._exists(kind)

    def _exists(self, kind: ResourceKind) -> bool:
        known = self._crds.synced and not self._crds.problem
        return known and self._crds.cache.get(ObjectKey("", kind.resource)) is not None

    def _on_crd_change(self, change: ObjectChange) -> None:
        # Safe start: an informer whose kind was not served retries as soon as its CRD changes.
        for informer in self._informers:
            if informer.kind.resource == change.key.name and not informer.served:
                informer.poke()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        del number
        if self._signalled:
            # Second signal: exit immediately and without locks, as the signal may have interrupted a log
            # line.
            os._exit(1)
        self._signalled = True
        self._stopped.set()

    # Leadership and time.

    def _made_shards(self) -> ShardLeases | None:
        election = self._settings.election
        if election is None:
            return None
        # A request that hangs must leave time for another one before the leadership expires.
        client = self._client.bounded(election.timing.renew / 4)
        shards = ShardLeases(client, election, on_lost=self._on_lost, on_end=self._stopped.set, rng=self._rng)
        shards.on_gain(self._on_gain)
        for name, leads in shards.names.items():
            self.metrics.election(name, leads)
        return shards

    @property
    def _sharded(self) -> bool:
        return self._shards is not None and self._shards.count > 1

    def _on_gain(self, shard: int) -> None:
        # In the thread of the shards: their resources are in the caches already.
        del shard
        for configs in self._configs:
            configs.look_at_all()
        for controller in self._controllers:
            controller.look_again()

    def _may_act(self) -> bool:
        return not self._cut_off and (self._shards is None or self._shards.leading)

    def _on_lost(self) -> None:
        self._lost = True
        self._stopped.set()

    @property
    def _stop_bound(self) -> float:
        election = self._settings.election
        if not self._lost or election is None:
            return self._settings.stop_seconds
        # Running work must have ended before another process may start.
        return min(self._settings.stop_seconds, election.timing.finish)

    def _watch(self) -> None:
        while not self._stopped.wait(_WATCHDOG_SECONDS):
            for controller in self._controllers:
                controller.look_for_overdue()


def _exists(informer: Informer, mr: Managed) -> bool:
    """The managed resource is in the cache."""
    found = informer.cache.get(mr.key)
    return found is not None and Managed(found).uid == mr.uid


def _has_another(informer: Informer, mr: Managed) -> bool:
    """Another managed resource of the namespace has the same external resource, and does more than
    observe."""
    found = map(Managed, filter(None, map(informer.cache.get, informer.cache.keys())))
    return any(
        each.uid != mr.uid
        and each.namespace == mr.namespace
        and (each.external_name or each.name) == (mr.external_name or mr.name)
        and set(each.management_policies) != {ManagementPolicy.OBSERVE}
        for each in found
    )
