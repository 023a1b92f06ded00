"""What is printed parses to what was meant, whatever it holds: by PyYAML's two parsers, and line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli import output
from cli.forms import Form
from cli.logs import to_stderr
from cli.main import cli
from function import offline
from function.protocol import structs

PARSERS = [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)]
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
"""All that Python, YAML 1.1, a terminal or a reader of logs ends a line with."""
PIECES = [
    *BREAKS,
    *("---", "...", "# ", " #", ": ", "- ", "? ", "|", ">", "|2\n  ", "&a ", "*a", "!!set ", "%YAML 1.1"),
    *("'", '"', "\\", "{", "}", "[", "]", ",", "@", "`", "~", " ", "  ", "\t", "<<", "="),
    *("\x00", "\x1b[2J", "\x7f", "\ufeff", "\u202e", "\u200b", "\xa0", "\xad", "\ue000", "\ufffe"),
    *("\U0001f600", "ü", "kind: ClusterRoleBinding", "::error::"),
    *("y", "No", "on", "null", "1e3", "0o7", "017", "1:30", "1_0", ".5", ".inf", "2026-11-22"),
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=6).map("".join)
numbers = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(texts, st.none(), st.booleans(), numbers),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(texts, below, max_size=4)),
    max_leaves=12,
)
quick = settings(max_examples=300, deadline=None, database=None, derandomize=True)


def parsed(text: str) -> list[Any]:
    """What each parser makes of it, which is the same."""
    by_each = [list(yaml.load_all(text, Loader=parser)) for parser in PARSERS]
    assert by_each[0] == by_each[1]
    return by_each[0]


def assert_nothing_is_hidden(text: str) -> None:
    lines = text.split("\n")
    assert text.splitlines() == (lines[:-1] if lines[-1] == "" else lines)
    assert [line for line in lines if not line.isprintable()] == []


@quick
@given(st.dictionaries(texts, values, max_size=5))
def test_an_object_is_what_it_was(value: dict[str, Any]) -> None:
    text = output.manifest(value)

    assert parsed(text) == [value]
    assert_nothing_is_hidden(text)


@quick
@given(texts)
def test_a_comment_is_one_comment(text: str) -> None:
    comment = output.comment(text)

    assert (comment.count("\n"), comment[:2]) == (1, "# ")
    assert_nothing_is_hidden(comment)
    assert parsed(f"{comment}a: 1\n") == [{"a": 1}]


def test_nothing_is_shared_by_an_alias() -> None:
    part = {"a": ["b"]}
    assert "&" not in output.manifest({"one": part, "two": part})


@pytest.mark.parametrize(
    "word", ["y", "No", "1e3", "0o17", "1:30", "2026-11-22", "=", "<<", ".inf", "1_000", ""]
)
def test_what_some_reader_takes_for_no_text_is_quoted(word: str) -> None:
    # kubectl's parser knows more words and numbers than PyYAML's.
    assert output.manifest({"a": word}) == f'a: "{word}"\n'


def claim(name: str, pairs: dict[str, str], plan: str) -> dict[str, Any]:
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {"name": name or "a", "namespace": name, "labels": pairs, "annotations": pairs},
        "spec": {
            "plan": plan,
            "domains": ["a.example.com"],
            "parameters": {f"p{number}": text for number, text in enumerate(pairs.values())},
        },
    }


PLANS = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "plans": {
        "gold": {
            "distributionId": "E1GOLD",
            "allow": {"override": ["parameters"]},
            "tagsFromLabels": PIECES[:20],
        }
    },
}
ESCAPES = {"team": "a\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nx: |2"}


@quick
@given(
    st.text(max_size=3) | texts,
    st.dictionaries(texts, texts.map(lambda text: text[:256] or "x"), max_size=3),
    st.just("gold") | texts,
)
@example("acme", ESCAPES, "gold")
@example("acme", {"\n": "\u2028kind: Role"}, "gold")
@example("a\x85kind: Role", {}, "gold")
def test_a_claim_is_rendered_to_its_objects_and_to_nothing_else(name: str, pairs: Any, plan: str) -> None:
    asked = claim(name, pairs, plan)
    pricelist = offline.Pricelist(PLANS)
    meant = offline.run(offline.request(asked, pricelist), ()).response.desired

    text = yaml.safe_dump_all([asked, PLANS], default_style='"')
    done = CliRunner().invoke(cli, ["render", "-"], input=text)

    assert done.exit_code in (0, 1), done.output
    assert_nothing_is_hidden(done.output)
    shown, *composed = parsed(done.stdout)
    assert shown["metadata"] == asked["metadata"]
    assert set(shown) == {"apiVersion", "kind", "metadata", "status"}
    assert composed == [
        offline.composed(called, structs.plain_object(each.resource), asked)
        for called, each in meant.resources.items()
    ]


def test_no_text_fakes_a_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    to_stderr()
    try:
        structlog.get_logger().warning("seen", owner="a\n::error::b\u2028", tries=2)
    finally:
        structlog.reset_defaults()

    told = capsys.readouterr().err
    assert (told.count("\n"), "owner=a\\n::error::b\\u2028" in told, "tries=2" in told) == (1, True, True)


def test_no_text_fakes_a_line_of_validate(tmp_path: Path) -> None:
    asked = claim("a\n::error::b.yaml:1:1: TenantClaim b: expected nothing", {}, "gold\u2028")
    file = tmp_path / "claim.yaml"
    file.write_text(yaml.safe_dump(asked))

    done = CliRunner().invoke(cli, ["validate", str(file)])

    assert_nothing_is_hidden(done.output)
    assert [line.startswith(f"{file}:") for line in done.stdout.splitlines()] == [True] * done.stdout.count(
        "\n"
    )


@quick
@given(st.lists(st.dictionaries(texts, values, max_size=3), max_size=3))
def test_a_list_is_the_same_in_both_forms(value: list[Any]) -> None:
    assert parsed(output.structured(value, Form.YAML)) == [value]
    assert json.loads(output.structured(value, Form.JSON)) == value
    assert output.structured(value, Form.JSON).isascii()


PRINT = [["plan"], ["render"], ["validate"], ["import"], ["sandbox", "status"], ["sandbox", "inventory"]]


@pytest.mark.parametrize("command", PRINT, ids=" ".join)
def test_what_prints_objects_prints_them_as_json_and_yaml(command: list[str]) -> None:
    shown = CliRunner().invoke(cli, [*command, "-h"]).output
    assert "-o, --output [" in shown
    assert "json" in shown
    assert "yaml" in shown
    refused = CliRunner().invoke(cli, [*command, "-o", "xml"])
    assert refused.exit_code == 2
    assert "'xml' is not one of" in refused.output
