"""`edgetenants`: what people run. Wires; what is done stands in `function` and `sandbox`."""

from __future__ import annotations

import sys

import click

from cli.demo import demo
from cli.importing import import_
from cli.plan import plan
from cli.render import render
from cli.sandbox import sandbox
from cli.validate import validate

__all__ = ["cli", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="edgetenants")
def cli() -> None:
    """A domain of its own for each customer of a SaaS, from one small Kubernetes object."""


cli.add_command(render)
cli.add_command(validate)
cli.add_command(plan)
cli.add_command(import_)
cli.add_command(sandbox)
cli.add_command(demo)


def main() -> None:
    """The console script."""
    cli(prog_name="edgetenants")


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[func-returns-value]  # click exits by itself
