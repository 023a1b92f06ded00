"""`edgetenants source`: what a TenantSource would do, and which rows are wrong, without writing anything."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.cluster import NoCluster
from cli.documents import read_all
from cli.main import cli
from cli.source import command
from cli.source.sight import Sight
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotServed, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS, SECRETS
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sources.reading import Allowed, opener
from sources.stores.store import Row
from tests.unit.sources.tables import CLAIMS, KEY, NAMESPACE, SOURCES, SPEC, Scene, Server

CANARY = "canary-of-a-row"
HEADER = "id,domain,tier"
TEMPLATE = {"name": "{id}", "spec": {"domains": ["{domain}"], "parameters": {"tier": "{tier}"}}}


class Shop(Scene):
    """A TenantSource whose rows are in a ConfigMap, which both the process and the command read."""

    def __init__(self, *rows: str, **spec: Any) -> None:
        super().__init__(**{"template": TEMPLATE, **spec})
        self.rows(*rows)

    def rows(self, *rows: str) -> None:
        metadata = {"name": "customers", "namespace": NAMESPACE}
        text = "\n".join((HEADER, *rows))
        self.server.put(
            CONFIG_MAPS,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"rows": text}},
        )
        self.server.touch(CONFIG_MAPS, ObjectKey(NAMESPACE, "customers"))

    def restart(self) -> None:
        super().restart()
        opened = opener(self.server.get, self.clock, Allowed())
        self.reconciler._parts = replace(self.reconciler._parts, open_store=opened)

    def looks(self, seconds: float) -> None:
        for _ in range(int(seconds // 60)):
            self.look()


class Reads:
    """An API server's client that only reads: whatever else is asked for fails."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.errors: dict[tuple[str, str], KubeError] = {}
        self.asked: list[str] = []

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        self._answer("get", kind)
        return self._server.get(kind, key)

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        self._answer("list", kind)
        return self._server.select(kind, namespace, labels)

    def refuse(self, verb: str, kind: ResourceKind, code: int = 403) -> None:
        error = Forbidden if code == 403 else KubeError
        self.errors[verb, kind.kind] = error(Operation(verb, kind, "", "x", NAMESPACE), code, "no")

    def _answer(self, verb: str, kind: ResourceKind) -> None:
        self.asked.append(f"{verb} {kind.kind}")
        if (verb, kind.kind) in self.errors:
            raise self.errors[verb, kind.kind]


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def ran(cluster: Scene | Reads | None, *words: str) -> Result:
        def connect(*_: object) -> Any:
            if cluster is None:
                raise NoCluster("kubeconfig /dev/null: no configuration")
            return Reads(cluster.server) if isinstance(cluster, Scene) else cluster

        monkeypatch.setattr(command, "connect", connect)
        return CliRunner().invoke(cli, ["source", *words])

    return ran


def previewed(run: Run, cluster: Any, *words: str) -> dict[str, Any]:
    done = run(cluster, "preview", "customers", "-n", NAMESPACE, "-o", "json", *words)
    assert done.exit_code in (0, 1), done.output
    [found] = json.loads(done.stdout)
    return found


def named(listed: list[dict[str, Any]]) -> list[str]:
    return sorted(each["name"] for each in listed)


def removed(found: dict[str, Any], fate: str) -> list[str]:
    return named([each for each in found["gone"] if each["fate"] == fate])


def new(scene: Shop) -> None:
    scene.rows("a,a.example.com,x", "b,b.example.com,x", "c,c.example.com,x")


def changed(scene: Shop) -> None:
    scene.rows("a,new.example.com,x", "b,b.example.com,y")


def wrong(scene: Shop) -> None:
    scene.rows("a,not a domain,x", "b,b.example.com,y", "c,,x", "d,a.example.com,x")


def twice(scene: Shop) -> None:
    scene.rows("a,a.example.com,x", "b,b.example.com,x", "c,one.example.com,x", "d,one.example.com,x")


def repeated(scene: Shop) -> None:
    scene.rows("a,new.example.com,x", "a,a.example.com,x", "b,b.example.com,y")


def theirs(scene: Shop) -> None:
    metadata = {
        "name": "c",
        "namespace": NAMESPACE,
        "uid": "theirs",
        "labels": {"team": "x"},
        "generation": 1,
    }
    claim = {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": metadata}
    scene.server.put(CLAIMS, {**claim, "spec": {"domains": ["c.example.com"]}})
    scene.server.touch(CLAIMS, ObjectKey(NAMESPACE, "c"))
    scene.server.edit("c", {"domains": ["c.example.com"]})
    new(scene)


def taken_over(scene: Shop) -> None:
    theirs(scene)
    scene.put_source(template=TEMPLATE, adopt={"matchLabels": {"team": "x"}})


def edited(scene: Shop) -> None:
    scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, "a"), {"spec": {"domains": ["other.example.com"]}})


