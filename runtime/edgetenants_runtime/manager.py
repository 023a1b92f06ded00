"""Runs a provider: controllers, informers, events and health, from start to graceful stop."""

from __future__ import annotations

import random
import signal
import threading
from dataclasses import dataclass
from types import FrameType

import structlog

from edgetenants_runtime.clock import Clock, Stopwatch
from edgetenants_runtime.collaborators import Collaborators, Pace
from edgetenants_runtime.connection import ConnectionPublisher
from edgetenants_runtime.controller import BY_PROVIDER_CONFIG, Controller, by_provider_config
from edgetenants_runtime.external import Connector
from edgetenants_runtime.health import HealthServer
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.events import EventRecorder, EventWriter
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import CRDS
from edgetenants_runtime.managed import ManagedKind, ObjectKey, ResourceKind
from edgetenants_runtime.providerconfigs import Access, ConfigKinds, ProviderConfigs
from edgetenants_runtime.queue import WorkQueue
from edgetenants_runtime.reconciler import Reconciler
from edgetenants_runtime.writer import ManagedWriter

__all__ = ["Manager", "Settings"]

_log = structlog.get_logger("edgetenants_runtime.manager")


@dataclass(frozen=True)
class Settings:
    """How a provider runs."""

    poll_interval: float = 60.0
    """Seconds of the injected clock between two looks at an external resource while nothing changes."""
    shortest_poll: float = 10.0
    """The least that the annotation crossplane.io/poll-interval can ask for."""
    creation_grace: float = 30.0
    """Real seconds in which an external resource that was just created may not show yet."""
    workers: int = 8
    """Reconciles at once, for each kind."""
    namespace: str = "crossplane-system"
    """The provider's own: Secrets that are published without naming a namespace stand there."""
    health_address: str = "127.0.0.1"
    """Where /healthz and /readyz are served."""
    health_port: int | None = None
    """None: they are not served. 0: on a free port."""
    stop_seconds: float = 20.0
    """Real seconds that reconciles under way get to finish when the provider is told to stop."""


