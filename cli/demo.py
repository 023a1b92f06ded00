"""`edgetenants demo`."""

from __future__ import annotations

import sys

import click

from sandbox.state import default_cache

__all__ = ["demo"]


@click.command()
@click.option("--keep", is_flag=True, help="Leave the world up, and say how to look around.")
def demo(keep: bool) -> None:
    """Watch a claim become a live tenant, be changed, drift, be repaired and be deleted.

    Exits with 1 when a step does not come about or anything is left over; the report is
    CACHE/demo/report.json.
    """
    from sandbox.demo import run  # noqa: PLC0415 - draws in what only the demo needs

    sys.exit(run(cache=default_cache(), keep=keep))
