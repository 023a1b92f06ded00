"""`edgetenants validate`: what is wrong with claims, plans and managed resources, with file and line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from apis import errors, kinds, tenantclaim, tenantplans, tenantreport
from apis.errors import InvalidInput, Problem, visible
from cli.documents import Document, UnreadableFile, read_all
from cli.files import takes_files
from function import offline
from function.errors import Refused

__all__ = ["validate"]

_KINDS = (
    *kinds.PROVIDER_KINDS,
    *kinds.LEGACY_PROVIDER_KINDS,
    *(kinds.TENANT_CLAIM, kinds.LEGACY_TENANT_CLAIM),
    *(kinds.TENANT_PLANS, kinds.TENANT_REPORT),
)
_OURS = frozenset((kind.api_version, kind.kind) for kind in _KINDS)
_GROUPS = frozenset(kind.group for kind in _KINDS)
_OPERATIONS = "ops.crossplane.io"
_PIPELINES = {
    ("apiextensions.crossplane.io", "Composition"): "spec",
    (_OPERATIONS, "Operation"): "spec",
    (_OPERATIONS, "CronOperation"): "spec.operationTemplate.spec",
    (_OPERATIONS, "WatchOperation"): "spec.operationTemplate.spec",
}
"""Kinds of Crossplane that run functions, and where they have their pipeline."""
_SPECS = {
    (kind.api_version, kind.kind): kind.spec
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS)
    if kind.spec
}


class Refusal(Problem):
    """The plans are at fault, in words of their own."""

    def __str__(self) -> str:
        return self.expected


@click.command()
@takes_files("As FILES.")
@click.option(
    "--plans",
    "plan_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Plans that claims are held against: a Composition or TenantPlans; EnvironmentConfigs beside them.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def validate(files: tuple[Path, ...], plan_files: tuple[Path, ...], as_json: bool) -> None:
    """Say what is wrong with claims, plans, managed resources and provider configs, without any server.

    FILES are YAML files, folders, or - for standard input. Kinds that are not ours are passed over. Exits
    with 1 when something is wrong, 2 when a file cannot be read.
    """
    try:
        checked = _check_all(read_all(files), read_all(plan_files))
    except UnreadableFile as error:
        raise click.UsageError(visible(str(error))) from error
    wrong = [row for row in checked if row["problem"]]
    if as_json:
        click.echo(
            json.dumps({"objects": len({row["object"] for row in checked}), "problems": wrong}, indent=2)
        )
    else:
        for row in wrong:
            click.echo(visible(f"{row['place']}: {row['object']}: {row['problem']}"))
        looked = len({(row["file"], row["object"]) for row in checked})
        click.echo(f"{looked} objects looked at, {len(wrong)} problems", err=True)
    sys.exit(1 if wrong else 0)


def _check_all(documents: list[Document], plan_files: list[Document]) -> list[dict[str, Any]]:
    """A row for each problem, and one without a problem for each object that is sound."""
    try:
        pricelist = offline.Pricelist.of([document.value for document in plan_files]) if plan_files else None
    except InvalidInput as error:
        raise click.UsageError(visible(f"--plans: {error}")) from error
    rows: list[dict[str, Any]] = []
    for document in documents:
        found = _problems(document, pricelist)
        if found is None:
            continue
        about = {"file": document.file, "object": f"{document.kind} {document.name}"}
        rows.extend(
            {**about, "place": document.place(problem.path), "path": problem.path, "problem": str(problem)}
            for problem in found
        )
        if not found:
            rows.append({**about, "place": document.place(""), "path": "", "problem": ""})
    return rows


def _problems(document: Document, pricelist: offline.Pricelist | None) -> list[Problem] | None:
    """What is wrong; None for an object of somebody else's kind."""
    group = document.api_version.partition("/")[0]
    if group in _GROUPS and (document.api_version, document.kind) not in _OURS:
        return [_no_kind_of_ours(document)]
    if group == kinds.PLATFORM_GROUP:
        return list(_of_claim(document, pricelist))
    if group == kinds.INPUT_GROUP:
        return list(_of_input(document.value, ""))
    spec = _SPECS.get((document.api_version, document.kind))
    if spec is not None:
        return list(_parsed(lambda: errors.parse(spec, document.value.get("spec") or {}, root="spec")))
    return _of_crossplanes(document, group)


def _of_crossplanes(document: Document, group: str) -> list[Problem] | None:
    """Of kinds of Crossplane those that hold something of ours."""
    pipeline = _PIPELINES.get((group, document.kind))
    if pipeline:
        return list(_of_pipeline(document.value, pipeline))
    if document.kind == "EnvironmentConfig" and isinstance(document.value.get("data"), dict):
        return list(_of_source(document.value["data"]))
    return None


def _of_claim(document: Document, pricelist: offline.Pricelist | None) -> Iterator[Problem]:
    found = list(_parsed(lambda: tenantclaim.parse(document.value.get("spec") or {})))
    yield from found
    if found or pricelist is None:
        return
    try:
        offline.order(document.value, pricelist)
    except Refused as refusal:
        yield from refusal.problems or [Refusal("", refusal.message, "")]


def _of_pipeline(value: dict[str, Any], path: str) -> Iterator[Problem]:
    for key in path.split(".")[:-1]:
        value = value.get(key) or {}
    for index, step in enumerate(offline.steps(value)):
        if not offline.is_ours(step):
            continue
        where = f"{path}.pipeline[{index}]"
        if step.get("input"):
            yield from _of_input(step["input"], f"{where}.input.")
        else:
            yield Problem(where, "an input of kind TenantPlans", "none")


def _of_input(value: dict[str, Any], prefix: str) -> Iterator[Problem]:
    parse = tenantreport.parse if value.get("kind") == tenantreport.KIND else tenantplans.parse
    yield from _below(prefix, lambda: parse(value))


def _below(prefix: str, parse: Any) -> Iterator[Problem]:
    for problem in _parsed(parse):
        yield Problem(f"{prefix}{problem.path}".removesuffix("."), problem.expected, problem.got)


def _no_kind_of_ours(document: Document) -> Problem:
    names = sorted(kind for version, kind in _OURS if version == document.api_version)
    if names:
        return Problem("kind", f"one of {', '.join(names)}", errors.shown(document.kind))
    versions = sorted({version for version, kind in _OURS if kind == document.kind} or {v for v, _ in _OURS})
    return Problem("apiVersion", f"one of {', '.join(versions)}", errors.shown(document.api_version))


def _of_source(data: dict[str, Any]) -> Iterator[Problem]:
    if "plans" in data:
        yield from _below("data.", lambda: tenantplans.parse({"plans": data["plans"]}))


def _parsed(parse: Any) -> Iterator[Problem]:
    try:
        parse()
    except InvalidInput as error:
        yield from error.problems
