"""`edgetenants plan`: shows the calls that the provider would make for managed resources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from apis import kinds
from apis.drift import DriftPolicy
from apis.errors import Problem, shown, visible
from cli import output
from cli.aws import NoConfig, Reach
from cli.checks import check
from cli.cluster import NoCluster, connect, look
from cli.documents import Document, UnreadableFile, read_all
from cli.forms import Form
from cli.logs import to_stderr
from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import ExternalClient
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import UnsupportedPolicies
from provider.cloudfront.account.sessions import Account
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.clients.connection_group import GroupClient
from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.rehearsal.recorder import Recorder, Rehearsal, rehearse
from provider.cloudfront.rehearsal.sight import Sight
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView, Dependencies, Policy
from provider.cloudfront.state import identity
from provider.cloudfront.state.identity import OWNER_TAG

__all__ = ["run"]

_CLIENTS: Final[Mapping[str, Callable[[Dependencies], ExternalClient]]] = {
    "DistributionTenant": TenantClient,
    "ConnectionGroup": GroupClient,
}
_GROUPS: Final = {kind.api_version for kind in (kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT)}
_OBJECTS: Final = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("status",),
    ("status", "atProvider"),
    ("status", "applied"),
)
_UNKNOWN_INSTALLATION = "(installation)"


@dataclass(frozen=True)
class _Row:
    """The plan for one managed resource."""

    document: Document
    account: str
    rehearsal: Rehearsal
    problem: str = ""
    unseen: str = ""
    """What could not be read and is treated as absent."""

    @property
    def title(self) -> str:
        namespace = self.document.metadata.get("namespace")
        name = f"{namespace}/{self.document.name}" if namespace else self.document.name
        return f"{self.document.kind} {name}"

    @property
    def refusal(self) -> str:
        """Why the provider would stop, or ""."""
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
            "unseen": self.unseen,
        }


def run(  # noqa: PLR0913, PLR0917 - one for each option
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
    """See the command, in cli/commands. Ends the process with the command's exit code."""
    # The provider's log, which may contain other owners' names, goes to the user who runs the command.
    to_stderr()
    try:
        documents, configs = read_all(files), read_all(config_files)
    except UnreadableFile as error:
        raise click.UsageError(visible(str(error))) from error
    plans = _Plans(
        Reach(configs, _note, trusted=trusted),
        _seen(documents, kubeconfig, context),
        installation_id,
        DriftPolicy(drift_policy),
    )
    rows = list(plans.of(documents))
    if not rows:
        raise click.UsageError(f"expected at least one {' or '.join(_CLIENTS)} in -f")
    if form is Form.TEXT:
        for row in rows:
            _show(row)
    else:
        click.echo(output.structured([row.to_json() for row in rows], form), nl=False)
    sys.exit(1 if any(row.refusal for row in rows) else 0)


def _note(text: str) -> None:
    click.echo(f"note: {visible(text)}", err=True)


def _seen(documents: list[Document], kubeconfig: Path | None, context: str | None) -> Sight:
    """The managed resources of the cluster.

    Raises:
        click.UsageError: the user named a cluster, and it cannot be read.
    """
    namespaces = {str(each.metadata.get("namespace") or "") for each in documents}
    try:
        return look(connect(kubeconfig, context), namespaces)
    except NoCluster as error:
        if kubeconfig or context:
            raise click.UsageError(visible(str(error))) from error
        return Sight(unseen=(str(error),))


@dataclass(frozen=True)
class _Plans:
    """Plans one resource after the other."""

    reach: Reach
    sight: Sight
    installation: str
    policy: DriftPolicy

    def of(self, documents: list[Document]) -> Iterator[_Row]:
        for document in documents:
            if document.api_version not in _GROUPS or document.kind not in _CLIENTS:
                _note(f"{document.kind} {document.name} is ignored: expected {' or '.join(_CLIENTS)}")
                continue
            yield self._row(document)

    def _row(self, document: Document) -> _Row:
        wrong = list(_wrong(document))
        if wrong:
            return _Row(document, "", Rehearsal(), "; ".join(map(str, wrong)))
        mr = _managed(document)
        sight = self._sight_of(mr)
        mr = sight.placed(mr)
        try:
            config, account = self.reach.account(mr.provider_config_ref)
            recorder = Recorder(account.cloudfront)
            deps = Dependencies(
                AccountAccess(
                    recorder.as_cloudfront,
                    account.rehearsals,
                    self.installation or _installation(mr, account),
                    account.id,
                    str(config.key),
                ),
                ClusterView(sight.peers, sight.everyone),
                Policy(drift_policy=self.policy, rehearsing=True),
            )
            found = rehearse(_CLIENTS[document.kind](deps), mr, recorder)
            return _Row(document, account.id or "", found, unseen=sight.rests_on)
        except (NoConfig, ExternalError, NotYet, UnsupportedPolicies) as error:
            return _Row(document, "", Rehearsal(), str(error))

    def _sight_of(self, mr: Managed) -> Sight:
        """The sight for a resource. If the cluster does not contain it, it may be the wrong cluster."""
        seen = self.sight
        if seen.unseen or not seen.lacks(mr):
            return Sight(seen.resources, seen.unseen)
        why = f"the cluster has no {mr.kind} {mr.key} with this uid; it may be the wrong cluster"
        return Sight(seen.resources, (why,))


def _wrong(document: Document) -> Iterator[Problem]:
    """What the API server would refuse, so that later steps can rely on valid fields."""
    yield from (problem for each in check([document], ()) for problem in each.problems)
    for path in _OBJECTS:
        *way, last = path
        if not isinstance(document.at(*way).get(last, {}), dict):
            yield Problem(".".join(path), "an object", shown(document.at(*way)[last]))


def _managed(document: Document) -> Managed:
    # Composed resources have no name until Crossplane generates one.
    mr = Managed({**document.value, "metadata": {**document.metadata, "name": document.name}})
    return mr if mr.external_name else mr.with_annotations({EXTERNAL_NAME: mr.name})


def _installation(mr: Managed, account: Account) -> str:
    """The installation id in the tenant's owner tag, if the rest of the tag is this resource."""
    owner = (mr.at_provider.get("tags") or {}).get(OWNER_TAG) or _owner(mr, account)
    name = mr.at_provider.get("name") or mr.external_name
    mine = identity.owner_of(mr, "", str(name))
    return owner.removesuffix(mine) if owner.endswith(mine) and owner != mine else _UNKNOWN_INSTALLATION


def _owner(mr: Managed, account: Account) -> str:
    get = account.cloudfront.get_group if mr.kind == "ConnectionGroup" else account.cloudfront.get_tenant
    try:
        return account.cloudfront.tags(get(str(mr.external_name)).arn).get(OWNER_TAG, "")
    except AwsError:  # the plan meets the same error and reports it
        return ""


def _show(row: _Row) -> None:
    for line in _lines(row):
        click.echo(visible(line))


def _lines(row: _Row) -> Iterator[str]:
    yield row.title + (f"  # AWS account {row.account}" if row.account else "")
    if row.unseen:
        yield f"  not read, treated as absent: {row.unseen}"
    for number, call in enumerate(row.rehearsal.calls, 1):
        yield f"  {number}. {call.operation} ({call.action})"
        yield f"     why: {call.why}"
        yield from (f"     {line}" for line in output.manifest(call.parameters).splitlines())
    if row.refusal:
        yield f"  stops: {row.refusal}"
    elif not row.rehearsal.calls:
        yield "  nothing to do"