def nameless(scene: Shop) -> None:
    scene.rows(",a.example.com,x", "b,b.example.com,y")


def gone(scene: Shop) -> None:
    scene.rows("b,b.example.com,x")


@pytest.mark.parametrize(
    "happens", [new, changed, wrong, twice, repeated, theirs, taken_over, edited, nameless, gone]
)
@pytest.mark.parametrize("paced", [False, True])
def test_the_preview_is_what_the_process_then_does(
    run: Run, happens: Callable[[Shop], None], *, paced: bool
) -> None:
    scene = Shop("a,a.example.com,x", "b,b.example.com,x", **({"maxNotLive": 3} if paced else {}))
    scene.look()
    scene.look()
    happens(scene)
    scene.take_writes()
    scene.take_journal()
    before = dict(scene.server._objects)
    found = previewed(run, scene)
    assert scene.server._objects == before
    assert (scene.take_writes(), scene.take_journal()) == ([], [])
    scene.look()
    written = [name for verb, name in scene.take_writes() if verb == "apply"]
    created = [each["name"] for each in found["create"]]
    assert sorted(created[: found["createdAtOnce"]] + named(found["change"])) == sorted(written)
    assert found["invalid"] == scene.status["invalid"]
    assert [{name: each[name] for name in ("key", "field", "expected")} for each in found["problems"]] == (
        scene.status.get("problems") or []
    )
    assert named(found["gone"]) == (scene.status.get("goneNames") or [])
    assert found["rows"] == scene.status["rows"]
    assert len(found["create"]) - found["createdAtOnce"] == scene.status["waiting"]


def test_what_goes_and_when_is_as_the_process_decides(run: Run) -> None:
    scene = Shop("a,a.example.com,x", "b,b.example.com,x", whenGone="Delete", after="1h")
    scene.look()
    gone(scene)
    found = previewed(run, scene)
    assert [(each["name"], each["fate"], each["counted"]) for each in found["gone"]] == [("a", "later", 0)]
    scene.looks(1800)
    assert [(each["fate"], each["counted"]) for each in previewed(run, scene)["gone"]] == [("later", 1200)]
    scene.looks(1860)
    assert sorted(scene.claims) == ["b"]
    assert previewed(run, scene)["gone"] == []


def test_what_is_due_is_said(run: Run) -> None:
    scene = Shop("a,a.example.com,x", "b,b.example.com,x", whenGone="Delete", after="1h")
    scene.look()
    gone(scene)
    scene.looks(3000)
    scene.put_source(template=TEMPLATE, whenGone="Delete", after="30m")
    found = previewed(run, scene)
    assert removed(found, "now") == ["a"]
    scene.look()
    assert sorted(scene.claims) == ["b"]


def test_a_removal_that_is_held_is_said_with_the_token_that_the_process_told(run: Run) -> None:
    rows = [f"r{n},r{n}.example.com,x" for n in range(20)]
    scene = Shop(*rows, whenGone="Delete", after="1h")
    scene.look()
    scene.rows(*rows[:19])
    scene.look()
    scene.rows(*rows[:10])
    found = previewed(run, scene)
    assert (found["held"], found["token"]) == (10, "")
    scene.look()
    token = scene.status["removal"]["token"]
    done = run(scene, "preview", "customers", "-n", NAMESPACE)
    assert done.exit_code == 1
    assert (
        f"remove exactly these 10 objects, set the annotation edgetenants.io/confirm to {token}"
        in done.output
    )
    scene.annotate(confirm=token)
    found = previewed(run, scene)
    assert (found["held"], len(removed(found, "later"))) == (0, 10)


def test_a_suspended_object_stays(run: Run) -> None:
    scene = Shop("a,a.example.com,x", "b,b.example.com,x", whenGone="Suspend", after="0s")
    scene.look()
    gone(scene)
    scene.looks(300)
    assert scene.claims["a"]["spec"]["suspended"] is True
    assert removed(previewed(run, scene), "stays") == ["a"]
    scene.rows("a,bad domain,x", "b,b.example.com,x")
    assert [(each["name"], each["what"]) for each in previewed(run, scene)["change"]] == [("a", "restore")]


def source(**spec: Any) -> dict[str, Any]:
    metadata = {"name": KEY.name, "namespace": KEY.namespace}
    whole = {**SPEC, "template": TEMPLATE, **spec}
    return {"apiVersion": SOURCES.api_version, "kind": SOURCES.kind, "metadata": metadata, "spec": whole}


