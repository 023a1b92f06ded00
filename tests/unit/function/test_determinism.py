"""Replicas of the function are processes with memories of their own, and Crossplane asks now this one, now
that one: an answer that hung on the process would have them write the claim's status in turns."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from tests.unit.function import building, disturbed, test_cases

SEED, OF_EACH_CASE = 20261122, 4
_LENGTH = struct.Struct("!I")

REPLICA = """
import sys
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from function import fn
from function.serving import server
from function.serving.metrics import Metrics
from function.serving.tracing import NoSpans
from tests.unit.function import test_determinism as wire
calls = server._Calls(fn.run, Metrics(), NoSpans())
for each in wire.unframed(sys.stdin.buffer.read()):
    made = server._serialize(fn.run(fnv1.RunFunctionRequest.FromString(each)).response)
    # As the server answers: the second time, where nothing happened, it gives the same answer again.
    answers = [calls._answer(each)[2] for _ in range(2)]
    assert answers == [made, made]
    sys.stdout.buffer.write(wire.framed([made]))
"""


BROKEN = {f"plan-{number}": {"zeta": 1, "name": 2, "alpha": 3} for number in range(5)}


def _requests() -> list[fnv1.RunFunctionRequest]:
    cases = [test_cases._request(case.values[0]) for case in test_cases.CASES]
    return list(disturbed.requests([*cases, *_sourced()], SEED, OF_EACH_CASE))


def _sourced() -> Iterator[fnv1.RunFunctionRequest]:
    """With plans from elsewhere, and for a report."""
    req = building.request(input_={"plansFrom": [{"environmentConfig": {"name": "shelf"}}]})
    found = {"metadata": {"name": "shelf"}, "data": {"plans": BROKEN}}
    req.required_resources["plans-0"].items.add().resource.update(found)
    yield req
    report = fnv1.RunFunctionRequest()
    report.input.update({"apiVersion": building.INPUT["apiVersion"], "kind": "TenantReport", "x": 1, "a": 2})
    yield report


def framed(messages: Sequence[bytes]) -> bytes:
    return b"".join(_LENGTH.pack(len(each)) + each for each in messages)


def unframed(read: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(read):
        (length,) = _LENGTH.unpack_from(read, place)
        place += _LENGTH.size + length
        yield read[place - length : place]


def _answers(hash_seed: int, order: Sequence[int], requests: Sequence[bytes]) -> list[bytes]:
    """What a process of its own answers, which is asked in this order; by the places of the requests."""
    done = subprocess.run(
        [sys.executable, "-c", REPLICA],
        input=framed([requests[place] for place in order]),
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        check=False,
        # Where a copy of the function is under test, it is on the path before this one.
        cwd=Path.cwd(),
    )
    assert done.returncode == 0, done.stderr.decode()
    by_place = dict(zip(order, unframed(done.stdout), strict=True))
    return [by_place[place] for place in range(len(requests))]


def test_each_process_answers_the_same_bytes_whatever_it_was_asked_before() -> None:
    requests = [each.SerializeToString(deterministic=True) for each in _requests()]
    forth = range(len(requests))
    orders = (forth, forth, forth[::-1], sorted(forth, key=lambda place: (place % 7, place)))

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(_answers, range(1, 5), orders, [requests] * len(orders)))

    for one, *others in zip(*answers, strict=True):
        told = [fnv1.RunFunctionResponse.FromString(each) for each in (one, *others)]
        assert all(each == told[0] for each in told)
        assert {one} == set(others)


def test_the_disturbed_requests_reach_far() -> None:
    """Of requests that all end at the first check nothing would be learnt."""
    reasons = [fn.run(each).reason for each in _requests()]
    assert len(set(reasons)) >= 12
    assert sum(reason in {"InvalidClaim", "PlanInvalid"} for reason in reasons) < len(reasons) / 2
