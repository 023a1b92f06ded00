"""`edgetenants validate`: what is wrong with claims, plans and managed resources, with file and line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from apis import errors, kinds, tenantclaim, tenantplans
from apis.errors import InvalidInput, Problem
from cli.documents import Document, UnreadableFile, read_all
from function import offline
from function.errors import Refused

__all__ = ["validate"]

_SPECS = {
    (kind.api_version, kind.kind): kind.spec
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS)
    if kind.spec
}


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
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
        raise click.UsageError(str(error)) from error
    wrong = [row for row in checked if row["problem"]]
    if as_json:
        click.echo(
            json.dumps({"objects": len({row["object"] for row in checked}), "problems": wrong}, indent=2)
        )
    else:
        for row in wrong:
            click.echo(f"{row['place']}: {row['object']}: {row['problem']}")
        looked = len({(row["file"], row["object"]) for row in checked})
        click.echo(f"{looked} objects looked at, {len(wrong)} problems", err=True)
    sys.exit(1 if wrong else 0)


def _check_all(documents: list[Document], plan_files: list[Document]) -> list[dict[str, Any]]:
    """A row for each problem, and one without a problem for each object that is sound."""
    try:
        pricelist = offline.Pricelist.of([document.value for document in plan_files])
    except InvalidInput as error:
        raise click.UsageError(f"--plans: {error}") from error
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
    if (group, document.kind) == (kinds.PLATFORM_GROUP, "TenantClaim") or (
        group == kinds.PLATFORM_GROUP and document.kind == "XTenantClaim"
    ):
        return list(_of_claim(document, pricelist))
    if document.kind == tenantplans.KIND and group == kinds.INPUT_GROUP:
        return list(_of_plans(document.value, ""))
    if document.kind == "Composition" and group == "apiextensions.crossplane.io":
        return list(_of_composition(document.value))
    if document.kind == "EnvironmentConfig" and isinstance(document.value.get("data"), dict):
        return list(_of_source(document.value["data"]))
    spec = _SPECS.get((document.api_version, document.kind))
    if spec is None:
        return None
    return list(_parsed(lambda: errors.parse(spec, document.value.get("spec") or {}, root="spec")))


def _of_claim(document: Document, pricelist: offline.Pricelist | None) -> Iterator[Problem]:
    found = list(_parsed(lambda: tenantclaim.parse(document.value.get("spec") or {})))
    yield from found
    if found or pricelist is None:
        return
    try:
        offline.order(document.value, pricelist)
    except Refused as refusal:
        yield from refusal.problems or [Problem("spec", refusal.message, "a claim that it refuses")]


def _of_composition(value: dict[str, Any]) -> Iterator[Problem]:
    for index, step in enumerate(offline.steps(value)):
        if offline.is_ours(step):
            path = f"spec.pipeline[{index}].input"
            yield from _of_plans(step.get("input") or {}, f"{path}.")


def _of_plans(value: dict[str, Any], prefix: str) -> Iterator[Problem]:
    for problem in _parsed(lambda: tenantplans.parse(value)):
        yield Problem(f"{prefix}{problem.path}".removesuffix("."), problem.expected, problem.got)


def _of_source(data: dict[str, Any]) -> Iterator[Problem]:
    if "plans" in data:
        yield from _of_plans({"plans": data["plans"]}, "data.")


def _parsed(parse: Any) -> Iterator[Problem]:
    try:
        parse()
    except InvalidInput as error:
        yield from error.problems
