"""Validates claims, plans, managed resources and provider configs, each alone and against the others."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from apis import errors, kinds, tenantclaim, tenantplans, tenantreport
from apis.domains import normalise
from apis.errors import InvalidInput, Problem, shown
from cli.documents import Document
from edgetenants_runtime.api.references import ObjectName
from function import offline
from function.errors import Refused

__all__ = ["Checked", "check"]

_KINDS = (
    *kinds.PROVIDER_KINDS,
    *kinds.LEGACY_PROVIDER_KINDS,
    *(kinds.TENANT_CLAIM, kinds.LEGACY_TENANT_CLAIM),
    *(kinds.TENANT_PLANS, kinds.TENANT_REPORT, kinds.TENANT_SOURCE),
)
_OURS = frozenset((kind.api_version, kind.kind) for kind in _KINDS)
_GROUPS = frozenset(kind.group for kind in _KINDS)
_NAMES = frozenset(kind.kind for kind in _KINDS)
_NOBODY_ELSES: Final = frozenset(
    kind.kind for kind in _KINDS if kind.group in (kinds.PLATFORM_GROUP, kinds.INPUT_GROUP)
)
"""Names of kinds that count as ours in any group, unless the files define another kind of that name."""
_LOOKALIKE: Final = 0.8
"""How similar to one of our groups (difflib's ratio) a group must be to count as a typing error.
`aws.upbound.io` is less similar."""
_TOP_LEVEL: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_OPERATIONS = "ops.crossplane.io"
_PIPELINES = {
    ("apiextensions.crossplane.io", "Composition"): "spec",
    (_OPERATIONS, "Operation"): "spec",
    (_OPERATIONS, "CronOperation"): "spec.operationTemplate.spec",
    (_OPERATIONS, "WatchOperation"): "spec.operationTemplate.spec",
}
"""Crossplane's kinds that run functions, with the path of the object that contains the pipeline."""
_SPECS = {
    (kind.api_version, kind.kind): kind.spec
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS, kinds.TENANT_SOURCE)
    if kind.spec
}
_OF_PLANS: Final = (
    *(field.alias or name for name, field in tenantclaim.TenantClaimSpec.model_fields.items()),
    "claimRef",
)
"""Fields of a claim that are checked against the plans."""
_NAME: Final = TypeAdapter(ObjectName)


class Refusal(Problem):
    """A refusal by the plans; the message is printed as it is."""

    def __str__(self) -> str:
        return self.expected


@dataclass(frozen=True)
class Checked:
    """One object that was checked, and its problems."""

    document: Document
    problems: tuple[Problem, ...]


def check(documents: Sequence[Document], offered: Sequence[Document]) -> list[Checked]:
    """The problems of each object; objects of other projects' kinds are left out.

    Args:
        documents: the objects.
        offered: the plans that claims are checked against, and the EnvironmentConfigs that they refer to;
            empty: claims are not checked against plans.

    Raises:
        InvalidInput: `offered` does not contain the plans of exactly one platform.
    """
    pricelist = offline.Pricelist.of([each.value for each in offered]) if offered else None
    defined = frozenset(kind for each in (*documents, *offered) for kind in _defined(each.value))
    twice = _asked_twice([each for each in documents if _is_claim(each)])
    found: list[Checked] = []
    for document in documents:
        problems = _problems(document, pricelist, defined)
        if problems is not None:
            others = twice.get(id(document), ())
            found.append(Checked(document, (*document.flaws, *problems, *others)))
    return found


def _problems(
    document: Document, pricelist: offline.Pricelist | None, defined: frozenset[tuple[str, str]]
) -> list[Problem] | None:
    """The problems of an object; None if its kind belongs to another project."""
    group = document.group
    if group in _GROUPS and (document.api_version, document.kind) not in _OURS:
        return [_no_kind_of_ours(document)]
    if _is_claim(document):
        return [*_of_envelope(document.value, must_have_name=True), *_of_claim(document, pricelist)]
    if group == kinds.INPUT_GROUP:
        return list(_of_input(document.value, ""))
    spec = _SPECS.get((document.api_version, document.kind))
    if spec is not None:
        of_spec = _parsed(lambda: errors.parse(spec, _spec(document.value), root="spec"))
        # Composed resources have no name until Crossplane generates one.
        return [*_of_envelope(document.value, must_have_name=False), *of_spec]
    if group not in _GROUPS and _is_misspelt(document, defined):
        return [_no_kind_of_ours(document)]
    return _of_crossplanes(document, group)


