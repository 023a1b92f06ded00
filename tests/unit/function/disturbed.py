"""The requests of the cases, disturbed: what no one should send, and some will."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function.protocol import structs

JUNK: tuple[Any, ...] = (
    None,
    True,
    7,
    -1.5,
    "",
    "a.example.com",
    "*.example.com",
    "Bücher.example",
    "a\x00\u202e",
    "x" * 300,
    [],
    ["a", 1, {}],
    {},
    {"zeta": 1, "alpha": {"q\x02": 2, "b": 3}, "mid": ["m"]},
)
FIELDS = ("domains", "isolation", "tags", "plan", "conditions", "reason", "message", "type", "status", "name")
"""Names that mean something in one place or another, put where they do not."""


def requests(cases: list[fnv1.RunFunctionRequest], seed: int, each: int) -> Iterator[fnv1.RunFunctionRequest]:
    """The cases as they are, and each disturbed several times; equal seeds give equal requests."""
    random = Random(seed)
    for case in cases:
        yield case
        for _ in range(each):
            yield _disturbed(case, random)


def _disturbed(case: fnv1.RunFunctionRequest, random: Random) -> fnv1.RunFunctionRequest:
    req = fnv1.RunFunctionRequest.FromString(case.SerializeToString(deterministic=True))
    for place in random.choices(_places(req), k=random.randint(1, 2)):
        # A map of protobuf has an order of its own in each process, so the keys are sorted.
        whole = json.loads(json.dumps(structs.plain_object(place), sort_keys=True))
        random.choice(DISTURBANCES)(random.choice([whole, *_objects(whole)]), random)
        place.Clear()
        place.update(whole)
    return req


def _places(req: fnv1.RunFunctionRequest) -> list[Struct]:
    # What is observed comes most often: a claim or an input that cannot be read hides all that follows.
    observed = [req.observed.resources[name].resource for name in sorted(req.observed.resources)]
    answers = [req.required_resources[name] for name in sorted(req.required_resources)]
    required = [item.resource for answer in answers for item in answer.items]
    return [req.observed.composite.resource, req.input, *required, *observed * 4]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in below:
        if isinstance(each, dict):
            yield each
        yield from _objects(each)


def _more(found: dict[str, Any], random: Random) -> None:
    """Several unknown fields: what the message says of them must have one order."""
    names = [f"x{random.randrange(1000)}" for _ in range(random.randint(2, 9))]
    found.update({name: random.choice(JUNK) for name in [*names, random.choice(FIELDS)]})


def _other(found: dict[str, Any], random: Random) -> None:
    """Other values for fields that are there."""
    for name in random.sample(list(found), k=min(len(found), random.randint(1, 4))):
        found[name] = random.choice(JUNK)


def _less(found: dict[str, Any], random: Random) -> None:
    for name in random.sample(list(found), k=min(len(found), random.randint(1, 2))):
        del found[name]


DISTURBANCES: tuple[Callable[[dict[str, Any], Random], None], ...] = (_more, _other, _less)
