"""Bringing a sandbox up: everything starts as soon as what it needs is there.

    certificates ── supervisor ─┬─ API server ─┬─ accounts and rules ──────────────┬─ provider
                                │              └─ kinds ─┬─ Crossplane core        │
                                │                        ├─ claim's definition ────┼─ claims served
                                │                        ├─ function's revision    │
                                ├─ emulator ── seed      └─ credentials ───────────┘
                                └─ function
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import kubeconfig, manifests, pki, ports, state, steps
from sandbox.bootstrap import Bootstrap
from sandbox.choice import Choice, Options
from sandbox.control import Control
from sandbox.emulator_admin import EmulatorAdmin
from sandbox.errors import SupervisorGone, WorldError
from sandbox.kubectl import Kubectl
from sandbox.pki import PROVIDER_USER, Pki
from sandbox.processes import Processes, obituary
from sandbox.programs import Programs, port_names
from sandbox.specs import ProcessSpec
from sandbox.state import ControlPlane, Layout, Phase, State
from sandbox.steps import Progress, Step

if TYPE_CHECKING:
    from sandbox.build import Binaries

__all__ = ["Launch", "begin", "start_supervisor"]

_AUDIT_POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"


@dataclass
class Launch:
    """One `up`, from a chosen control plane to a sandbox that is ready."""

    layout: Layout
    choice: Choice
    options: Options
    binaries: Binaries
    programs: Programs
    kubectl: Kubectl
    state: State
    progress: Progress

    def __post_init__(self) -> None:
        self.processes = Processes(self.layout.directory)
        self.abandon = threading.Event()
        self.foreign = self.choice.kind is ControlPlane.GIVEN
        self.bootstrap: Bootstrap | None = None

    def run(self) -> State:
        """Start everything; the state of the sandbox that is ready.

        Raises:
            WorldError: something failed; the message has the last lines of any process that died.
        """
        try:
            self._run(self._control_plane())
            if not self.options.control_plane_only:
                package = manifests.Package.load(state.ROOT, legacy=self.options.legacy)
                self.bootstrap = Bootstrap(self.kubectl, package, foreign=self.foreign)
                self._run(self._world(self.bootstrap))
        except WorldError as e:
            raise WorldError(self._with_the_dead(str(e))) from e
        finally:
            self.remember()
        self.state = self.layout.save(replace(self.state, phase=Phase.UP, versions=self._versions()))
        return self.state

    def remember(self) -> None:
        """Write down which objects were made so far."""
        if self.bootstrap is not None:
            self.state = replace(self.state, created=self.bootstrap.created, kept=self.bootstrap.kept)
        self.layout.save(self.state)

    def _run(self, todo: list[Step]) -> None:
        steps.run(todo, self.progress, self.abandon)

    # What is done, and what it needs

    def _control_plane(self) -> list[Step]:
        """Processes that need no API server start beside it."""
        todo = [] if self.foreign else self._api_server()
        if not self.options.control_plane_only:
            todo += [self._process(self.programs.emulator()), self._process(self.programs.function())]
        return todo

    def _api_server(self) -> list[Step]:
        if self.choice.assets is None:
            return [self._process(self.programs.built_apiserver(self.binaries.apiserver))]
        policy = self.layout.directory / "audit-policy.yaml"
        policy.write_text(_AUDIT_POLICY)
        return [
            self._process(self.programs.etcd(self.choice.assets / "etcd")),
            self._process(self.programs.kube_apiserver(self.choice.assets / "kube-apiserver", policy), "etcd"),
            self._process(self.programs.collector(self.binaries.collector), "apiserver"),
        ]

    def _world(self, bootstrap: Bootstrap) -> list[Step]:
        programs, port = self.programs, self.programs.ports["function"]
        caller = dict(os.environ) if self.foreign else {}
        return [
            Step("seeded account", lambda: self._seed() and None),
            Step("accounts and rules", bootstrap.accounts),
            Step("kinds", lambda: bootstrap.kinds(self.binaries.crossplane_crds, self.abandon), ("accounts and rules",)),
            self._process(programs.crossplane(self.binaries.crossplane, caller=without_cluster(caller)), "kinds"),
            Step("the provider's kubeconfig", self._provider_kubeconfig, ("accounts and rules",)),
            self._process(programs.provider(), "the provider's kubeconfig"),
            Step("claim's definition", bootstrap.composition, ("kinds",)),
            Step("function's revision", lambda: bootstrap.function(port), ("kinds",)),
            Step("credentials", lambda: bootstrap.credentials(programs.endpoint, legacy=self.options.legacy), ("kinds",)),
            Step("claims served", lambda: bootstrap.claims_served(self.abandon), ("claim's definition", "crossplane")),
        ]

    def _process(self, spec: ProcessSpec, *needs: str) -> Step:
        def start() -> None:
            self.processes.launch(spec)
            self.processes.wait_ready(spec.name, abandoned=self.abandon.is_set)

        return Step(spec.name, start, needs)

    # How single things are done

    def _seed(self) -> Mapping[str, object]:
        return EmulatorAdmin(self.programs.endpoint).seed(manifests.seed())

    def _provider_kubeconfig(self) -> None:
        """The provider's ServiceAccount: by certificate on our own API server, by token on a given cluster."""
        if not self.foreign:
            config = kubeconfig.with_certificate(self.programs.server, self.programs.pki.provider, PROVIDER_USER)
            kubeconfig.write(self.layout.provider_kubeconfig, config)
            return
        admin = kubeconfig.read(self.layout.admin_kubeconfig)
        token = self.kubectl.run(
            "create", "token", manifests.PROVIDER, "-n", manifests.NAMESPACE, "--duration=24h", check=False
        ).strip()
        if not token:
            self.progress("the cluster gives no ServiceAccount token: the provider runs as the user of your kubeconfig")
        kubeconfig.write(
            self.layout.provider_kubeconfig, kubeconfig.with_token(admin, token, PROVIDER_USER) if token else admin
        )

    def _versions(self) -> Mapping[str, str]:
        import json
        from importlib import metadata

        server = json.loads(self.kubectl.run("get", "--raw", "/version"))
        return {
            "kubernetes": server["gitVersion"],
            "crossplane": "v2.3.4",
            "edgetenants": metadata.version("edgetenants"),
        }

    def _with_the_dead(self, message: str) -> str:
        """The message, and the last words of processes that died and are not in it yet."""
        try:
            dead = self.processes.died()
        except SupervisorGone:
            return f"{message}\nthe supervisor is gone; its last lines are in {self.layout.log('supervisor')}"
        return "\n".join([message, *(obituary(r) for r in dead if f"{r.name} died" not in message)])


