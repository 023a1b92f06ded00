"""`edgetenants import`: writes manifests for the existing tenants of a distribution."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from apis.errors import visible
from cli import output
from cli.aws import NoConfig, Reach
from cli.documents import UnreadableFile, read_all
from cli.forms import Form
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.errors import ExternalError, NotYet
from provider.cloudfront.adoption import inventory, manifests
from provider.cloudfront.adoption.inventory import patiently
from provider.cloudfront.adoption.manifests import Holder, Shape
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["run"]

_EVERY = 100
"""How many tenants are processed between two progress messages."""


def run(distribution: str, config_files: tuple[Path, ...], **chosen: Any) -> None:
    """See the command, in cli/commands. Ends the process with the command's exit code."""
    try:
        reach = Reach(read_all(config_files), _tell, rate=chosen["rate"], trusted=chosen["trusted"])
        config, account = reach.only()
        key = config.key if config_files else manifests.DEFAULT_CONFIG
        key = replace(key, name=chosen["config_name"] or key.name)
        shape = Shape("" if chosen["legacy"] else chosen["namespace"], key, chosen["full"])
        work = _Work(account.cloudfront, reach.accounts.clock, shape, chosen["skip_managed"], chosen["form"])
        _write(work, distribution, chosen["out"])
    except (UnreadableFile, NoConfig) as error:
        raise click.UsageError(visible(str(error))) from error
    except (ExternalError, NotYet, AwsError) as error:
        raise click.ClickException(visible(str(error))) from error


@dataclass
class _Work:
    """Writes the manifests of tenants, one after the other."""

    cloudfront: CloudFront
    clock: Clock
    shape: Shape
    skip_managed: bool
    form: Form
    counts: Counter[str] = field(default_factory=Counter)
    blind: bool = False
    """The tags cannot be read, and a message has been printed."""

    def manifest(self, listed: ObservedTenant) -> str | None:
        """The manifest of a tenant as text; None if the tenant is left out or was deleted in the meantime."""
        try:
            tenant = self._look(listed)
        except AwsError as error:
            if not error.absent:
                raise
            self.counts["deleted in the meantime"] += 1
            return None
        holder, tag = manifests.holder(tenant.tags)
        self.counts[f"held by {holder.value}"] += 1
        if self.skip_managed and holder is not Holder.NO_ONE:
            return None
        made = manifests.manifest(tenant, self.shape)
        who = f"managed by {holder.value}: {tag}" if tag else ""
        if self.form is Form.YAML:
            told = output.comment(who) if who else ""
            return f"---\n{told}{output.manifest(made)}"
        if who:
            _tell(f"{tenant.name} is {who}")
        return output.structured(made, self.form)

    def file(self, tenant: ObservedTenant) -> str:
        """The file name of a tenant's manifest."""
        return f"{manifests.object_name(tenant)}.{self.form.value}"

    def _look(self, listed: ObservedTenant) -> ObservedTenant:
        tenant = listed
        if self.shape.full:
            tenant = patiently(lambda: self.cloudfront.get_tenant(listed.id), self.clock)
        return replace(tenant, tags=self._tags(listed))

    def _tags(self, tenant: ObservedTenant) -> dict[str, str] | None:
        if self.blind:
            return None
        try:
            return patiently(lambda: self.cloudfront.tags(tenant.arn), self.clock)
        except AwsError as error:
            if error.absent or error.code != "AccessDenied":
                raise
            _tell(
                f"cannot read tags, so the owners of the tenants are unknown; all are only observed: {error}"
            )
            self.blind = True
            return None


def _write(work: _Work, distribution: str, out: Path | None) -> None:
    found = inventory.tenants(
        work.cloudfront, distribution, work.clock, lambda known: _tell(f"{known} tenants found")
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for tenant, text in _made(work, found, out):
        if out is None:
            click.echo(text, nl=False)
        else:
            _place(out / work.file(tenant), text.removeprefix("---\n"))
    told = ", ".join(f"{number} {what}" for what, number in sorted(work.counts.items()))
    _tell(f"done: {len(found)} tenants of {distribution}" + (f": {told}" if told else ""))


def _made(
    work: _Work, found: Sequence[ObservedTenant], out: Path | None
) -> Iterator[tuple[ObservedTenant, str]]:
    for number, tenant in enumerate(found, 1):
        if out is not None and (out / work.file(tenant)).exists():
            work.counts["already written"] += 1
        elif (text := work.manifest(tenant)) is not None:
            yield tenant, text
        if number % _EVERY == 0:
            _tell(f"{number} of {len(found)}")


def _place(path: Path, text: str) -> None:
    # Existing files are not rewritten, so a file must never be incomplete.
    half = path.with_suffix(".part")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def _tell(text: str) -> None:
    click.echo(visible(text), file=sys.stderr)
