"""No file ends a command in a traceback: what is wrong is told in words, with exit code 1 or 2."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.main import cli

CLAIM = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "metadata": {"name": "acme", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "plan": "gold",
        "domains": ["a.example.com", "b.example.com"],
        "parameters": {"a": "b"},
        "tags": {"a": "b"},
        "certificate": {"mode": "Inherited"},
        "security": {"geo": {"allow": ["DE"]}},
        "claimRef": {"namespace": "shop", "name": "acme"},
    },
    "status": {"conditions": [{"type": "Live", "status": "True", "reason": "Live"}]},
}
PLANS = {
    "apiVersion": "apiextensions.crossplane.io/v1",
    "kind": "Composition",
    "metadata": {"name": "c"},
    "spec": {
        "compositeTypeRef": {"apiVersion": "platform.edgetenants.io/v1alpha1", "kind": "TenantClaim"},
        "pipeline": [
            {
                "step": "tenants",
                "functionRef": {"name": "function-edgetenants"},
                "input": {
                    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
                    "kind": "TenantPlans",
                    "plans": {"gold": {"distributionId": "E1GOLD", "tagsFromLabels": ["a"]}},
                    "plansFrom": [{"environmentConfig": {"matchLabels": {"a": "b"}}}],
                },
            }
        ],
    },
}
SHELF = {
    "apiVersion": "apiextensions.crossplane.io/v1beta1",
    "kind": "EnvironmentConfig",
    "metadata": {"name": "shelf", "labels": {"a": "b"}},
    "data": {"plans": {"silver": {"distributionId": "E1SHELF"}}},
}
COMPOSED = {
    "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
    "kind": "DistributionTenant",
    "metadata": {
        "name": "acme-x",
        "namespace": "shop",
        "labels": {"crossplane.io/composite": "acme"},
        "annotations": {
            "crossplane.io/composition-resource-name": "tenant",
            "crossplane.io/external-name": "shop.acme",
        },
    },
    "spec": {"forProvider": {"domains": ["a.example.com"]}, "providerConfigRef": {"name": "default"}},
    "status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "Available"}],
        "atProvider": {"id": "dt_1", "domains": [{"domain": "a.example.com", "status": "active"}]},
    },
}
OBJECTS = [CLAIM, PLANS, SHELF, COMPOSED]

odd = st.sampled_from(
    [None, True, 0, -1.5, 2**63, 1e300, "", "x", "\x00\u2028", [], [None], [[]], {}, {"": None}]
)


def places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of an object."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(place for key, each in below for place in places(each, (*before, key)))]


PLACES = [(number, *place) for number, each in enumerate(OBJECTS) for place in places(each) if place]


def changed(changes: dict[tuple[Any, ...], Any]) -> list[Any]:
    found = copy.deepcopy(OBJECTS)
    # The deepest first, as long as there is a way to it.
    for place, value in sorted(changes.items(), key=lambda each: -len(each[0])):
        *way, last = place
        functools.reduce(lambda below, key: below[key], way, found)[last] = copy.deepcopy(value)
    return found


def run(*arguments: str | Path, **kwargs: Any) -> Result:
    done = CliRunner().invoke(
        cli, [str(each) for each in arguments], env={"KUBECONFIG": "/no/file"}, **kwargs
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(PLACES), odd, min_size=1, max_size=3))
def test_whatever_stands_somewhere(tmp_path_factory: pytest.TempPathFactory, changes: Any) -> None:
    files = []
    for name, value in zip(("claim", "plans", "shelf", "observed"), changed(changes), strict=True):
        files.append(tmp_path_factory.getbasetemp() / f"{name}.yaml")
        files[-1].write_text(json.dumps(value))
    claim, plans, shelf, observed = files
    offered = ("--plans", plans)

    assert run("validate", *files).exit_code in (0, 1, 2)
    assert run("validate", claim, *offered, "--plans", shelf).exit_code in (0, 1, 2)
    assert run("render", claim, *offered, "--required", shelf, "--observed", observed).exit_code in (0, 1, 2)


def nested(levels: int) -> Any:
    return functools.reduce(lambda below, _: {"a": below}, range(levels), "x")


@pytest.mark.parametrize("levels", [25, 33, 100, 190])
@pytest.mark.parametrize(
    "way",
    [
        (0, "spec"),
        (0, "metadata"),
        (1, "spec", "pipeline", 0, "input", "plans"),
        (2, "data", "plans"),
        (3, "spec"),
    ],
)
def test_whatever_is_nested(tmp_path: Path, way: tuple[Any, ...], levels: int) -> None:
    objects = copy.deepcopy(OBJECTS)
    functools.reduce(lambda below, key: below[key], way, objects)["a"] = nested(levels)
    files = [tmp_path / f"{index}.yaml" for index in range(len(objects))]
    for file, value in zip(files, objects, strict=True):
        file.write_text(json.dumps(value))
    claim, plans, shelf, observed = files
    offered = ("--plans", plans)

    assert run("validate", *files, *offered, "--plans", shelf).exit_code in (0, 1, 2)
    done = run("render", claim, *offered, "--required", shelf, "--observed", observed)
    assert done.exit_code in (0, 1) if levels < 30 else done.exit_code == 2, done.output
    assert levels < 30 or "TenantClaim acme: expected fewer levels of nesting" in done.output
