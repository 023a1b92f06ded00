"""The pages for those who write plans and Compositions: objects on them are valid, fragments of objects stand
in an example as they are quoted, and what they say of commands and files is there."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from apis import tenantplans
from cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
HOW_TO = ROOT / "docs" / "how-to"
PAGES = [HOW_TO / "write-your-own-composition.md", HOW_TO / "author-plans.md"]
OTHERS = [HOW_TO / "use-crossplane-v1.md", ROOT / "README.md"]
READMES = [ROOT / "examples" / "README.md", *sorted((ROOT / "examples").glob("*/README.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def _is_object(block: str) -> bool:
    return block.startswith("apiVersion:")


def _blocks(*, whole: bool) -> Iterator[Any]:
    for page in PAGES:
        for number, block in enumerate(blocks(page)):
            if _is_object(block) is whole:
                yield pytest.param(block, id=f"{page.stem}: {number}")


@pytest.mark.parametrize("block", list(_blocks(whole=True)))
def test_an_object_is_valid(block: str, tmp_path: Path) -> None:
    file = tmp_path / "object.yaml"
    file.write_text(block)
    done = CliRunner().invoke(cli, ["validate", str(file)])
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    assert "1 objects checked" in done.output


def _examples() -> str:
    return "\n".join(path.read_text() for path in (ROOT / "examples").glob("*/composition*.yaml"))


@pytest.mark.parametrize("block", list(_blocks(whole=False)))
def test_a_fragment_is_quoted_from_an_example_or_is_an_input(block: str) -> None:
    if block.startswith("plansFrom:"):
        tenantplans.parse(yaml.safe_load(block))
        return
    assert block in _examples()


def test_what_a_refusal_looks_like_is_what_it_looks_like() -> None:
    page = (HOW_TO / "author-plans.md").read_text()
    assert (ROOT / "examples" / "plans" / "refused.txt").read_text() in page


def test_python_on_the_page_is_python() -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGES[0].read_text(), re.MULTILINE | re.DOTALL)
    compile(textwrap.dedent(source), "page", "exec")


@pytest.mark.parametrize(
    "page", [*PAGES, *OTHERS, *READMES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]*)(?:#[^)]*)?\)", page.read_text()):
        assert not target or (page.parent / target).exists(), target
