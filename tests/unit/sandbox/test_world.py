"""`up` as a whole, around a launch that is not real: what is chosen, refused, undone, and left alone."""

import json

import pytest

from sandbox import world as module
from sandbox.build import Binaries
from sandbox.errors import ProcessDied, WorldError
from sandbox.golang import BuildError
from sandbox.kubectl import KubernetesObject
from sandbox.state import ControlPlane, Crossplane, Layout, Phase, State, default_cache, sandboxes
from sandbox.world import Options, World


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("KUBEBUILDER_ASSETS", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def binaries(tmp_path, monkeypatch):
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho '{}'\n")
    kubectl.chmod(0o755)
    made = Binaries(tmp_path / "a", tmp_path / "b", kubectl, tmp_path / "c", tmp_path / "d")
    monkeypatch.setattr(module, "build", lambda *_: made)
    return made


def up(tmp_path, lines=None, **more):
    return World.up(name="test", cache=tmp_path, progress=(lines if lines is not None else []).append, **more)


def saved(layout, **more):
    state = State(layout.name, ControlPlane.BUILT, {}, "kubectl", phase=Phase.UP)
    return layout.save(State(**{**vars(state), **more}))


def test_a_sandbox_that_runs_is_left_as_it_is(tmp_path, layout, processes, spec):
    saved(layout)
    processes.launch(spec("one"))
    lines = []
    assert up(tmp_path, lines).processes.pid("one") == processes.pid("one")
    assert lines == ["sandbox test is already running"]


def test_a_sandbox_with_a_dead_process_is_not_taken_for_one_that_runs(tmp_path, layout, processes, spec):
    saved(layout)
    processes.launch(spec("function", "print('last words')"))
    while not processes.died():
        pass
    with pytest.raises(
        WorldError, match=r"(?s)not healthy: function died.*last words.*sandbox restart function"
    ):
        up(tmp_path)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"phase": Phase.STARTING}, "is starting; first run `.*sandbox down"),
        ({"control_plane": ControlPlane.GIVEN, "cluster": "prod"}, "another control plane"),
        ({"crossplane": Crossplane.V1}, "runs with Crossplane v1, not v2; first run `.*sandbox down"),
        (
            {"core_flags": ("--debug", "--poll-interval=5m")},
            "these flags of core: --debug --poll-interval=5m;",
        ),
    ],
)
def test_a_sandbox_in_another_state_is_not_used(tmp_path, layout, processes, state, words):
    saved(layout, **state)
    with pytest.raises(WorldError, match=words):
        up(tmp_path)


def test_a_sandbox_with_v1_is_used_by_those_who_ask_for_v1(tmp_path, layout, processes):
    saved(layout, crossplane=Crossplane.V1)
    assert up(tmp_path, options=Options(crossplane=Crossplane.V1)).state.crossplane is Crossplane.V1


def test_a_sandbox_with_flags_of_core_is_used_by_those_who_ask_for_the_same(tmp_path, layout, processes):
    saved(layout, core_flags=("--debug",))
    assert up(tmp_path, options=Options(core_flags=("--debug",))).state.core_flags == ("--debug",)
    with pytest.raises(WorldError, match=r"these flags of core: --debug; first run `.*sandbox down"):
        up(tmp_path, options=Options(core_flags=("--poll-interval=5m",)))


def test_the_core_of_v1_is_built_for_those_who_ask_for_v1(tmp_path, binaries, monkeypatch):
    def built(*_):
        raise BuildError("no v1 today")

    monkeypatch.setattr(module, "build_crossplane_v1", built)
    with pytest.raises(WorldError, match="cannot start apiserver"):  # the binaries here are none
        up(tmp_path)
    with pytest.raises(WorldError, match="cannot build the control plane: no v1 today"):
        up(tmp_path, options=Options(crossplane=Crossplane.V1))


def test_two_commands_at_once_do_not_meet(tmp_path, layout):
    with layout.locked(), pytest.raises(WorldError, match="another up or down of sandbox test is running"):
        up(tmp_path)


def test_what_a_lost_supervisor_left_is_cleared_away_and_objects_in_a_cluster_are_not(
    tmp_path, layout, binaries
):
    obj = KubernetesObject("v1", "Namespace", "", "crossplane-system", "uid")
    saved(layout, control_plane=ControlPlane.GIVEN, cluster="prod", created=(obj,))
    with pytest.raises(WorldError, match="1 objects that it created still exist in prod"):
        up(tmp_path)
    saved(layout)
    lines = []
    with pytest.raises(WorldError):  # there is no API server to start
        up(tmp_path, lines, options=Options(control_plane_only=True))
    assert any("starting the sandbox again" in line for line in lines)


