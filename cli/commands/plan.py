"""`edgetenants plan`: options and help. It imports cli/plan.py when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from cli.files import takes_files, trusts_teams
from cli.forms import Form, takes_form

__all__ = ["plan"]


@click.command()
@takes_files(
    "DistributionTenants and ConnectionGroups, from kubectl get -o yaml or from your repository. - is "
    "standard input."
)
@click.option(
    "--provider-config", "config_files", multiple=True, type=click.Path(path_type=Path),
    help="File with the provider configs of the resources, and their Secrets. Default: AWS's usual "
    "environment variables and files.",
)  # fmt: skip
@click.option(
    "--installation-id", envvar="EDGETENANTS_INSTALLATION_ID", default="", metavar="ID",
    help="The provider's installation id, part of each owner tag. Default: the id in the tenant's owner tag.",
)  # fmt: skip
@click.option(
    "--drift-policy", type=click.Choice(["Enforce", "Report", "Suspend"]), default="Enforce",
    show_default=True, help="The provider's --drift-policy.",
)  # fmt: skip
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path),
    help="Read the other managed resources from this cluster. Default: the cluster that kubectl would use.",
)  # fmt: skip
@click.option("--context", help="The context of the kubeconfig to use.")
@trusts_teams
@takes_form(Form.TEXT, Form.JSON, Form.YAML)
def plan(  # noqa: PLR0913, PLR0917 - one for each option
    files: tuple[Path, ...],
    config_files: tuple[Path, ...],
    installation_id: str,
    drift_policy: str,
    kubeconfig: Path | None,
    context: str | None,
    form: Form,
    *,
    trusted: bool,
) -> None:
    """Show the calls to AWS that the provider would make, with their parameters and reasons. It changes
    nothing.

    The command reads AWS, and lists the other managed resources in the cluster. The output says what it could
    not read. A resource without status, such as one from a repository, is planned as if it were just applied.
    The exit code is 1 if the provider would refuse a resource, and 2 if a file cannot be read.
    """
    from cli.plan import run

    run(files, config_files, installation_id, drift_policy, kubeconfig, context, form, trusted=trusted)
