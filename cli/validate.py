"""`edgetenants validate`: checks claims, plans and managed resources, and reports file and line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from apis.errors import InvalidInput, visible
from cli.checks import Checked, check
from cli.documents import UnreadableFile, gather, read_all
from cli.files import takes_files
from cli.output import Form, structured, takes_form

__all__ = ["validate"]


@click.command()
@takes_files("Same as FILES.")
@click.option(
    "--plans",
    "plan_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Check claims against these plans: a Composition or TenantPlans, and their EnvironmentConfigs.",
)
@takes_form(Form.TEXT, Form.JSON, Form.YAML)
def validate(files: tuple[Path, ...], plan_files: tuple[Path, ...], form: Form) -> None:
    """Check claims, plans, managed resources and provider configs, without a server.

    FILES are YAML files, folders (including subfolders), or - for standard input. Objects of other kinds are
    ignored. The exit code is 1 if there are problems, and 2 if a file cannot be read or there is nothing to
    check.
    """
    documents, unreadable = gather(files)
    try:
        checked = check(documents, read_all(plan_files))
    except (UnreadableFile, InvalidInput) as error:
        raise click.UsageError(visible(f"--plans: {error}")) from error
    if form is Form.TEXT:
        _tell(checked, unreadable)
    else:
        click.echo(structured(_found(checked, unreadable), form), nl=False)
    if unreadable or not checked:
        sys.exit(2)
    sys.exit(1 if any(each.problems for each in checked) else 0)


def _tell(checked: Sequence[Checked], unreadable: Sequence[UnreadableFile]) -> None:
    wrong = [(each.document, problem) for each in checked for problem in each.problems]
    for document, problem in wrong:
        place = document.place(problem.path)
        click.echo(visible(f"{place}: {document.kind} {document.name}: {problem}"))
    for error in unreadable:
        click.echo(visible(f"Error: {error}"), err=True)
    click.echo(f"{len(checked)} objects checked, {len(wrong)} problems", err=True)
    if not checked:
        click.echo("Error: expected claims, plans, managed resources or provider configs, got none", err=True)


def _found(checked: Sequence[Checked], unreadable: Sequence[UnreadableFile]) -> dict[str, Any]:
    problems = [
        {
            "file": each.document.file,
            "object": f"{each.document.kind} {each.document.name}",
            "place": each.document.place(problem.path),
            "path": problem.path,
            "problem": str(problem),
        }
        for each in checked
        for problem in each.problems
    ]
    return {"objects": len(checked), "problems": problems, "unreadable": [str(each) for each in unreadable]}
