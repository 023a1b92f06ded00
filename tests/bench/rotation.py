"""The function through thousands of claims in turn, beside the same work in the SDK's dict style and in Go.

An installation has thousands of claims, and Crossplane asks for each about once a minute: by the time that
one comes again, whatever remembers the last hundreds has forgotten it. So every claim is asked for once, in
turn, and then all of them again. No two requests are alike: claims have names, uids, domains and parameters
of their own, and since the last time the claim and one of its tenants have changed: versions and an ETag, and
in every fourth request a condition's message. Where all have such news, nothing that is remembered of a claim
is of use. Of ten claims one rolls out a change, and one waits for a certificate.

Before anything is measured, all three must give the same answer: composed resources and which of them are
ready, the composite's status, conditions and events.

What is measured is the CPU time of the process, whatever it waits for, in blocks in turn: ours, Go, dicts.
The first time through fills what is remembered and does not count.
"""

import os
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.bench.claims import ALWAYS, PLANS, SELDOM, request
from tests.bench.composition import Function, Program, certificates, dict_style, function, ours
from tests.bench.environments import go_program

SIZES = (1, 10, 100)
"""Tenants of each claim."""
CLAIMS = int(os.environ.get("BENCH_CLAIMS", "5000"))
FEWER = {(1, ALWAYS): 5, (10, ALWAYS): 5, (100, SELDOM): 5, (100, ALWAYS): 10}
"""Through how many the claims are divided: 1,000 of 100 tenants have 100,000, and for news alone it makes no
difference how many there are."""
BLOCKS = 50
DICT_SAMPLE = {10: 5, 100: 10}
"""Of how many calls the dict style gets one: it takes many times as long, and remembers nothing."""
CHECKED = 20
"""Claims for which the answers are compared."""

Spent = tuple[int, float]
"""Calls, and milliseconds of CPU of each."""


@dataclass(frozen=True)
class Turn:
    """What one function needed in one rotation."""

    name: str
    function: str
    tenants: int
    news: int
    """With how many calls of a claim one has news."""
    claims: int
    calls: int
    cpu_ms: float
    """Of a call, the median of the blocks."""
    ours_to_this: float | None
    """Our CPU time through this one's, the median of the blocks: below 1 ours needs less. None for ours."""
    ratio_min: float | None
    ratio_max: float | None
    memory_mb_first: float
    """Resident after each claim was asked for once."""
    memory_mb: float
    """Resident at the end."""


def turns(sizes: Sequence[int] = SIZES) -> list[Turn]:
    """Measure all, size by size; each function is one process throughout."""
    with TemporaryDirectory() as folder, ExitStack() as open_:
        authority = certificates(Path(folder))
        functions = [
            open_.enter_context(function(authority, Path(folder), program))
            for program in programs(Path(folder))
        ]
        return [turn for size in sizes for news in (SELDOM, ALWAYS) for turn in rotate(functions, size, news)]


def programs(folder: Path) -> list[Program]:
    """Ours first, then the function in Go where there is Go, then the dict style."""
    found = [ours(folder)]
    go = go_program("gofunction", "a function on function-sdk-go")
    if go is not None:
        found.append(Program("function-sdk-go v0.7.1 (Go)", (str(folder),), str(go), PLANS))
    return [*found, dict_style(folder)]


def rotate(functions: Sequence[Function], size: int, news: int) -> list[Turn]:
    """All claims twice, of which the second time counts."""
    claims = CLAIMS // FEWER.get((size, news), 1)
    for claim in range(CHECKED):
        check(functions, request(claim, size, visit=0))
    # Neighbours, so that each block has as many calls with news and as many claims of each state.
    blocks = [
        range(claims)[claims * place // BLOCKS : claims * (place + 1) // BLOCKS] for place in range(BLOCKS)
    ]
    for block in blocks:
        spend(functions, [request(claim, size, 1, news) for claim in block], size)
    first = [resident(each.pid) for each in functions]
    spent = [spend(functions, [request(claim, size, 2, news) for claim in block], size) for block in blocks]
    return [
        turn(each, (size, news, claims), [(block[0], block[index]) for block in spent], first[index])
        for index, each in enumerate(functions)
    ]


def spend(functions: Sequence[Function], requests: Sequence[bytes], size: int) -> list[Spent]:
    """Ask each function."""
    found = []
    for each in functions:
        asked = requests[:: DICT_SAMPLE.get(size, 1)] if each is functions[-1] else requests
        before = cpu_seconds(each.pid)
        for one in asked:
            each.call(one)
        found.append((len(asked), (cpu_seconds(each.pid) - before) * 1000 / len(asked)))
    return found


def turn(
    function: Function, run: tuple[int, int, int], blocks: Sequence[tuple[Spent, Spent]], first: float
) -> Turn:
    size, news, claims = run
    ratios = [ours / this for (_, ours), (_, this) in blocks]
    alone = blocks[0][0] is blocks[0][1]
    return Turn(
        name="rotation",
        function=function.name,
        tenants=size,
        news=news,
        claims=claims,
        calls=sum(calls for _, (calls, _) in blocks),
        cpu_ms=round(statistics.median(spent for _, (_, spent) in blocks), 3),
        ours_to_this=None if alone else round(statistics.median(ratios), 2),
        ratio_min=None if alone else round(min(ratios), 2),
        ratio_max=None if alone else round(max(ratios), 2),
        memory_mb_first=round(first, 1),
        memory_mb=round(resident(function.pid), 1),
    )


def check(functions: Sequence[Function], request: bytes) -> None:
    """All must answer the same."""
    said = [answer(each, request) for each in functions]
    for each, one in zip(functions, said, strict=True):
        if one != said[0]:
            raise RuntimeError(f"{each.name} answers\n{one}\nand {functions[0].name}\n{said[0]}")


def answer(function: Function, request: bytes) -> fnv1.RunFunctionResponse:
    """Without what each SDK has a default of its own for: how long it may be reused, and an empty context."""
    found = fnv1.RunFunctionResponse.FromString(function.call(request))
    found.meta.ClearField("ttl")
    found.ClearField("context")
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, of all its threads, user and system: its clock, as
    clock_getcpuclockid(3) names it."""
    return time.clock_gettime(~pid << 3 | 2)


def resident(pid: int) -> float:
    """Resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
