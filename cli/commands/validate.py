"""`edgetenants validate`: options and help. It imports cli/validate.py when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from cli.files import takes_files
from cli.forms import Form, takes_form

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
    from cli.validate import run

    run(files, plan_files, form)