def begin(layout: Layout, choice: Choice, options: Options, binaries: Binaries, progress: Progress) -> Launch:
    """Choose ports, make certificates and kubeconfigs, start the supervisor.

    Raises:
        WorldError: a port that the user wants is in use, or the kubeconfig cannot be read.
    """
    start = time.monotonic()
    layout.make()
    names = port_names(choice.kind, control_plane_only=options.control_plane_only)
    with state.ports_locked(layout.cache) as taken:
        chosen = ports.choose(names, pinned=options.ports, taken=taken)
        saved = layout.save(_state(layout, choice, options, binaries, chosen))
    programs = Programs(layout, chosen, pki.make(layout.pki))
    _admin_kubeconfig(layout, choice, programs, binaries)
    start_supervisor(layout)
    progress(steps.timed("ports, certificates, supervisor", time.monotonic() - start))
    kubectl = Kubectl(binaries.kubectl, layout.admin_kubeconfig, layout.kubectl_cache)
    return Launch(layout, choice, options, binaries, programs, kubectl, saved, progress)


def start_supervisor(layout: Layout) -> None:
    """Start a detached supervisor and wait until it answers.

    Raises:
        WorldError: it does not; the message has its last lines.
    """
    log_file = layout.log("supervisor")
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.supervisor", str(layout.directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + 20
    while True:
        try:
            Control(layout.directory).status()
        except SupervisorGone as e:
            if process.poll() is not None or time.monotonic() > deadline:
                raise WorldError(f"the supervisor does not start:\n{log_file.read_text()[-2000:]}") from e
            time.sleep(0.02)
        else:
            return


def without_cluster(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which no cluster is named and loopback is reached without a proxy."""
    kept = {k: v for k, v in environ.items() if k != "KUBECONFIG"}
    return {**kept, "NO_PROXY": ",".join(filter(None, (kept.get("NO_PROXY"), "127.0.0.1,localhost")))} if kept else {}


def _state(
    layout: Layout, choice: Choice, options: Options, binaries: Binaries, chosen: Mapping[str, int]
) -> State:
    return State(
        name=layout.name,
        control_plane=choice.kind,
        ports=chosen,
        kubectl=str(binaries.kubectl),
        cluster=choice.context,
        legacy=options.legacy,
        control_plane_only=options.control_plane_only,
    )


def _admin_kubeconfig(layout: Layout, choice: Choice, programs: Programs, binaries: Binaries) -> None:
    if choice.kubeconfig is None:
        config = kubeconfig.with_certificate(programs.server, programs.pki.admin, "admin")
        kubeconfig.write(layout.admin_kubeconfig, config)
        return
    kubeconfig.write(layout.admin_kubeconfig, extract(binaries.kubectl, choice))


def extract(kubectl: Path, choice: Choice) -> kubeconfig.JsonObject:
    """The chosen context of the user's kubeconfig alone, with all files that it refers to inside."""
    import json

    assert choice.kubeconfig is not None  # noqa: S101 - for the type checker; the caller looked
    named = Kubectl(kubectl, choice.kubeconfig, choice.kubeconfig.parent)
    view = ("config", "view", "--raw", "--minify", "--flatten", f"--context={choice.context}", "-o", "json")
    found: kubeconfig.JsonObject = json.loads(named.run(*view))
    return found


_ = Pki