def table(*rows: str) -> dict[str, Any]:
    metadata = {"name": "customers", "namespace": NAMESPACE}
    data = {"rows": "\n".join((HEADER, *rows))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def write(folder: Path, *objects: dict[str, Any]) -> str:
    file = folder / "source.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


def test_a_file_needs_no_cluster(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, source(), table("a,a.example.com,x", "b,bad domain,y"))
    done = run(None, "preview", file)
    assert done.stdout == (
        "TenantSource shop/customers\n"
        "  not read, treated as absent: kubeconfig /dev/null: no configuration\n"
        "  + TenantClaim a (row a)\n"
        "  ! row b: spec.domains[0]: expected a domain name such as www.example.com, without scheme, port, "
        "path or spaces\n"
        "  2 rows: 1 to create, 0 to change, 0 to remove, 0 held, 0 unchanged, 1 invalid\n"
    )
    assert done.stderr == "reading the rows of shop/customers\n"
    assert done.exit_code == 1


def test_a_file_is_compared_with_the_cluster(run: Run, tmp_path: Path) -> None:
    scene = Shop("a,a.example.com,x", "b,b.example.com,x")
    scene.look()
    template = {**TEMPLATE, "labels": {"team": "{tier}"}, "spec": {**TEMPLATE["spec"], "plan": "gold"}}
    done = run(scene, "preview", write(tmp_path, source(template=template)), "--exit-code")
    assert done.exit_code == 1
    assert "~ TenantClaim a (row a): spec.plan, metadata.labels.team\n" in done.stdout
    assert "2 rows: 0 to create, 2 to change" in done.stdout
    assert run(scene, "preview", write(tmp_path, source()), "--exit-code").exit_code == 0
    assert run(scene, "preview", write(tmp_path, source(template=template))).exit_code == 0


def test_check_lists_all_rows_that_are_wrong_and_nothing_else(run: Run) -> None:
    scene = Shop(*(f"r{n:02},bad domain,x" for n in range(30)), "z,z.example.com,x")
    done = run(scene, "check", "customers", "-n", NAMESPACE)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "TenantSource shop/customers"
    assert [each.split(":")[0] for each in lines[1:-1]] == [f"  ! row r{n:02}" for n in range(30)]
    assert lines[-1] == "  31 rows: 30 invalid"
    scene.rows("z,z.example.com,x")
    assert run(scene, "check", "customers", "-n", NAMESPACE).exit_code == 0


def test_rows_that_repeat_another_are_marked(run: Run) -> None:
    scene = Shop("a,one.example.com,x", "b,one.example.com,x", "c,bad domain,x")
    found = previewed(run, scene)
    assert {each["key"]: each["repeats"] for each in found["problems"]} == {"a": True, "b": True, "c": False}
    assert (
        "3 invalid (2 of them repeat another row)" in run(scene, "check", "customers", "-n", NAMESPACE).output
    )


def test_rows_without_a_key_are_counted_and_told(run: Run) -> None:
    scene = Shop("a,a.example.com,x")
    scene.look()
    scene.rows(*(",x.example.com,x" for _ in range(30)))
    done = run(scene, "preview", "customers", "-n", NAMESPACE)
    assert "  ! row (line 2): the column id: expected text or an integer" in done.stdout
    assert "  ! and 10 more rows without a usable key\n" in done.stdout
    assert "no object counts as gone" in done.stdout
    assert previewed(run, scene)["gone"] == []


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
@pytest.mark.parametrize("what", ["preview", "check"])
def test_no_value_of_a_row_is_printed(run: Run, form: str, what: str) -> None:
    template = {"name": "{id}", "spec": {"domains": ["{domain}"], "parameters": "{settings}"}}
    overrides = {"column": "o", "allow": ["parameters"]}
    rows: list[dict[str, Any]] = [
        {"id": "a", "domain": "a.example.com", "settings": {f"x{CANARY}": CANARY}},
        {"id": "b", "domain": f"{CANARY} {CANARY}", "settings": {}},
        {"id": "c", "domain": "c.example.com", "settings": {CANARY: {CANARY: [CANARY]}}, "o": CANARY},
        {"id": "d", "domain": "d.example.com", "settings": CANARY},
        {"id": "e", "domain": "e.example.com", "settings": {}, "o": {CANARY: CANARY}},
        {"id": "f", "domain": f"{CANARY}.example.com", "settings": {}},
        {"id": "g", "domain": f"{CANARY}.example.com", "settings": {}},
        {"id": None, "domain": CANARY},
    ]
    spec = {"template": {**template, "overrides": overrides}}
    scene = Shop(**spec, source={"configMap": {"name": "customers", "key": "rows", "format": "jsonl"}})
    put = scene.server.find(CONFIG_MAPS, ObjectKey(NAMESPACE, "customers")) or {}
    put["data"]["rows"] = '{"id": "a", "domain": "a.example.com", "settings": {"old": "x"}}'
    scene.server.put(CONFIG_MAPS, put)
    scene.look()
    assert sorted(scene.claims) == ["a"]
    put["data"]["rows"] = "\n".join(map(json.dumps, rows))
    scene.server.put(CONFIG_MAPS, put)
    done = run(scene, what, "customers", "-n", NAMESPACE, "-o", form)
    assert done.exit_code == 1
    assert CANARY not in done.output
    if what == "preview":
        assert "spec.parameters" in done.stdout


@pytest.mark.parametrize("verb", ["get TenantSource", "list TenantClaim", "get ConfigMap"])
def test_what_cannot_be_read_is_said(run: Run, verb: str, tmp_path: Path) -> None:
    scene = Shop("a,a.example.com,x")
    scene.look()
    cluster = Reads(scene.server)
    kinds = {kind.kind: kind for kind in (SOURCES, CLAIMS, CONFIG_MAPS)}
    word, kind = verb.split()
    cluster.refuse(word, kinds[kind])
    file = write(tmp_path, source(whenGone="Delete"), table("a,a.example.com,x"))
    done = run(cluster, "preview", file)
    assert f"  not read, treated as absent: cannot {word} {kinds[kind].plural}" in done.stdout
    assert ("+ TenantClaim a" in done.stdout) == (kind == "TenantClaim")


def test_a_server_that_does_not_answer_is_asked_once(run: Run, tmp_path: Path) -> None:
    cluster = Reads(Shop().server)
    cluster.refuse("get", SOURCES, code=0)
    file = write(tmp_path, source(), table("a,a.example.com,x"), {**source(), "metadata": {"name": "second"}})
    done = run(cluster, "preview", file, "-n", NAMESPACE, "-o", "json")
    assert [each["unseen"] for each in json.loads(done.stdout)] == [["no"], ["no"]]
    assert cluster.asked == ["get TenantSource"]


def test_a_kind_that_the_cluster_does_not_have_is_said(run: Run, tmp_path: Path) -> None:
    cluster = Reads(Shop().server)
    cluster.errors["list", "TenantClaim"] = NotServed(Operation("list", CLAIMS), 404, "no")
    done = run(cluster, "preview", write(tmp_path, source(), table("a,a.example.com,x")))
    assert "not read, treated as absent: the cluster does not have the kind TenantClaim" in done.stdout


@pytest.mark.parametrize(
    ("spec", "says", "code"),
    [
        ({"pollInterval": "soon"}, "refused: spec.pollInterval", 1),
        ({"template": {"name": "x", "spec": {}}}, "refused: template.name: expected a placeholder", 1),
        ({"source": {"configMap": {"name": "other", "key": "rows", "format": "csv"}}}, "InvalidConfig", 2),
        ({"source": {"configMap": {"name": "customers", "key": "rows", "format": "yaml"}}}, "InvalidData", 2),
        (
            {
                "source": {
                    "postgresql": {
                        "host": "db.example.com",
                        "database": "shop",
                        "user": "x",
                        "passwordSecretRef": {"name": "x", "key": "x"},
                        "table": "t",
                    }
                }
            },
            "AccessDenied: the database db.example.com:5432 is not in --allowed-database-hosts",
            2,
        ),
    ],
)
def test_what_stops_the_source_is_said(
    run: Run, tmp_path: Path, spec: dict[str, Any], says: str, code: int
) -> None:
    done = run(Shop(), "preview", write(tmp_path, source(**spec), table("a,a.example.com,x")))
    assert (done.exit_code, says in done.stdout) == (code, True), done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.yaml"], "missing.yaml"),
        (["unknown"], "TenantSource unknown: there is none in the namespace default"),
        (["customers", "--allowed-database-hosts", "db"], "expected HOST:PORT"),
        ([], "Missing argument"),
    ],
)
def test_a_wrong_command_is_told(run: Run, words: list[str], says: str) -> None:
    done = run(Shop(), "preview", *words)
    assert (done.exit_code, says in done.output) == (2, True), done.output