class Manager:
    """Wires and runs the parts: make it, say what it manages, run it."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        settings: Settings | None = None,
        *,
        rng: random.Random | None = None,
    ) -> None:
        """`clock` times all waiting against the outside world; Kubernetes is always met in real time."""
        self._client, self._clock = client, clock
        self._settings = settings or Settings()
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, guards nothing
        self._recorder = EventRecorder(EventWriter(client))
        self._crds = Informer(client, CRDS, self._rng, metadata_only=True)
        self._crds.add_handler(self._on_crd_change)
        self._configs: list[ProviderConfigs] = []
        self._controllers: list[Controller] = []
        self._health: HealthServer | None = None
        self._stopped = threading.Event()

    def configs(self, kinds: ConfigKinds, *, allow_namespaced_identity: bool = False) -> ProviderConfigs:
        """The provider configs of one API tree, kept up to date while the manager runs."""
        configs = ProviderConfigs(
            self._client,
            kinds,
            self._rng,
            self._recorder,
            Access(allow_namespaced_identity, self._served),
        )
        self._configs.append(configs)
        return configs

    def manage(
        self, kind: ManagedKind, connector: Connector, configs: ProviderConfigs | None = None
    ) -> Controller:
        """Reconcile a kind; `configs` are those that its resources name."""
        informer = Informer(
            self._client,
            kind,
            self._rng,
            indexes={BY_PROVIDER_CONFIG: by_provider_config},
            gate=lambda: self._served(kind),
        )
        queue: WorkQueue[ObjectKey] = WorkQueue(self._clock, self._rng)
        reconciler = Reconciler(kind, self._collaborators(kind, connector, informer))
        controller = Controller(
            kind, informer, queue, reconciler, workers=self._settings.workers, rng=self._rng
        )
        if configs is not None:
            controller.follow(configs)
            configs.used_by(informer)
        self._controllers.append(controller)
        return controller

    def start(self) -> None:
        """Start everything. Raises OSError when the health port is taken."""
        settings = self._settings
        if settings.health_port is not None:
            probes = {"/healthz": self.healthy, "/readyz": self.ready}
            self._health = HealthServer(settings.health_address, settings.health_port, probes)
            self._health.start()
        self._recorder.start()
        self._crds.start()
        for informer in self._informers:
            informer.start()
        for controller in self._controllers:
            controller.start()
        for configs in self._configs:
            configs.start()

    def stop(self) -> bool:
        """Finish what is under way, within the bound; True: nothing was cut off."""
        elapsed = Stopwatch()
        bound = self._settings.stop_seconds
        for controller in self._controllers:
            controller.stop(0.0)
        ended = [c.stop(max(0.0, bound - elapsed.elapsed())) for c in self._controllers]
        ended += [c.stop(max(0.0, bound - elapsed.elapsed())) for c in self._configs]
        for informer in (self._crds, *self._informers):
            informer.stop(timeout=0.5)
        self._recorder.stop(timeout=max(1.0, bound - elapsed.elapsed()))
        if self._health is not None:
            self._health.stop()
        return all(ended)

    def run(self) -> int:
        """Start, wait for SIGTERM or SIGINT, stop; the process's exit code. From the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self.start()
        _log.info("started", kinds=[c.kind.resource for c in self._controllers], health_port=self.health_port)
        self._stopped.wait()
        _log.info("stopping, finishing what is under way")
        finished = self.stop()
        _log.info("stopped", finished=finished)
        return 0 if finished else 1

    def request_stop(self) -> None:
        """Have `run` stop and return."""
        self._stopped.set()

    @property
    def health_port(self) -> int | None:
        """Where health is served, None when it is not."""
        return self._health.port if self._health else None

    def healthy(self) -> tuple[bool, list[str]]:
        """No thread that does the work has died."""
        dead = [f"a worker of {c.kind.resource} has died" for c in self._controllers if not c.alive]
        return not dead, dead

    def ready(self) -> tuple[bool, list[str]]:
        """Everything that is served can be read. Kinds whose CRD is missing are told of, and count as
        ready."""
        problems, notes = [], []
        if not self._crds.synced and not self._crds.problem:
            problems.append("which kinds are served has not been read yet")
        for informer in self._informers:
            if not informer.served:
                notes.append(f"waiting for {informer.kind.resource} to be served")
            elif informer.problem:
                problems.append(informer.problem)
            elif not informer.synced:
                problems.append(f"{informer.kind.resource} have not been read yet")
        refused = [line for line in self._client.refused if line not in problems]
        return not problems, [*problems, *refused, *notes]

    @property
    def _informers(self) -> list[Informer]:
        return [i for configs in self._configs for i in configs.informers] + [
            c.informer for c in self._controllers
        ]

    def _collaborators(self, kind: ManagedKind, connector: Connector, informer: Informer) -> Collaborators:
        settings = self._settings
        return Collaborators(
            connector=connector,
            writer=ManagedWriter(self._client, kind, informer.cache),
            connections=ConnectionPublisher(self._client, self._settings.namespace),
            recorder=self._recorder,
            rng=self._rng,
            pace=Pace(
                poll_interval=settings.poll_interval,
                shortest_poll=settings.shortest_poll,
                creation_grace=settings.creation_grace,
            ),
        )

    def _served(self, kind: ResourceKind) -> bool:
        # Safe start: a kind whose CRD is not there is not asked for, as the provider may have no right to it.
        # Where CRDs may not be read (Crossplane v1), every kind is tried.
        if self._crds.problem:
            return True
        return self._crds.synced and self._crds.cache.get(ObjectKey("", kind.resource)) is not None

    def _on_crd_change(self, change: ObjectChange) -> None:
        # Safe start: an informer whose kind was not served tries again as soon as its CRD moves.
        for informer in self._informers:
            if informer.kind.resource == change.key.name and not informer.served:
                informer.poke()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        del number
        self._stopped.set()
