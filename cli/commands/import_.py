"""`edgetenants import`: options and help. It imports cli/importing.py when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.files import trusts_teams
from cli.forms import Form, takes_form

__all__ = ["import_"]


@click.command("import")
@click.option("--distribution", required=True, metavar="ID", help="The multi-tenant distribution.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path),
    help="Write one file for each tenant into this folder. Existing files are kept, so an interrupted run "
    "can be resumed. Default: standard output.",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="Write the whole spec, and manage tenants without an owner. Default: tenants are only observed.",
)  # fmt: skip
@click.option("--skip-managed", is_flag=True, help="Leave out tenants that are already managed.")
@click.option("--namespace", default="default", show_default=True, help="Namespace of the managed resources.")
@click.option("--legacy", is_flag=True, help="Write cluster-scoped managed resources.")
@click.option(
    "--provider-config", "config_files", multiple=True, type=click.Path(path_type=Path),
    help="File with one provider config and its Secret, for the AWS account. The manifests refer to this "
    "config. Default: AWS's usual environment variables and files.",
)  # fmt: skip
@click.option(
    "--config-name",
    default="",
    metavar="NAME",
    help="Provider config in the manifests. Default: the one of --provider-config, or else 'default'.",
)
@click.option(
    "--rate", type=click.FloatRange(0.1, 1000), default=5.0, show_default=True,
    metavar="NUMBER", help="Maximum requests per second to CloudFront.",
)  # fmt: skip
@trusts_teams
@takes_form(Form.YAML, Form.JSON)
def import_(distribution: str, config_files: tuple[Path, ...], **chosen: Any) -> None:
    """Write a DistributionTenant for every tenant of a distribution. Changes nothing in AWS.

    By default, the manifests only observe. Apply them, check status.atProvider, and start to manage the
    tenants later. A tenant that already has an owner is always only observed, and a comment names its owner.
    The exit code is 1 if AWS refuses a request.
    """
    from cli.importing import run

    run(distribution, config_files, **chosen)
