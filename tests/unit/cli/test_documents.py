"""YAML files are read as kubectl reads them, each once and by the fastest parser; what it would drop is a
flaw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.documents import Document, UnreadableFile, gather, read_all
from cli.main import cli

CLAIM = """\
apiVersion: platform.edgetenants.io/v1alpha1
kind: TenantClaim
metadata: {name: acme, namespace: shop}
spec: {plan: gold, domains: [a.example.com]}
"""


def read(tmp_path: Path, text: str) -> Document:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    (document,), unreadable = gather([file])
    assert unreadable == []
    return document


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        # What sigs.k8s.io/yaml v1.6.0 makes of each, by which kubectl reads.
        ("2026-11-22", "2026-11-22"),
        ("2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z"),
        ("!!timestamp 2026-11-22", "2026-11-22"),
        ("1:30", "1:30"),
        ("1.2.3.4", "1.2.3.4"),
        ("=", "="),
        ("y", True),
        ("No", False),
        ("yEs", "yEs"),
        ("~", None),
        ("1e3", 1000),
        ("1_000", 1000),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("-0b11", -3),
        ("0x1F", 31),
        ("0x", "0x"),
        ("-", [None]),
        ("+", "+"),
        (".5", 0.5),
        ("1.", 1),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("0xFFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFFF"),
        ("1e400", "1e400"),
        pytest.param("9" * 5000, "9" * 5000, id="5000 digits"),
        ("!!str 1", "1"),
        ('!!int "3"', 3),
        ("{1: a, true: b, 1.5: c, 2026-11-22: d}", {"1": "a", "true": "b", "1.5": "c", "2026-11-22": "d"}),
        ("{<<: [{a: 1, b: 1}, {a: 2, c: 3}], b: 0}", {"a": 1, "b": 0, "c": 3}),
        ('{"<<": {a: 1}}', {"<<": {"a": 1}}),
        ("[&a {b: c}, *a]", [{"b": "c"}, {"b": "c"}]),
    ],
)
def test_a_value_is_what_kubectl_makes_of_it(tmp_path: Path, written: str, read_as: Any) -> None:
    document = read(tmp_path, f"a: {written}\n" if written != "-" else "a:\n-\n")

    assert document.flaws == ()
    assert document.value == {"a": read_as}
    assert type(document.value["a"]) is type(read_as)


@pytest.mark.parametrize(
    ("written", "flaw"),
    [
        ("a: !!binary aGk=", "1:4 a: expected a JSON value, got the tag !!binary"),
        ("a: !!set {b, c}", "1:4 a: expected a JSON value, got the tag !!set"),
        ("a: [!Ref b]", "1:5 a[0]: expected a JSON value, got the tag !Ref"),
        ("a: .nan", "1:4 a: expected a JSON number, got .nan"),
        ("a: {b: -.inf}", "1:8 a.b: expected a JSON number, got -.inf"),
        ("a: !!int b", "1:4 a: expected a value of !!int, got b"),
        ("a: {~: b}", "1:4 a: expected strings as keys, got ~"),
        ("a: {[b]: c}", "1:4 a: expected strings as keys, got an object or a list"),
        ("a: {<<: b}", "1:4 a: expected an object or a list of objects after <<, got something else"),
        ("a: b\nc: d\na: e", "3:4 a: expected each field once, got it twice (first on line 1)"),
        ("a: {b c: 1, b c: 2}", '1:18 a["b c"]: expected each field once, got it twice (first on line 1)'),
        ('a: {1: b, "1": c}', '1:16 a["1"]: expected each field once, got it twice (first on line 1)'),
    ],
)
def test_what_kubectl_drops_or_changes_is_a_flaw(tmp_path: Path, written: str, flaw: str) -> None:
    document = read(tmp_path, written)

    told = [f"{document.place(each.path).split(':', 1)[1]} {each}" for each in document.flaws]
    assert told == [flaw]
    with pytest.raises(UnreadableFile, match="expected"):
        read_all([Path(document.file)])


def test_of_two_equal_keys_the_last_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "a: {b: 1, b: 2}").value == {"a": {"b": 2}}


DOUBLED = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 18))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DOUBLED, "invalid YAML: aliases repeat more than 100000 values"),
        ("a: &a [*a]", "1:4: invalid YAML: nested deeper than 200 levels"),
        ("a: " + "[" * 201 + "]" * 201, "invalid YAML: nested deeper than 200 levels"),
        ("a: " + "[" * 100_000, "invalid YAML: "),
        ('a: "\\ud800"', "invalid YAML: "),
        ("a: [", "1:5: invalid YAML"),
        ("kind: List\nitems: [{a: b}]\nitems: []", "3:8: items: expected each field once"),
        ("kind: List\nitems: [a]", "2:9: expected an object, got 'a'"),
        ("a: b\n--- !!set {a}", "2:5: expected an object, got None"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)

    documents, (error,) = gather([file])

    assert (documents, told in str(error)) == ([], True), str(error)


def test_flaws_of_a_list_are_those_of_its_items(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("kind: List\nitems:\n- a: 1\n-\n- b: {c: 1,\n       c: 2}\n")

    (first, second), _ = gather([file])

    assert (first.value, first.flaws) == ({"a": 1}, ())
    (flaw,) = second.flaws
    assert (flaw.path, second.place(flaw.path)) == ("b.c", f"{file}:6:11")


def test_a_folder_is_read_with_what_is_below_it(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/c/d.json", "a/c/notes.txt", ".git/e.yaml", "a/.f.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{{"file": "{name}"}}')
    (tmp_path / "a/loop").symlink_to(tmp_path)

    assert [each.value["file"] for each in read_all([tmp_path])] == ["b.yaml", "a/z.yml", "a/c/d.json"]


def test_what_cannot_be_read_hides_nothing(tmp_path: Path) -> None:
    for name, text in (("a.yaml", "["), ("b.yaml", "a: b"), ("c.yaml", "- 1")):
        (tmp_path / name).write_text(text)

    documents, unreadable = gather([tmp_path, tmp_path / "none.yaml"])

    assert [each.value for each in documents] == [{"a": "b"}]
    assert [Path(str(each).split(":")[0]).name for each in unreadable] == ["a.yaml", "c.yaml", "none.yaml"]


def test_standard_input_is_utf_8_whatever_the_terminal_is() -> None:
    done = CliRunner(charset="latin-1").invoke(cli, ["validate", "-"], input="a: ü".encode("latin-1"))
    assert done.exit_code == 2
    assert "-: invalid UTF-8: " in done.output


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(
    st.recursive(
        st.one_of(st.text(), st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1)),
        lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    )
)
def test_what_pyyaml_writes_is_read(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    file = tmp_path_factory.getbasetemp() / "written.yaml"
    # In quotes, as kubectl knows more words than PyYAML.
    texts = yaml.dump({"a": value}, Dumper=_Quoting, allow_unicode=True)
    file.write_text(texts, encoding="utf-8", newline="")

    (document,) = read_all([file])

    assert document.value == {"a": value}


class _Quoting(yaml.SafeDumper):
    pass


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def test_files_are_read_once_and_by_the_c_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one takes seven times as long."""
    file = tmp_path / "claims.yaml"
    file.write_text(f"---\n{CLAIM}" * 3)
    loaders = []

    def compose_all(text: str, **options: Any) -> Any:
        loaders.append(options["Loader"])
        return composing(text, **options)

    composing = yaml.compose_all
    monkeypatch.setattr(yaml, "compose_all", compose_all)
    assert len(read_all([file])) == 3
    parsers = [issubclass(each, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) for each in loaders]
    assert parsers == [True]