def test_a_launch_that_fails_is_undone_and_its_logs_stay(tmp_path, layout, binaries):
    lines = []
    with pytest.raises(WorldError, match="cannot start apiserver"):
        up(tmp_path, lines, options=Options(control_plane_only=True))
    assert not layout.directory.exists()
    assert (tmp_path / "sandbox" / "test.failed-logs").is_dir()
    assert any("removing what was started" in line for line in lines)


def test_a_process_that_dies_during_up_is_named_with_its_last_lines(tmp_path, binaries):
    binaries.apiserver.write_text("#!/bin/sh\necho no space left on device >&2\nexit 1\n")
    binaries.apiserver.chmod(0o755)
    with pytest.raises(WorldError, match=r"(?s)apiserver died \(exit code 1\).*no space left on device"):
        up(tmp_path, options=Options(control_plane_only=True))


def test_a_build_that_fails_says_so(tmp_path, monkeypatch):
    def fails(*_):
        raise BuildError("there is no Go")

    monkeypatch.setattr(module, "build", fails)
    with pytest.raises(WorldError, match="cannot build the control plane: there is no Go"):
        up(tmp_path)


def test_a_cluster_that_is_refused_is_not_touched_and_leaves_nothing_here(tmp_path, layout, binaries):
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps({"kind": "Config", "contexts": [{"name": "prod"}]}))
    # Every `get` of this kubectl finds something.
    layout.remove()
    with pytest.raises(WorldError, match="this cluster has"):
        up(tmp_path, options=Options(kubeconfig=config, context="prod", i_own_this_cluster=True))
    assert not layout.directory.exists()


def test_a_sandbox_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    with pytest.raises(WorldError, match=r"sandbox 'mine' not found; create one with `up`"):
        World.load("mine", tmp_path)
    other = Layout(tmp_path, "other")
    other.make()
    saved(other)
    with pytest.raises(WorldError, match=r"sandbox 'mine' not found; sandboxes: other"):
        World.load("mine", tmp_path)


@pytest.mark.parametrize("name", ["", "UP", "a/b", "../x", "-a", "a" * 64])
def test_a_name_becomes_a_folder(tmp_path, name):
    with pytest.raises(WorldError, match="--name: expected at most 63"):
        Layout(tmp_path, name)


def test_a_state_survives_the_disk(layout):
    obj = KubernetesObject("v1", "Secret", "ns", "s", "uid")
    state = saved(
        layout,
        created=(obj,),
        kept=("Namespace/x",),
        ports={"emulator": 5},
        versions={"kubernetes": "v1"},
        crossplane=Crossplane.V1,
    )
    assert layout.load() == state
    assert [found.name for found in sandboxes(layout.cache)] == ["test"]


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("EDGETENANTS_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.delenv("EDGETENANTS_CACHE")
    assert default_cache().name == ".cache"


def test_waiting_ends_with_what_was_found_or_says_what_was_seen(layout, processes):
    world = World(layout, saved(layout))
    seen = iter([None, 0, 7])
    assert world.wait_for("a number", lambda: next(seen), every=0.001) == 7
    with pytest.raises(WorldError, match=r"timed out after 0 s waiting for a unicorn; last: \[\]"):
        world.wait_for("a unicorn", list, seconds=0)


def test_waiting_ends_when_a_process_dies(layout, processes, spec):
    world = World(layout, saved(layout))
    processes.launch(spec("provider", "print('farewell')"))
    with pytest.raises(ProcessDied, match=r"(?s)waiting for a unicorn: provider died.*farewell"):
        world.wait_for("a unicorn", lambda: None, every=0.01)


def test_waiting_for_a_condition_tells_those_that_are_there(layout, processes, tmp_path):
    kubectl = tmp_path / "kubectl"
    obj = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Creating"}]}}
    kubectl.write_text(f"#!/bin/sh\necho '{json.dumps(obj)}'\n")
    kubectl.chmod(0o755)
    world = World(layout, saved(layout, kubectl=str(kubectl)))
    assert world.wait_for_condition("edt", "a", "Ready", status="False") == obj
    with pytest.raises(WorldError, match=r"edt a to have Ready=True.*its conditions: Ready=False Creating"):
        world.wait_for_condition("edt", "a", "Ready", seconds=0)