def _is_claim(document: Document) -> bool:
    return document.group == kinds.PLATFORM_GROUP and document.kind != kinds.TENANT_SOURCE.kind


def _spec(value: Mapping[str, Any]) -> Any:
    spec = value.get("spec")
    return {} if spec is None else spec


def _is_misspelt(document: Document, defined: frozenset[tuple[str, str]]) -> bool:
    """Whether the group of an object is probably a misspelling of ours."""
    if document.kind not in _NAMES or (document.group, document.kind) in defined:
        return False
    slip = difflib.get_close_matches(document.group, _GROUPS, n=1, cutoff=_LOOKALIKE)
    return bool(slip) or document.kind in _NOBODY_ELSES or "." not in document.group


def _defined(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Group and name of the kinds that an object defines or composes."""
    spec = offline.mapping(value, "spec")
    for names in ("names", "claimNames"):
        yield str(spec.get("group")), str(offline.mapping(spec, names).get("kind"))
    composed = offline.mapping(spec, "compositeTypeRef")
    yield str(composed.get("apiVersion")).partition("/")[0], str(composed.get("kind"))


def _no_kind_of_ours(document: Document) -> Problem:
    names = sorted(kind for version, kind in _OURS if version == document.api_version)
    if names:
        return Problem("kind", f"one of {', '.join(names)}", shown(document.kind))
    versions = sorted({version for version, kind in _OURS if kind == document.kind} or {v for v, _ in _OURS})
    return Problem("apiVersion", f"one of {', '.join(versions)}", shown(document.api_version))


def _of_envelope(value: Mapping[str, Any], *, must_have_name: bool) -> Iterator[Problem]:
    """What the API server would refuse or silently drop outside the spec."""
    for key in value:
        if key not in _TOP_LEVEL:
            path = errors.step(key).removeprefix(".")
            yield Problem(path, f"one of {', '.join(_TOP_LEVEL)}", "an unknown field")
    metadata = offline.mapping(value, "metadata")
    for field in ("labels", "annotations"):
        for key, text in offline.mapping(metadata, field).items():
            if not isinstance(text, str):
                yield Problem(f"metadata.{field}{errors.step(key)}", "a string", shown(text))
    name = metadata.get("name")
    if name is None and (metadata.get("generateName") or not must_have_name):
        return
    try:
        _NAME.validate_python(name, strict=True)
    except ValidationError:
        expected = "a name of lower-case letters, digits, - and ."
        yield Problem("metadata.name", expected, "nothing" if name is None else shown(name))


def _of_crossplanes(document: Document, group: str) -> list[Problem] | None:
    """The problems of a Crossplane object that contains our plans or inputs; None if it contains none."""
    pipeline = _PIPELINES.get((group, document.kind))
    if pipeline:
        return list(_of_pipeline(document.value, pipeline))
    data = document.at("data")
    if document.kind == "EnvironmentConfig" and "plans" in data:
        return list(_below("data.", lambda: tenantplans.parse({"plans": data["plans"]})))
    return None


def _of_pipeline(value: Mapping[str, Any], path: str) -> Iterator[Problem]:
    steps = offline.mapping(value, *path.split(".")).get("pipeline")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if not (isinstance(step, Mapping) and offline.is_ours(step)):
            continue
        where = f"{path}.pipeline[{index}]"
        if input_ := offline.mapping(step, "input"):
            yield from _of_input(input_, f"{where}.input.")
        else:
            yield Problem(where, "an input of kind TenantPlans", "none")


def _of_input(value: Mapping[str, Any], prefix: str) -> Iterator[Problem]:
    parse = tenantreport.parse if value.get("kind") == tenantreport.KIND else tenantplans.parse
    yield from _below(prefix, lambda: parse(value))


def _below(prefix: str, parse: Callable[[], object]) -> Iterator[Problem]:
    for problem in _parsed(parse):
        yield Problem(f"{prefix}{problem.path}".removesuffix("."), problem.expected, problem.got)


def _parsed(parse: Callable[[], object]) -> Iterator[Problem]:
    try:
        parse()
    except InvalidInput as error:
        yield from error.problems


def _of_claim(document: Document, pricelist: offline.Pricelist | None) -> Iterator[Problem]:
    spec = _spec(document.value)
    found = tuple(_parsed(lambda: tenantclaim.parse(spec)))
    yield from found
    if not isinstance(spec, Mapping):
        return
    at_fault = frozenset(each.path for each in found)
    if any(path.startswith("spec.domains[") for path in at_fault):
        # The parser does not look for duplicates while one of the domains is invalid.
        yield from _repeated(spec)
    if pricelist is not None and "spec.plan" not in at_fault:
        yield from _of_plan(document.value, spec, pricelist, at_fault)


def _names(spec: Mapping[str, Any]) -> dict[int, str]:
    """The valid domains of a claim as CloudFront stores them, by index."""
    names: dict[int, str] = {}
    asked = spec.get("domains")
    for index, domain in enumerate(asked if isinstance(asked, list) else ()):
        with suppress(ValueError):
            names[index] = normalise(domain if isinstance(domain, str) else "")
    return names


def _first_of_each(names: dict[int, str]) -> dict[str, int]:
    return {name: index for index, name in reversed(names.items())}


def _repeated(spec: Mapping[str, Any]) -> Iterator[Problem]:
    names = _names(spec)
    first = _first_of_each(names)
    for index, name in names.items():
        if first[name] != index:
            expected = f"no duplicates ({name} is already in spec.domains[{first[name]}])"
            yield Problem(f"spec.domains[{index}]", expected, shown(spec["domains"][index]))


def _of_plan(
    value: Mapping[str, Any],
    spec: Mapping[str, Any],
    pricelist: offline.Pricelist,
    at_fault: frozenset[str],
) -> Iterator[Problem]:
    """What the plans refuse in the valid fields of a claim. Invalid fields are left out, so that they hide no
    other problem."""
    fields = {key: spec[key] for key in _OF_PLANS if key in spec and not _is_below(f"spec.{key}", at_fault)}
    names = {index: name for name, index in _first_of_each(_names(spec)).items()}
    places = range(len(spec["domains"])) if names else range(1)
    fields["domains"] = [names.get(index, f"place-{index}.invalid") for index in places]
    replaced = {f"spec.domains[{index}]" for index in places if index not in names}
    try:
        offline.order({**value, "metadata": _identity(value), "spec": fields}, pricelist)
    except Refused as refusal:
        for problem in refusal.problems or (Refusal("", refusal.message, ""),):
            if problem.path not in at_fault | replaced:
                yield problem


def _is_below(field: str, paths: Iterable[str]) -> bool:
    """Whether one of the paths is the field or is below it."""
    return any(re.match(rf"{re.escape(field)}([.\[]|$)", path) for path in paths)


def _identity(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = offline.mapping(value, "metadata")
    labels = {key: text for key, text in offline.mapping(metadata, "labels").items() if isinstance(text, str)}
    return {
        # A claim without a name is checked, too.
        "name": str(metadata.get("name") or "claim"),
        "namespace": str(metadata.get("namespace") or ""),
        "labels": labels,
    }


def _asked_twice(claims: Iterable[Document]) -> dict[int, list[Problem]]:
    """Domains that an earlier claim already requests, by the `id()` of the later claim."""
    holders: dict[str, tuple[Document, int]] = {}
    found: dict[int, list[Problem]] = {}
    for claim in claims:
        for index, name in _names(claim.at("spec")).items():
            holder, where = holders.setdefault(name, (claim, index))
            if _owner(holder) == _owner(claim):
                continue
            named = f"{holder.kind} {'/'.join(filter(None, (holder.namespace, holder.name)))}"
            place = holder.place(f"spec.domains[{where}]")
            problem = Problem(
                f"spec.domains[{index}]",
                "a domain that no other claim requests",
                f"{shown(name)}, which {named} requests ({place})",
            )
            found.setdefault(id(claim), []).append(problem)
    return found


def _owner(claim: Document) -> tuple[str, ...]:
    """Who requests the domains. With Crossplane v1, a claim and its composite count as one."""
    reference = claim.at("spec", "claimRef")
    if reference.get("name"):
        return kinds.TENANT_CLAIM.kind, str(reference.get("namespace") or ""), str(reference["name"])
    return claim.kind, claim.namespace, claim.name