def test_a_file_without_a_source_is_told(run: Run, tmp_path: Path) -> None:
    done = run(Shop(), "check", write(tmp_path, table()))
    assert (done.exit_code, "expected a TenantSource, got none" in done.output) == (2, True)


def test_a_cluster_that_the_user_names_must_be_there(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, source(), table("a,a.example.com,x"))
    assert run(None, "preview", file).exit_code == 0
    assert run(None, "preview", file, "--context", "prod").exit_code == 2


@pytest.mark.parametrize("what", ["preview", "check"])
@pytest.mark.parametrize("code", [0, 403, 500])
def test_objects_that_cannot_be_listed_are_an_error_if_a_cluster_is_named(
    run: Run, tmp_path: Path, what: str, code: int
) -> None:
    scene = Shop("a,a.example.com,x")
    file = write(tmp_path, source(), table("a,a.example.com,x"))
    for words, expected in (([file], 0), ([file, "--context", "prod"], 2), (["customers"], 2)):
        cluster = Reads(scene.server)
        cluster.refuse("list", CLAIMS, code)
        done = run(cluster, what, *words, "-n", NAMESPACE)
        assert done.exit_code == expected, done.output
        assert "not read, treated as absent" in done.stdout


def test_a_source_that_cannot_be_compared_is_an_error_if_a_cluster_is_named(run: Run, tmp_path: Path) -> None:
    cluster = Reads(Shop("a,a.example.com,x").server)
    cluster.refuse("get", SOURCES)
    file = write(tmp_path, source(), table("a,a.example.com,x"))
    assert run(cluster, "preview", file).exit_code == 0
    assert run(cluster, "preview", file, "--kubeconfig", "x").exit_code == 2


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "customers", "namespace": "other"},
        {"name": "..", "namespace": NAMESPACE},
        {"name": "a..b", "namespace": NAMESPACE},
        {"name": "x/y", "namespace": NAMESPACE},
        {"name": "customers", "namespace": "../x"},
        {"name": "customers", "namespace": "a.b"},
    ],
)
def test_a_file_leads_to_no_other_namespace_and_no_other_path(
    run: Run, tmp_path: Path, metadata: dict[str, str]
) -> None:
    cluster = Reads(Shop().server)
    file = write(tmp_path, {**source(), "metadata": metadata}, table("a,a.example.com,x"))
    done = run(cluster, "preview", file, "-n", NAMESPACE)
    assert (done.exit_code, cluster.asked) == (2, [])
    assert "source.yaml:4:3: expected" in done.output.replace("\n", "")


