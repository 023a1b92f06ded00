"""Starts a sandbox. Each step starts as soon as the steps that it needs are done.

certificates ── supervisor ─┬─ API server ─┬─ accounts and rules ──────────────┬─ provider
                            │              └─ kinds ─┬─ Crossplane core        │
                            │                        ├─ claim's definition ────┼─ claims served
                            │                        ├─ function's revision    │
                            ├─ emulator ── seed      └─ credentials ───────────┘
                            └─ function
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from sandbox import kubeconfig, manifests, pki, ports, state, steps
from sandbox.bootstrap import Bootstrap
from sandbox.build import Binaries, package_tools
from sandbox.choice import Choice, Options
from sandbox.control import Control
from sandbox.emulator_admin import EmulatorAdmin
from sandbox.errors import SupervisorGone, WorldError
from sandbox.kubectl import Kubectl, KubernetesObject
from sandbox.packages.install import PREFIX, Installation, selection
from sandbox.pki import PROVIDER_USER
from sandbox.processes import Processes, obituary
from sandbox.programs import Programs, installation_in, port_names
from sandbox.specs import ProcessSpec
from sandbox.state import ControlPlane, Crossplane, Layout, Phase, State
from sandbox.steps import Progress, Step
from sandbox.supervisor import GRACE

__all__ = ["Launch", "begin", "start_supervisor", "write_admin_kubeconfig"]

_AUDIT_POLICY = (
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
)


@dataclass
class Launch:
    """One run of `up`, from the choice of the control plane to a ready sandbox."""

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

    def run(self) -> State:
        """Start everything, and return the state of the ready sandbox.

        Raises:
            WorldError: a step failed; the message contains the last lines of each process that died.
        """
        try:
            steps.run(self._steps(), self.progress, self.abandon)
        except WorldError as e:
            raise WorldError(self._with_the_dead(str(e))) from e
        if self.state.kept:
            self.progress(f"already exist, left unchanged and kept by `down`: {', '.join(self.state.kept)}")
        versions = self._versions()
        self.state = self.layout.save(replace(self.state, phase=Phase.UP, versions=versions))
        return self.state

    def remember(self, created: tuple[KubernetesObject, ...], kept: tuple[str, ...]) -> None:
        """Record immediately which objects were created, so that `down` can always delete them."""
        self.state = self.layout.save(replace(self.state, created=created, kept=kept))

    # The steps and their dependencies

    def _steps(self) -> list[Step]:
        todo = [] if self.foreign else self._api_server()
        if self.options.control_plane_only:
            return todo
        core, legacy = self.options.crossplane, self.options.legacy
        legacy_claim = legacy and self.options.packages
        package = manifests.Package.load(state.ROOT, core, legacy=legacy, legacy_claim=legacy_claim)
        bootstrap = Bootstrap(self.kubectl, package, foreign=self.foreign, remember=self.remember)
        emulator = self.programs.emulator()
        if self.options.packages:
            return [*todo, self._process(emulator), *self._packages(bootstrap)]
        function = self.programs.function()
        return [*todo, self._process(emulator), self._process(function), *self._world(bootstrap)]

    def _api_server(self) -> list[Step]:
        if self.choice.assets is None:
            return [self._process(self.programs.built_apiserver(self.binaries.apiserver))]
        policy = self.layout.directory / "audit-policy.yaml"
        policy.write_text(_AUDIT_POLICY)
        return [
            self._process(self.programs.etcd(self.choice.assets / "etcd")),
            self._process(
                self.programs.kube_apiserver(self.choice.assets / "kube-apiserver", policy), "etcd"
            ),
            self._process(self.programs.collector(self.binaries.collector), "apiserver"),
        ]

    def _world(self, bootstrap: Bootstrap) -> list[Step]:
        programs, port = self.programs, self.programs.ports["function"]
        caller = without_cluster(os.environ) if self.foreign else {}
        installation = installation_in(self.choice.kind, self.layout.name)
        kinds = ("kinds",)
        return [
            Step("accounts and rules", bootstrap.accounts, () if self.foreign else ("apiserver",)),
            Step(
                "kinds",
                lambda: bootstrap.kinds(self.binaries.crossplane_crds, self.abandon),
                ("accounts and rules",),
            ),
            self._process(
                programs.crossplane(self.binaries.crossplane, caller=caller, flags=self.options.core_flags),
                *kinds,
            ),
            Step("provider's kubeconfig", self._provider_kubeconfig, ("accounts and rules",)),
            self._process(programs.provider(installation), "provider's kubeconfig"),
            Step("claim's definition", bootstrap.composition, kinds),
            Step("function's revision", lambda: bootstrap.function(port), kinds),
            Step("credentials", lambda: bootstrap.credentials(programs.endpoint), kinds),
            Step("seeded account", self._seed, ("emulator",)),
            Step(
                "claims served",
                lambda: bootstrap.claims_served(self.abandon),
                ("claim's definition", "crossplane"),
            ),
        ]

    def _packages(self, bootstrap: Bootstrap) -> list[Step]:
        """The steps of a sandbox whose function, provider and claims come from packages."""
        programs = self.programs
        registry = f"127.0.0.1:{programs.ports['registry']}"
        tools = package_tools(self.layout.cache)
        chosen = selection(self.options.crossplane, legacy=self.options.legacy)
        installed = Installation(self.kubectl, registry, tools.cli, self.layout.cache, chosen)
        core = self.binaries.crossplane
        webhooks = self.options.crossplane is Crossplane.V2
        return [
            Step("namespace", bootstrap.namespace, ("apiserver",)),
            Step(
                "Crossplane's kinds",
                lambda: bootstrap.crossplane_kinds(self.binaries.crossplane_crds, self.abandon),
                ("namespace",),
            ),
            self._process(programs.registry(tools.registry)),
            self._process(
                programs.crossplane(core, caller={}, flags=self.options.core_flags, webhooks=webhooks),
                "Crossplane's kinds",
            ),
            *([self._webhooks(bootstrap, tools.webhooks)] if webhooks else []),
            self._process(programs.rbac_manager(core), "Crossplane's kinds"),
            self._process(programs.package_runtime(), "Crossplane's kinds"),
            Step("packages pushed", installed.push, ("registry",)),
            Step("registry known", lambda: self._rewrite(installed), ("crossplane",)),
            Step("seeded account", self._seed, ("emulator",)),
            *(self._installation(bootstrap, installed) if self.options.install else ()),
        ]

    def _rewrite(self, installed: Installation) -> None:
        """Lead core to the sandbox's registry, and say so: the manifests name the released packages."""
        installed.rewrite()
        self.progress(f"  images of {PREFIX} come from {installed.prefix}")

    def _webhooks(self, bootstrap: Bootstrap, folder: Path) -> Step:
        port, ca = self.programs.ports["crossplane-webhooks"], self.programs.pki.ca
        return Step("core's webhooks", lambda: bootstrap.webhooks(folder, port, ca), ("crossplane",))

    def _installation(self, bootstrap: Bootstrap, installed: Installation) -> list[Step]:
        healthy = ("packages healthy",)
        return [
            Step("packages applied", installed.apply, ("packages pushed", "registry known")),
            Step(*healthy, lambda: installed.wait(self.abandon, self.processes), ("packages applied",)),
            Step("configs served", lambda: bootstrap.configs_served(self.abandon), healthy),
            Step(
                "credentials",
                lambda: bootstrap.credentials(self.programs.endpoint),
                ("configs served",),
            ),
            Step("claims served", lambda: bootstrap.claims_served(self.abandon), healthy),
        ]

    def _process(self, spec: ProcessSpec, *needs: str) -> Step:
        def start() -> None:
            self.processes.launch(spec)
            self.processes.wait_ready(spec.name, abandoned=self.abandon.is_set)

        return Step(spec.name, start, needs)

    # The implementation of the steps

    def _seed(self) -> None:
        EmulatorAdmin(self.programs.endpoint).seed(manifests.seed())

    def _provider_kubeconfig(self) -> None:
        """Write the provider's kubeconfig: a certificate for our own API server, a token for a cluster."""
        if not self.foreign:
            config = kubeconfig.with_certificate(
                self.programs.server, self.programs.pki.provider, PROVIDER_USER
            )
            kubeconfig.write(self.layout.provider_kubeconfig, config)
            return
        admin = kubeconfig.read(self.layout.admin_kubeconfig)
        token = self.kubectl.run(
            "create", "token", manifests.PROVIDER, "-n", manifests.NAMESPACE, "--duration=24h", check=False
        ).strip()
        if not token:
            self.progress(
                "cannot create a ServiceAccount token; the provider uses the credentials of your kubeconfig"
            )
        kubeconfig.write(
            self.layout.provider_kubeconfig,
            kubeconfig.with_token(admin, token, PROVIDER_USER) if token else admin,
        )

    def _versions(self) -> Mapping[str, str]:
        server = json.loads(self.kubectl.run("get", "--raw", "/version"))
        return {
            "kubernetes": server["gitVersion"],
            "crossplane": _version(self.binaries.crossplane),
            "edgetenants": metadata.version("edgetenants"),
        }

    def _with_the_dead(self, message: str) -> str:
        """The message, and the last lines of the dead processes that it does not mention."""
        try:
            dead = self.processes.died()
        except SupervisorGone:
            return f"{message}\nthe supervisor has ended; its log is {self.layout.log('supervisor')}"
        return "\n".join([message, *(obituary(r) for r in dead if f"{r.name} died" not in message)])


