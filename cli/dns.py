"""`edgetenants dns`: the DNS records of a claim, what DNS answers, and what to paste."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from apis import kinds
from apis.dns import DnsInstruction, RecordManager, RecordPurpose, RecordState
from apis.errors import visible
from cli import dns_records, output
from cli.cluster import NoCluster, connect
from cli.dns_records import NotPlain
from cli.forms import Form
from edgetenants_runtime.api.annotations import LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import ObjectKey
from provider.dns.public import Authoritative, Lookup, Recursive, Server, system_resolvers
from provider.dns.public.caa import Caa, climb
from provider.dns.public.verdicts import Finding, Seen, look
from provider.main import resource_kind

__all__ = ["Asked", "run"]

_MOST: Final = 1000


@dataclass(frozen=True)
class Asked:
    """What the user asks for."""

    claim: str
    namespace: str
    resolvers: tuple[str, ...] = ()
    authoritative: bool = False
    looks: bool = True


@dataclass(frozen=True)
class _Row:
    """One record, with what a look found."""

    record: DnsInstruction
    finding: Finding | None = None
    caa: Caa | None = None

    @property
    def state(self) -> RecordState:
        return RecordState(self.finding.seen.value) if self.finding else self.record.state

    @property
    def is_ours(self) -> bool:
        return self.record.managed_by is RecordManager.PROVIDER

    def to_json(self) -> dict[str, Any]:
        found, caa = self.finding or Finding(Seen.UNKNOWN), self.caa or Caa(allowed=True)
        return {
            "name": self.record.name,
            "type": self.record.type.value,
            "value": self.record.value,
            "purpose": self.record.purpose.value,
            "madeBy": "provider" if self.is_ours else "you",
            "state": self.state.value,
            "found": list(found.found) if self.finding else [self.record.found] * bool(self.record.found),
            "nameServers": list(found.servers),
            "dnssecBogus": found.bogus,
            "caaForbids": caa.forbids,
            "failure": found.why or caa.why,
        }


def run(asked: Asked, kubeconfig: Path | None, context: str | None, form: Form) -> None:
    """See the command, in cli/commands. Ends the process with the command's exit code."""
    lookup = _lookup(asked) if asked.looks else None
    try:
        client = connect(kubeconfig, context)
        claim = client.get(resource_kind(kinds.TENANT_CLAIM), ObjectKey(asked.namespace, asked.claim))
        records = tuple(_records(claim))
        tokens = tuple(_tokens(client, asked))
    except (NoCluster, KubeError, NotPlain) as error:
        raise click.UsageError(visible(str(error))) from error
    if not records:
        raise click.UsageError("status.dnsInstructions of the claim has no records yet")
    rows = [_row(lookup, record) for record in records]
    click.echo(_printed(rows, tokens, form), nl=False)
    sys.exit(0 if all(row.state is RecordState.PRESENT for row in rows) else 1)


def _lookup(asked: Asked) -> Lookup:
    servers = tuple(map(_server, asked.resolvers)) or system_resolvers()
    recursive = Recursive(servers)
    return Authoritative(recursive) if asked.authoritative else recursive


def _server(text: str) -> Server:
    try:
        return Server.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--resolver: {visible(str(error))}") from error


def _records(claim: Mapping[str, Any]) -> Iterator[DnsInstruction]:
    for item in ((claim.get("status") or {}).get("dnsInstructions") or ())[:_MOST]:
        try:
            record = DnsInstruction.model_validate(item)
        except ValidationError as error:
            raise NotPlain(f"status.dnsInstructions has an item that is no record: {item!r}") from error
        yield dns_records.checked(record)


def _tokens(client: KubeClient, asked: Asked) -> Iterator[tuple[str, str]]:
    """The redirects for which certificates of the claim wait, from its tenants."""
    for tenant in _tenants(client, asked):
        seen = ((tenant.get("status") or {}).get("atProvider") or {}).get("certificate") or {}
        if seen.get("validationTokenHost") != "self-hosted":
            continue
        for token in seen.get("validation") or ():
            if token.get("redirectFrom") and token.get("redirectTo"):
                yield str(token["redirectFrom"]), str(token["redirectTo"])


def _tenants(client: KubeClient, asked: Asked) -> Iterator[Mapping[str, Any]]:
    claimed = {LABEL_CLAIM_NAME: asked.claim, LABEL_CLAIM_NAMESPACE: asked.namespace}
    for kind, namespace, labels in (
        (kinds.DISTRIBUTION_TENANT, asked.namespace, {LABEL_COMPOSITE: asked.claim}),
        (kinds.LEGACY_DISTRIBUTION_TENANT, "", claimed),
    ):
        try:
            yield from client.select(resource_kind(kind), namespace, labels)
        except KubeError as error:
            click.echo(f"note: without the redirects of certificates: {visible(str(error))}", err=True)


def _row(lookup: Lookup | None, record: DnsInstruction) -> _Row:
    if lookup is None:
        return _Row(record)
    finding = look(lookup, record.type.value, record.name, record.value)
    is_routing = record.purpose is RecordPurpose.ROUTING
    return _Row(record, finding, climb(lookup, record.name) if is_routing else None)


def _printed(rows: Sequence[_Row], tokens: Sequence[tuple[str, str]], form: Form) -> str:
    theirs = [row.record for row in rows if not row.is_ours]
    if form is Form.ZONE:
        return dns_records.zone_file(theirs)
    if form is Form.ROUTE53:
        return dns_records.route53(theirs)
    if form is Form.TERRAFORM:
        return dns_records.terraform(theirs)
    if form is not Form.TEXT:
        return output.structured([row.to_json() for row in rows], form)
    return "".join(f"{visible(line)}\n" for line in _lines(rows, tokens))


def _lines(rows: Sequence[_Row], tokens: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(len(row.record.name) for row in rows)
    yield f"{'NAME':{width}}  TYPE   MADE BY   STATE    VALUE"
    for row in rows:
        record, maker = row.record, "provider" if row.is_ours else "you"
        yield f"{record.name:{width}}  {record.type:5}  {maker:8}  {row.state:7}  {record.value}"
        yield from (f"  {line}" for line in _remarks(row.to_json()))
    missing = [row.record for row in rows if not row.is_ours and row.state is not RecordState.PRESENT]
    if missing:
        yield ""
        yield "To make, as lines of a zone file (-o route53 and -o terraform print other forms):"
        yield from (f"  {line}" for line in dns_records.zone_file(missing).splitlines())
    yield from _redirects(tokens)


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    if row["found"]:
        yield f"found instead: {', '.join(row['found'])}"
    if row["dnssecBogus"]:
        yield "DNSSEC: resolvers reject the signatures, so many visitors cannot resolve the name"
    if row["failure"]:
        yield f"not known: {row['failure']}"
    if row["caaForbids"]:
        yield f'CAA: {row["caaForbids"]}; add 0 issue "amazon.com"'
    if row["nameServers"]:
        yield f"answered by: {', '.join(row['nameServers'])}"


def _redirects(tokens: Sequence[tuple[str, str]]) -> Iterator[str]:
    for origin, target in tokens[:_MOST]:
        yield ""
        yield f"The certificate waits for this redirect of the web server: {origin}"
        try:
            snippets = dns_records.redirects(origin, target)
        except NotPlain as error:
            yield f"  {error}"
            continue
        for server, text in snippets.items():
            yield f"  {server}:"
            yield from (f"    {line}" for line in text.splitlines())
