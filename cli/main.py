"""The command line `edgetenants`. It only registers the commands.

The modules in `commands` have options and help. What a command does is imported when it runs, because it
takes up to a second to load; `--version`, `-h` and shell completion import none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem

__all__ = ["cli", "main"]

_COMMANDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "demo": (
        "cli.commands.demo",
        "demo",
        "Watch a claim become a live tenant, change, drift and be deleted.",
    ),
    "dns": ("cli.commands.dns", "dns", "Show a claim's DNS records, what DNS answers, and what to paste."),
    "import": (
        "cli.commands.import_",
        "import_",
        "Write a DistributionTenant for every tenant of a distribution.",
    ),
    "plan": ("cli.commands.plan", "plan", "Show the calls to AWS that the provider would make."),
    "render": ("cli.commands.render", "render", "Print the status and composed resources of claims."),
    "sandbox": (
        "cli.commands.sandbox",
        "sandbox",
        "Run a local environment: Crossplane, emulator, provider.",
    ),
    "source": (
        "cli.commands.source",
        "source",
        "Show what a TenantSource would do with its rows, and which are wrong.",
    ),
    "validate": (
        "cli.commands.validate",
        "validate",
        "Check claims, plans, managed resources and provider configs.",
    ),
}
"""By name: the module, the command in it, and its line in the list of commands."""


class _Commands(click.Group):
    """A group that imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, _, says) in sorted(_COMMANDS.items())])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = ((name, says) for name, (_, _, says) in sorted(_COMMANDS.items()))
        commands = [CompletionItem(name, help=says) for name, says in names if name.startswith(incomplete)]
        # The options of the group. click.Group's own completion would import each command.
        return [*commands, *super(click.Group, self).shell_complete(ctx, incomplete)]


_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@click.group(cls=_Commands, context_settings=_SETTINGS)
@click.version_option(package_name="edgetenants")
def cli() -> None:
    """Give each customer of a SaaS their own domains on CloudFront, with one TenantClaim."""


def main() -> None:
    """The console script."""
    cli(prog_name="edgetenants")


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[func-returns-value]  # click exits the process
