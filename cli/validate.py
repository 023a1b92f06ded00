"""`edgetenants validate`: what is wrong with claims, plans and managed resources, with file and line."""

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
@takes_files("As FILES.")
@click.option(
    "--plans",
    "plan_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Plans that claims are held against: a Composition or TenantPlans; EnvironmentConfigs beside them.",
)
@takes_form(Form.TEXT, Form.JSON, Form.YAML)
def validate(files: tuple[Path, ...], plan_files: tuple[Path, ...], form: Form) -> None:
    """Say what is wrong with claims, plans, managed resources and provider configs, without any server.

    FILES are YAML files, folders with all that is below them, or - for standard input. Kinds that are not
    ours are passed over. Exits with 1 when something is wrong, 2 when a file cannot be read or there is
    nothing to look at.
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
    click.echo(f"{len(checked)} objects looked at, {len(wrong)} problems", err=True)
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
