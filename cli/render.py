"""`edgetenants render`: prints the status and composed resources of a claim and why, offline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from apis import crds, kinds
from apis.errors import InvalidInput, shown, visible
from cli import output
from cli.documents import Document, UnreadableFile, read_all
from cli.forms import Form
from cli.output import structured
from function import fn, offline
from function.composed import explain
from function.errors import Refused
from function.offline import Pricelist
from function.protocol import structs

__all__ = ["run"]

_STATUS = {fnv1.STATUS_CONDITION_TRUE: "True", fnv1.STATUS_CONDITION_FALSE: "False"}


def run(
    files: tuple[Path, ...],
    plan_files: tuple[Path, ...],
    required_files: tuple[Path, ...],
    observed_files: tuple[Path, ...],
    form: Form,
    why: bool,
) -> None:
    """See the command, in cli/commands. Ends the process with the command's exit code."""
    try:
        asked = read_all(files)
        claims = [document for document in asked if _is_claim(document)]
        if not claims:
            raise click.UsageError(f"expected a {kinds.TENANT_CLAIM.kind} in the files, got {_found(asked)}")
        tell = _comment if form is Form.YAML else _aside
        offered = _offered(asked, read_all(plan_files), read_all(required_files), tell)
        observed = [document.value for document in read_all(observed_files)]
        answers = [_answer(document, offered, observed) for document in claims]
    except (UnreadableFile, InvalidInput) as error:
        raise click.UsageError(visible(str(error))) from error
    if form is Form.JSON:
        for answer in answers:
            _results(answer, _aside)
        items = [each for pair in zip(claims, answers, strict=True) for each in _objects(*pair)]
        click.echo(structured({"apiVersion": "v1", "kind": "List", "items": items}, form), nl=False)
    else:
        for document, answer in zip(claims, answers, strict=True):
            _show(document, answer, why=_why(document, offered, observed) if why else ())
    sys.exit(1 if any(answer.refused for answer in answers) else 0)


def _offered(
    asked: list[Document], named: list[Document], required: list[Document], tell: Callable[[str], None]
) -> Pricelist:
    """The plans: from --plans, or else from the files, or else those that come with edgetenants."""
    others = [
        document.value for document in (*asked, *named, *required) if offline.is_required(document.value)
    ]
    inputs = _with_plans(named) or _with_plans(asked)
    if not (inputs or named):
        tell("plans: using the Composition that comes with edgetenants; set --plans to use others")
        inputs = [crds.composition(kinds.TENANT_CLAIM, "tenantclaims")]
    return Pricelist.of([*inputs, *others])


def _with_plans(documents: list[Document]) -> list[dict[str, Any]]:
    return [document.value for document in documents if offline.has_plans(document.value)]


def _found(documents: list[Document]) -> str:
    kinds_ = {visible(document.kind) or "objects without kind" for document in documents}
    return ", ".join(sorted(kinds_)) or "nothing"


def _is_claim(document: Document) -> bool:
    return document.api_version.partition("/")[0] == kinds.PLATFORM_GROUP


def _answer(document: Document, offered: Pricelist, observed: list[dict[str, Any]]) -> fn.Answer:
    try:
        return offline.run(offline.request(document.value, offered, observed), offered.others)
    except InvalidInput as error:
        raise click.UsageError(
            visible(f"{document.place('')}: {document.kind} {document.name}: {error}")
        ) from error


def _show(document: Document, answer: fn.Answer, *, why: Iterable[str]) -> None:
    rsp = answer.response
    _results(answer, _comment)
    _print(_claim(document, rsp))
    if answer.refused:
        return
    for line in why:
        _comment(line)
    for name, resource in sorted(rsp.desired.resources.items()):
        ready = "ready" if resource.ready == fnv1.READY_TRUE else "not ready"
        _comment(f"composed resource {name}, {ready}")
        composed = structs.plain_object(resource.resource)
        _print(_ordered(offline.composed(name, composed, document.value)))


def _results(answer: fn.Answer, tell: Callable[[str], None]) -> None:
    for result in answer.response.results:
        severity = fnv1.Severity.Name(result.severity).removeprefix("SEVERITY_").lower()
        tell(f"{severity}: {result.reason}: {result.message}")


def _objects(document: Document, answer: fn.Answer) -> Iterator[dict[str, Any]]:
    yield _claim(document, answer.response)
    if not answer.refused:
        for name, resource in sorted(answer.response.desired.resources.items()):
            composed = structs.plain_object(resource.resource)
            yield _ordered(offline.composed(name, composed, document.value))


def _claim(document: Document, rsp: fnv1.RunFunctionResponse) -> dict[str, Any]:
    status = structs.child(rsp.desired.composite.resource, "status")
    conditions = [
        {
            "type": each.type,
            "status": _STATUS.get(each.status, "Unknown"),
            "reason": each.reason,
            "message": each.message,
        }
        for each in rsp.conditions
    ]
    fields = structs.plain_object(status) if status is not None else {}
    return _ordered({**document.value, "spec": None, "status": {**fields, "conditions": conditions}})


def _why(document: Document, offered: Pricelist, observed: list[dict[str, Any]]) -> Iterable[str]:
    try:
        found = explain.reasons(offline.order(document.value, offered, observed))
    except Refused:  # already reported
        return
    rows = [(visible(each.what), _distinct(each.value), each.who) for each in found]
    width = max(len(what) for what, _, _ in rows)
    longest = max(len(value) for _, value, _ in rows)
    yield "why:"
    for what, value, who in rows:
        yield f"  {what:<{width}}  {value:<{longest}}  {who}"


def _distinct(value: str) -> str:
    """The value, or its JSON if it could look like several columns or contains invisible characters."""
    return value if value.isprintable() and value == " ".join(value.split()) else shown(value)


def _ordered(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its fields in the usual order."""
    found = {key: value.get(key) for key in ("apiVersion", "kind", "metadata", "spec", "status")}
    return {key: item for key, item in found.items() if item is not None}


def _print(value: dict[str, Any]) -> None:
    click.echo(f"---\n{output.manifest(value)}", nl=False)


def _comment(text: str) -> None:
    click.echo(output.comment(text), nl=False)


def _aside(text: str) -> None:
    click.echo(visible(text), err=True)
