"""`edgetenants render`: options and help. It imports cli/render.py when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from cli.files import takes_files
from cli.forms import Form, takes_form

__all__ = ["render"]

_COMPOSED_NAME: Final = "crossplane.io/composition-resource-name"


@click.command()
@takes_files("TenantClaims, and plans unless --plans is set. - is standard input.")
@click.option(
    "--plans", "plan_files", multiple=True, type=click.Path(path_type=Path),
    help="File with a Composition or TenantPlans. Default: the plans in FILES, or else the Composition that "
    "comes with edgetenants.",
)  # fmt: skip
@click.option(
    "--required", "required_files", multiple=True, type=click.Path(path_type=Path),
    help="File with the EnvironmentConfigs that plansFrom refers to. They may also be in the other "
    "files.",
)  # fmt: skip
@click.option(
    "--observed", "observed_files", multiple=True, type=click.Path(path_type=Path),
    help=f"File with composed resources from a cluster, with the annotation {_COMPOSED_NAME}. "
    "Each is matched to its claim.",
)  # fmt: skip
@takes_form(Form.YAML, Form.JSON)
@click.option(
    "--why/--no-why", default=True, show_default=True, help="Print the source of each value in comments."
)
def render(
    files: tuple[Path, ...],
    plan_files: tuple[Path, ...],
    required_files: tuple[Path, ...],
    observed_files: tuple[Path, ...],
    form: Form,
    why: bool,
) -> None:
    """Print the status and composed resources of each claim, with its conditions and the reasons.

    In YAML, everything that is not an object is a comment. JSON is one List of the objects; events go to
    standard error, and the reasons are omitted. The exit code is 1 if a claim is refused.
    """
    from cli.render import run

    run(files, plan_files, required_files, observed_files, form, why)
