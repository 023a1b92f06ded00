"""`edgetenants dns`: options and help. It imports cli/dns.py when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from cli.forms import Form, takes_form

__all__ = ["dns"]


@click.command()
@click.argument("claim")
@click.option("-n", "--namespace", default="default", show_default=True, help="The claim's namespace.")
@click.option(
    "--resolver", "resolvers", multiple=True, metavar="ADDRESS[:PORT]",
    help="Ask this DNS resolver, such as 192.0.2.53:5353 or [2001:db8::53]:5353. Default: those of "
    "/etc/resolv.conf.",
)  # fmt: skip
@click.option(
    "--authoritative", is_flag=True,
    help="Ask the name servers of the zone, which have a change at once. The resolvers say which they are.",
)  # fmt: skip
@click.option("--no-lookup", is_flag=True, help="Do not ask DNS; show the states in the claim's status.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Default: the kubeconfig that kubectl would use."
)
@click.option("--context", help="The context of the kubeconfig to use.")
@takes_form(Form.TEXT, Form.JSON, Form.YAML, Form.ZONE, Form.ROUTE53, Form.TERRAFORM)
def dns(  # noqa: PLR0913, PLR0917 - one for each option
    claim: str,
    namespace: str,
    resolvers: tuple[str, ...],
    authoritative: bool,
    no_lookup: bool,
    kubeconfig: Path | None,
    context: str | None,
    form: Form,
) -> None:
    """Show a claim's DNS records, what DNS answers for each, and what to paste where one is missing.

    The command reads the claim in the cluster and asks DNS. It changes nothing. Lines of a zone file (zone),
    a change batch (route53) and Terraform blocks (terraform) have the records that are yours to make. The
    exit code is 0 if every record is present, 1 if one is not or is not known, and 2 after an error.
    """
    from cli.dns import Asked, run

    run(Asked(claim, namespace, resolvers, authoritative, not no_lookup), kubeconfig, context, form)
