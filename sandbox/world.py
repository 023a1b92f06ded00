"""The Python API of a sandbox, for tests and the demo.

world = World.up(name="mine", cache=Path(".cache"))
world.kubectl("apply", "-f", "examples/quickstart")
world.emulator.step(60)
world.processes.kill("provider")
world.down()
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sandbox import kubeconfig, launch, pki, ports, state, steps, teardown
from sandbox.build import Binaries, build, build_crossplane_v1, build_for_packages
from sandbox.choice import Choice, Options, choose, notices, refuse_unsafe
from sandbox.emulator_admin import EmulatorAdmin
from sandbox.errors import ProcessDied, Refused, SupervisorGone, WorldError
from sandbox.golang import BuildError
from sandbox.kubectl import Kubectl
from sandbox.processes import Processes, obituary
from sandbox.programs import Programs, installation_in, provider_ports
from sandbox.state import ControlPlane, Crossplane, Layout, Phase, State, default_cache, sandboxes
from sandbox.steps import Progress

__all__ = ["Options", "ProcessDied", "Refused", "SupervisorGone", "World", "WorldError"]

T = TypeVar("T")

ACCESS_KEY = "sandbox"
REGION = "us-east-1"


@dataclass(frozen=True)
class World:
    """A running sandbox."""

    layout: Layout
    state: State

    @classmethod
    def up(
        cls,
        *,
        name: str = "default",
        cache: Path | None = None,
        progress: Progress = print,
        options: Options | None = None,
    ) -> World:
        """Start a sandbox. A sandbox that is running and healthy is left unchanged.

        Raises:
            Refused: a safety rule forbids the chosen cluster.
            WorldError: any other failure. Everything that was started is removed, except the logs.
        """
        options = options or Options()
        layout = Layout((cache or default_cache()).absolute(), name)
        choice = choose(options)
        with layout.locked():
            running = _running(layout, choice, options, progress)
            return running or cls(layout, _start(layout, choice, options, progress))

    @classmethod
    def load(cls, name: str = "default", cache: Path | None = None) -> World:
        """The sandbox of that name.

        Raises:
            WorldError: it does not exist; the message lists the existing ones.
        """
        layout = Layout((cache or default_cache()).absolute(), name)
        state = layout.load()
        if state is None:
            known = ", ".join(other.name for other in sandboxes(layout.cache))
            raise WorldError(
                f"sandbox {name!r} not found; " + (f"sandboxes: {known}" if known else "create one with `up`")
            )
        return cls(layout, state)

    def down(self, *, progress: Progress = lambda _: None, forget_cluster: bool = False) -> None:
        """Take it down; nothing is left.

        Raises:
            WorldError: something remains.
        """
        take_down(self.layout, progress, forget_cluster=forget_cluster)

    @property
    def name(self) -> str:
        """The sandbox's name."""
        return self.layout.name

    @property
    def kubeconfig(self) -> Path:
        """The admin kubeconfig."""
        return self.layout.admin_kubeconfig

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one audit.k8s.io/v1 Event per line.

        Raises:
            WorldError: a given cluster has its own audit log.
        """
        if self.state.control_plane is ControlPlane.GIVEN:
            raise WorldError(f"the sandbox has no access to the audit log of cluster {self.state.cluster}")
        return self.layout.audit_log

    @property
    def emulator(self) -> EmulatorAdmin:
        """The emulator's clock, faults, call log and state."""
        if "emulator" not in self.state.ports:
            raise WorldError(f"sandbox {self.name} has no emulator: it was started with --control-plane-only")
        return EmulatorAdmin(f"http://127.0.0.1:{self.state.ports['emulator']}")

    @property
    def processes(self) -> Processes:
        """The processes, to start, stop and kill by name."""
        return Processes(self.layout.directory)

    def kubectl(self, *args: str, input: str | None = None, check: bool = True) -> str:  # noqa: A002 - as in subprocess
        """Run kubectl against this sandbox as admin; what it printed.

        Raises:
            WorldError: it failed and `check` is set; the message contains kubectl's.
        """
        return self._kubectl.run(*args, input=input, check=check)

    def kubectl_command(self, *args: str) -> list[str]:
        """The kubectl command line for this sandbox, for callers that start the process themselves."""
        return self._kubectl.command(*args)

    def log(self, process: str) -> str:
        """The output of the latest run of a process."""
        return self.processes.run(process).output()

    def hint(self, command: str) -> str:
        """The command line of `edgetenants sandbox COMMAND` for this sandbox, for messages."""
        name = "" if self.name == "default" else f" --name {self.name}"
        return f"{_program()} sandbox {command}{name}"

    def environment(self) -> dict[str, str]:
        """Environment variables that point kubectl and AWS clients at this sandbox."""
        own = str(self._commands())
        path = [p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if p != own]
        variables = {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.layout.kubectl_cache),
            "PATH": os.pathsep.join([own, *path]),
        }
        if "emulator" in self.state.ports:
            variables |= {
                "AWS_ENDPOINT_URL": self.emulator.endpoint,
                "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
                "AWS_REGION": REGION,
                "AWS_DEFAULT_REGION": REGION,
            }
        return variables

    def add_provider(self, name: str, *flags: str) -> None:
        """Start a second provider process, and wait until it is ready.

        It takes part in the leader election unless the flags disable it.
        """
        with state.ports_locked(self.layout.cache) as taken:
            own = ports.choose(provider_ports(name), pinned={}, taken=taken)
            programs = Programs(self.layout, {**self.state.ports, **own}, pki.at(self.layout.pki))
            installation = installation_in(self.state.control_plane, self.name)
            self.processes.launch(programs.provider(installation, name=name, flags=flags))
        self.processes.wait_ready(name)

    def add_sources(self, *flags: str) -> None:
        """Apply the kind TenantSource and the rules of its process, start that process, and wait until it is
        ready.

        Raises:
            WorldError: the cluster was given: the sandbox makes no certificate for a user of it.
        """
        if self.state.control_plane is ControlPlane.GIVEN:
            raise WorldError("TenantSources need the sandbox's own control plane")
        package = state.ROOT / "package"
        self.kubectl("apply", "-f", str(package / "crds-sources"), "-f", str(package / "sources-rbac.yaml"))
        with state.ports_locked(self.layout.cache) as taken:
            own = ports.choose(provider_ports("sources"), pinned={}, taken=taken)
            programs = Programs(self.layout, {**self.state.ports, **own}, pki.at(self.layout.pki))
            pair = pki.client(self.layout.pki, pki.SOURCES_USER)
            config = kubeconfig.with_certificate(programs.server, pair, pki.SOURCES_USER)
            path = kubeconfig.write(self.layout.directory / "sources.kubeconfig", config)
            self.processes.launch(programs.sources(path, flags=flags or ("--no-leader-election",)))
        self.processes.wait_ready("sources")

    def wait_for(
        self, what: str, until: Callable[[], T | None], *, seconds: float = 60, every: float = 0.2
    ) -> T:
        """Poll until `until` returns a true value, and return that value.

        Raises:
            ProcessDied: a process of the sandbox died in the meantime.
            WorldError: timed out after `seconds` of real time.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = until()
            if found:
                return found
            dead = self.processes.died()
            if dead:
                raise ProcessDied(f"waiting for {what}: {obituary(dead[0])}")
            if time.monotonic() > deadline:
                raise WorldError(f"timed out after {seconds:.0f} s waiting for {what}; last: {found!r}")
            time.sleep(every)

    def wait_for_condition(
        self,
        resource: str,
        name: str,
        condition: str,
        *,
        namespace: str = "",
        status: str = "True",
        seconds: float = 60,
    ) -> dict[str, Any]:
        """Wait until an object has a condition with that status, and return the object.

        Raises:
            WorldError: timed out; the message contains its conditions.
        """
        where = ("-n", namespace) if namespace else ()
        seen: dict[str, Any] = {}

        def look() -> dict[str, Any] | None:
            out = self.kubectl("get", resource, name, *where, "-o", "json", "--ignore-not-found")
            seen.clear()
            seen.update(json.loads(out) if out.strip() else {})
            return seen if _status(seen, condition) == status else None

        try:
            return self.wait_for(f"{resource} {name} to have {condition}={status}", look, seconds=seconds)
        except WorldError as e:
            found = [
                f"{c['type']}={c['status']} {c.get('reason')}"
                for c in seen.get("status", {}).get("conditions") or []
            ]
            raise WorldError(f"{e}; its conditions: {', '.join(found) or 'none'}") from e

    def _commands(self) -> Path:
        """A folder with links to kubectl and edgetenants only, so that it hides no other command in PATH."""
        folder = self.layout.directory / "bin"
        folder.mkdir(exist_ok=True)
        for program in (Path(self.state.kubectl), Path(sys.executable).with_name("edgetenants")):
            if program.exists() and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
        return folder

    @property
    def _kubectl(self) -> Kubectl:
        return Kubectl(Path(self.state.kubectl), self.kubeconfig, self.layout.kubectl_cache)


def take_down(layout: Layout, progress: Progress, *, forget_cluster: bool = False) -> None:
    """Remove a sandbox, locked against other commands."""
    with layout.locked():
        teardown.take_down(layout, progress, forget_cluster=forget_cluster)


def _running(layout: Layout, choice: Choice, options: Options, progress: Progress) -> World | None:
    """The sandbox if it is running and healthy. The remains of one whose supervisor has ended are removed.

    Raises:
        WorldError: it is running but not healthy, has another control plane or core, or left objects in a
            given cluster.
    """
    state = layout.load()
    if state is None:
        layout.remove()
        return None
    world = World(layout, state)
    try:
        dead = world.processes.died()
    except SupervisorGone:
        _clear_away(world, progress)
        return None
    if dead:
        hints = f"run `{world.hint(f'restart {dead[0].name}')}`, or first `{world.hint('down')}`"
        raise WorldError(f"sandbox {layout.name} is running but not healthy: {obituary(dead[0])}\n{hints}")
    if state.phase is not Phase.UP:
        raise WorldError(f"sandbox {layout.name} is {state.phase}; first run `{world.hint('down')}`")
    if state.control_plane is not choice.kind or state.cluster != choice.context:
        raise WorldError(
            f"sandbox {layout.name} runs with another control plane; first run `{world.hint('down')}`"
        )
    if state.packages != options.packages:
        wanted = f"{'with' if state.packages else 'without'} packages"
        raise WorldError(f"sandbox {layout.name} runs {wanted}; first run `{world.hint('down')}`")
    if state.packages and state.legacy != options.legacy:
        wanted = f"the packages of {'legacy' if state.legacy else 'namespaced'} claims"
        raise WorldError(f"sandbox {layout.name} runs with {wanted}; first run `{world.hint('down')}`")
    if state.crossplane is not options.crossplane:
        wanted = f"Crossplane {state.crossplane}, not {options.crossplane}"
        raise WorldError(f"sandbox {layout.name} runs with {wanted}; first run `{world.hint('down')}`")
    if state.core_flags != options.core_flags:
        wanted = f"these flags of core: {' '.join(state.core_flags) or 'none'}"
        raise WorldError(f"sandbox {layout.name} runs with {wanted}; first run `{world.hint('down')}`")
    progress(f"sandbox {layout.name} is already running")
    return world


def _clear_away(world: World, progress: Progress) -> None:
    if world.state.control_plane is ControlPlane.GIVEN and world.state.created:
        raise WorldError(
            f"sandbox {world.name} is not running, but {len(world.state.created)} objects that it created "
            f"still exist in {world.state.cluster}; first run `{world.hint('down')}`"
        )
    progress(f"the supervisor of sandbox {world.name} has ended; starting the sandbox again")
    teardown.take_down(world.layout, progress)


def _start(layout: Layout, choice: Choice, options: Options, progress: Progress) -> State:
    start = time.monotonic()
    shutil.rmtree(_failed_logs(layout), ignore_errors=True)
    for line in (*notices(), choice.says):
        progress(line)
    try:
        binaries = _build(layout.cache, options, progress)
    except BuildError as e:
        raise WorldError(f"cannot build the control plane: {e}") from e
    if choice.kubeconfig is not None:
        with _extracted(layout, binaries.kubectl, choice) as kubectl:
            refuse_unsafe(kubectl, owned=options.i_own_this_cluster)
    with _undone_on_failure(layout, progress):
        state = launch.begin(layout, choice, options, binaries, progress).run()
    progress(steps.timed(f"sandbox {layout.name} is ready", time.monotonic() - start))
    return state


def _build(cache: Path, options: Options, progress: Progress) -> Binaries:
    binaries = build(cache, progress)
    if options.packages:
        build_for_packages(cache, progress)
    if options.crossplane is Crossplane.V1 and not options.control_plane_only:
        return build_crossplane_v1(cache, binaries, progress)
    return binaries


def _failed_logs(layout: Layout) -> Path:
    """The folder where the logs of a failed `up` are kept until the next one."""
    return layout.cache / "sandbox" / f"{layout.name}.failed-logs"


@contextmanager
def _extracted(layout: Layout, binary: Path, choice: Choice) -> Iterator[Kubectl]:
    """kubectl for a given cluster, before any state is recorded."""
    layout.make()
    try:
        launch.write_admin_kubeconfig(layout, choice, binary)
        yield Kubectl(binary, layout.admin_kubeconfig, layout.kubectl_cache)
    except WorldError:
        layout.remove()
        raise


@contextmanager
def _undone_on_failure(layout: Layout, progress: Progress) -> Iterator[None]:
    """Remove what was started if the block fails or is interrupted. The logs are kept."""
    try:
        yield
    except BaseException as failure:
        kept = _failed_logs(layout)
        shutil.copytree(layout.logs, kept, dirs_exist_ok=True)
        progress(f"removing what was started; its logs are kept in {kept}")
        try:
            teardown.take_down(layout, progress)
        except WorldError as e:
            raise WorldError(f"{failure}\nthe cleanup failed, too: {e}") from failure
        raise


def _status(obj: dict[str, Any], condition: str) -> str:
    conditions = obj.get("status", {}).get("conditions") or []
    return next((str(c["status"]) for c in conditions if c["type"] == condition), "")


def _program() -> str:
    """The command for messages: its name if it is on PATH, or else its path."""
    program = Path(sys.executable).with_name("edgetenants")
    if shutil.which("edgetenants") or not program.exists():
        return "edgetenants"
    return str(program.relative_to(Path.cwd())) if program.is_relative_to(Path.cwd()) else str(program)
