"""What the function remembers does not grow with what a user writes and edits again and again."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from function.claims.claim import CONFIRM
from function.serving import server
from function.serving.metrics import Metrics
from function.serving.tracing import NoSpans
from tests.unit.function import building

EDITS = 12
WORDS = "m" * 32_000


def large(edit: int) -> dict[str, str]:
    """Labels or annotations of a quarter of a megabyte, others with each edit."""
    return {f"k{edit}-{number}": "x" * 60 for number in range(3000)}


def tokens(edit: int) -> str:
    return ",".join(f"{edit:04x}{number:06x}" for number in range(20_000))


def forged(edit: int) -> dict[str, Any]:
    told = [building.condition(f"T{number}", "True", "X", f"{edit}{WORDS}") for number in range(30)]
    return {"conditions": [*told, building.condition("Ready", "True", "Available", f"{edit}{WORDS}")]}


def selected(edit: int) -> dict[str, Any]:
    chosen = {"compositionRevisionSelector": {"matchLabels": large(edit) | large(-edit - 1)}}
    return {"domains": ["acme.example.com"], "crossplane": chosen}


def names(edit: int) -> list[str]:
    return [f"{edit}-{number}-{'x' * 200}.example.com" for number in range(500)]


def instructed(edit: int) -> dict[str, Any]:
    """A resource that asks for very many DNS records, and has very many domains."""
    records = [{"name": name, "type": "CNAME", "value": name, "purpose": "Routing"} for name in names(edit)]
    domains = [{"domain": name, "status": "active"} for name in names(edit)]
    return {"status": {"dnsInstructions": records, "atProvider": {"id": "dt_1", "domains": domains}}}


HOSTILE = {
    "confirmations": lambda edit: {"xr": {"metadata": {"annotations": {CONFIRM: tokens(edit)}}}},
    "labels": lambda edit: {"xr": {"metadata": {"labels": large(edit)}}},
    "fields of core": lambda edit: {"spec": selected(edit)},
    "conditions": lambda edit: {"xr": {"status": forged(edit)}},
    "records of managed resources": lambda edit: {"observed": {"tenant": instructed(edit)}},
    "specs of managed resources": lambda edit: {
        "observed": {"tenant": {"spec": {"forProvider": {"domains": names(edit)}}}}
    },
    "managed resources": lambda edit: {
        "observed": {"tenant": {"metadata": {"annotations": large(edit)}, "status": forged(edit)}}
    },
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_edits_of_what_is_large_are_not_kept(what: str) -> None:
    calls = server._Calls(fn.run, Metrics(), NoSpans())

    def run(edit: int) -> fnv1.RunFunctionResponse:
        req = building.request(**HOSTILE[what](edit)).SerializeToString()
        return fnv1.RunFunctionResponse.FromString(calls._answer(req)[2])

    run(EDITS)
    tracemalloc.start()
    for edit in range(EDITS):
        rsp = run(edit)
        assert building.live(rsp)[1] in {"Creating", "Live"}
    del rsp
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < EDITS * 60_000


def test_labels_that_the_plan_wants_as_tags_are_still_had() -> None:
    rsp = building.run(
        building.request(
            xr={"metadata": {"labels": large(0) | {"team": "blue"}}},
            input_={"plans": {"standard": {"tagsFromLabels": ["team"]}}},
        )
    )
    assert building.desired(rsp)["tenant"]["spec"]["forProvider"]["tags"] == {"team": "blue"}
