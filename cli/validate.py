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
from cli.forms import Form
from cli.output import structured

__all__ = ["run"]


def run(files: tuple[Path, ...], plan_files: tuple[Path, ...], form: Form) -> None:
    """See the command, in cli/commands. Ends the process with the command's exit code."""
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
