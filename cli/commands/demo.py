"""`edgetenants demo`."""

from __future__ import annotations

import sys

import click

from sandbox.state import default_cache

__all__ = ["demo"]


@click.command()
@click.option("--packages", is_flag=True, help="Install the packages with Crossplane's package manager.")
@click.option("--keep", is_flag=True, help="Keep the sandbox running, and print commands to explore it.")
def demo(keep: bool, packages: bool) -> None:
    """Watch a claim become a live tenant, change, drift, be repaired and be deleted.

    The exit code is 1 if a step fails or if anything is left at the end. The report is
    CACHE/demo/report.json.
    """
    from sandbox.demo import run

    sys.exit(run(cache=default_cache(), keep=keep, packages=packages))