def test_a_namespace_that_is_none_is_refused(run: Run) -> None:
    cluster = Reads(Shop().server)
    assert run(cluster, "preview", "customers", "-n", "../x").exit_code == 2
    assert cluster.asked == []


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
@pytest.mark.parametrize("data", [{"data": ["x"]}, {"data": "x", "stringData": {}}, {"stringData": ["x"]}])
def test_data_of_another_form_is_told(run: Run, tmp_path: Path, kind: str, data: dict[str, Any]) -> None:
    odd = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "customers"}, **data}
    done = run(None, "preview", write(tmp_path, source(), odd))
    assert (done.exit_code, "expected an object" in done.output) == (2, True)
    assert isinstance(done.exception, SystemExit)


def test_notes_say_what_keeps_the_process_from_it(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, source(suspend=True, whenGone="Delete"), table("a,a.example.com,x"))
    done = run(Shop(), "preview", file)
    assert "note: suspend: true" in done.stdout
    assert "only if it runs with --enable-alpha-removals" in done.stdout


def test_a_secret_of_a_file_is_as_the_api_server_stores_it(tmp_path: Path) -> None:
    metadata = {"name": "db"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "x"}}
    sight = Sight(read_all([Path(write(tmp_path, secret))]), NAMESPACE, None, "none")
    found = sight.get(SECRETS, ObjectKey(NAMESPACE, "db"))
    assert base64.b64decode(found["data"]["password"]) == b"x"
    with pytest.raises(KubeError):
        sight.get(SECRETS, ObjectKey("other", "db"))


def test_a_long_read_tells_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()

    def rows() -> Any:
        for number in range(2001):
            clock.advance(0.0011)
            yield Row({"id": str(number)})

    assert sum(1 for _ in command._telling(clock)(rows())) == 2001
    assert capsys.readouterr().err == "2000 rows\n"


def test_many_objects_are_cut_in_the_text_and_complete_in_json(run: Run) -> None:
    scene = Shop(*(f"r{n:02},r{n:02}.example.com,x" for n in range(30)), maxNew=7)
    done = run(scene, "preview", "customers", "-n", NAMESPACE)
    assert done.stdout.count("  + TenantClaim") == 20
    assert "    and 10 more (-o json has all)\n" in done.stdout
    assert "  7 of them at the next read, then the others: maxNew" in done.stdout
    assert len(previewed(run, scene)["create"]) == 30
