"""`edgetenants plan`: the calls that the provider would make for managed resources, and none of them made."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import yaml

from apis import kinds
from apis.drift import DriftPolicy
from cli.aws import NoConfig, Reach
from cli.documents import Document, UnreadableFile, read_all
from cli.files import takes_files
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import ExternalClient
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.policies import UnsupportedPolicies
from provider.cloudfront import identity
from provider.cloudfront.aws import Account
from provider.cloudfront.connectiongroup import GroupClient
from provider.cloudfront.context import Context
from provider.cloudfront.errors import AwsError
from provider.cloudfront.identity import OWNER_TAG
from provider.cloudfront.rehearsal import Recorder, Rehearsal, rehearse
from provider.cloudfront.tenant import TenantClient

__all__ = ["plan"]

_CLIENTS: Final[Mapping[str, Callable[[Context], ExternalClient]]] = {
    "DistributionTenant": TenantClient,
    "ConnectionGroup": GroupClient,
}
_GROUPS: Final = {kind.api_version for kind in (kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT)}
_UNKNOWN_INSTALLATION = "(installation)"


@dataclass(frozen=True)
class _Row:
    """One managed resource and what would become of it."""

    document: Document
    account: str
    rehearsal: Rehearsal
    problem: str = ""

    @property
    def title(self) -> str:
        namespace = self.document.metadata.get("namespace")
        name = f"{namespace}/{self.document.name}" if namespace else self.document.name
        return f"{self.document.kind} {name}"

    @property
    def refusal(self) -> str:
        """Why it would stop, "" where it would not."""
        return self.problem or (str(self.rehearsal.refusal) if self.rehearsal.refusal else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "object": self.title,
            "file": self.document.file,
            "account": self.account,
            "calls": [
                {"action": c.action, "operation": c.operation, "why": c.why, "parameters": c.parameters}
                for c in self.rehearsal.calls
            ],
            "diff": [vars(each) for each in self.rehearsal.diff],
            "refusal": self.refusal,
        }


@click.command()
@takes_files(
    "DistributionTenants and ConnectionGroups, from kubectl get -o yaml or from your repository; - is "
    "standard input."
)
@click.option(
    "--provider-config", "config_files", multiple=True, type=click.Path(path_type=Path),
    help="The provider configs that they name, and their Secrets. Without it, AWS's usual environment "
    "variables and files say which account is meant.",
)  # fmt: skip
@click.option(
    "--installation-id", envvar="EDGETENANTS_INSTALLATION_ID", default="", metavar="ID",
    help="The provider's, which is part of each owner tag. Without it, that on the tenant is believed.",
)  # fmt: skip
@click.option(
    "--drift-policy", type=click.Choice([policy.value for policy in DriftPolicy]),
    default=DriftPolicy.ENFORCE.value, show_default=True, help="As the provider's flag.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def plan(
    files: tuple[Path, ...],
    config_files: tuple[Path, ...],
    installation_id: str,
    drift_policy: str,
    as_json: bool,
) -> None:
    """Show the calls to AWS that the provider would make, with their parameters and why. Makes none that
    writes.

    AWS is looked at for real. A resource without status, from a repository, is planned as one that is applied
    anew. Exits with 1 when a resource would be refused, 2 when a file cannot be read.
    """
    try:
        documents, configs = read_all(files), read_all(config_files)
    except UnreadableFile as error:
        raise click.UsageError(str(error)) from error
    reach = Reach(configs, _note)
    policy = DriftPolicy(drift_policy)
    rows = list(_planned(documents, reach, installation_id, policy))
    if not rows:
        raise click.UsageError(f"expected at least one {' or '.join(_CLIENTS)} in -f")
    if as_json:
        click.echo(json.dumps([row.to_json() for row in rows], indent=2, ensure_ascii=False))
    else:
        for row in rows:
            _show(row)
    sys.exit(1 if any(row.refusal for row in rows) else 0)


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


def _planned(
    documents: list[Document], reach: Reach, installation: str, policy: DriftPolicy
) -> Iterator[_Row]:
    for document in documents:
        if document.api_version not in _GROUPS or document.kind not in _CLIENTS:
            _note(f"{document.kind} {document.name} is none of {', '.join(_CLIENTS)}, and is passed over")
            continue
        yield _row(document, reach, installation, policy)


def _row(document: Document, reach: Reach, installation: str, policy: DriftPolicy) -> _Row:
    mr = _managed(document)
    try:
        config, account = reach.account(mr.provider_config_ref)
        recorder = Recorder(account.cloudfront)
        context = Context(
            cloudfront=recorder.as_cloudfront,
            memory=account.rehearsals,
            installation=installation or _installation(mr, account),
            account=account.id,
            config=str(config.key),
            drift_policy=policy,
        )
        return _Row(document, account.id or "", rehearse(_CLIENTS[document.kind](context), mr, recorder))
    except (NoConfig, ExternalError, NotYet, UnsupportedPolicies) as error:
        return _Row(document, "", Rehearsal(), str(error))


def _managed(document: Document) -> Managed:
    mr = Managed(document.value)
    return mr if mr.external_name else mr.with_annotations({EXTERNAL_NAME: mr.name})


def _installation(mr: Managed, account: Account) -> str:
    """The installation of the owner that the tenant names, if the rest of the name is this resource's."""
    owner = (mr.at_provider.get("tags") or {}).get(OWNER_TAG) or _owner(mr, account)
    name = mr.at_provider.get("name") or mr.external_name
    mine = identity.owner_of(mr, "", str(name))
    return owner.removesuffix(mine) if owner.endswith(mine) and owner != mine else _UNKNOWN_INSTALLATION


def _owner(mr: Managed, account: Account) -> str:
    get = account.cloudfront.get_group if mr.kind == "ConnectionGroup" else account.cloudfront.get_tenant
    try:
        return account.cloudfront.tags(get(str(mr.external_name)).arn).get(OWNER_TAG, "")
    except AwsError:  # the plan comes upon it, too, and tells it
        return ""


def _show(row: _Row) -> None:
    where = f"  # AWS account {row.account}" if row.account else ""
    click.echo(f"{row.title}{where}")
    for number, call in enumerate(row.rehearsal.calls, 1):
        click.echo(f"  {number}. {call.operation} ({call.action})")
        click.echo(f"     why: {call.why}")
        text = yaml.safe_dump(call.parameters, sort_keys=False, allow_unicode=True, width=110)
        click.echo("".join(f"     {line}\n" for line in text.splitlines()), nl=False)
    if row.refusal:
        click.echo(f"  stops: {row.refusal}")
    elif not row.rehearsal.calls:
        click.echo("  nothing to do")