def begin(layout: Layout, choice: Choice, options: Options, binaries: Binaries, progress: Progress) -> Launch:
    """Choose ports, create certificates and kubeconfigs, and start the supervisor.

    Raises:
        WorldError: a port that the user chose is in use, or the kubeconfig cannot be read.
    """
    start = time.monotonic()
    layout.make()
    names = port_names(choice.kind, control_plane_only=options.control_plane_only, packages=options.packages)
    with state.ports_locked(layout.cache) as taken:
        chosen = ports.choose(names, pinned=options.ports, taken=taken)
        saved = layout.save(_state(layout, choice, options, binaries, chosen))
    programs = Programs(layout, chosen, pki.make(layout.pki))
    if choice.kubeconfig is None:
        own = kubeconfig.with_certificate(programs.server, programs.pki.admin, "admin")
        kubeconfig.write(layout.admin_kubeconfig, own)
    start_supervisor(layout)
    progress(steps.timed("ports, certificates, supervisor", time.monotonic() - start))
    kubectl = Kubectl(binaries.kubectl, layout.admin_kubeconfig, layout.kubectl_cache)
    return Launch(layout, choice, options, binaries, programs, kubectl, saved, progress)


def start_supervisor(layout: Layout, grace: float = GRACE) -> None:
    """Start a detached supervisor and wait until it responds. `grace`: seconds from SIGTERM to SIGKILL.

    Raises:
        WorldError: it does not respond in time; the message contains its last lines.
    """
    log_file = layout.log("supervisor")
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.supervisor", str(layout.directory), str(grace)],
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
                raise WorldError(f"the supervisor did not start:\n{log_file.read_text()[-2000:]}") from e
            time.sleep(0.02)
        else:
            return


def without_cluster(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without KUBECONFIG, and with no proxy for loopback addresses."""
    kept = {k: v for k, v in environ.items() if k != "KUBECONFIG"}
    return (
        {**kept, "NO_PROXY": ",".join(filter(None, (kept.get("NO_PROXY"), "127.0.0.1,localhost")))}
        if kept
        else {}
    )


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
        packages=options.packages,
        crossplane=options.crossplane,
        core_flags=options.core_flags,
    )


def _version(core: Path) -> str:
    return subprocess.run([core, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def write_admin_kubeconfig(layout: Layout, choice: Choice, kubectl: Path) -> None:
    """Write a kubeconfig with only the chosen context of the user's, and embed all files that it names."""
    assert choice.kubeconfig is not None  # noqa: S101 - for the type checker; callers looked
    named = Kubectl(kubectl, choice.kubeconfig, layout.kubectl_cache)
    view = ("config", "view", "--raw", "--minify", "--flatten", f"--context={choice.context}", "-o", "json")
    kubeconfig.write(layout.admin_kubeconfig, json.loads(named.run(*view)))
