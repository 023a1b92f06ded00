"""The function with thousands of claims in turn, against the same composition in dict style and in Go.

An installation has thousands of claims, and Crossplane calls the function for each about once a minute. By
then, a cache of some hundred claims no longer contains it. So the benchmark sends a request for every claim
in turn, and then for all of them again. All requests differ: claims have their own names, uids, domains and
parameters, and since the previous request the claim and one of its tenants have changed: versions and an
ETag, and in every fourth request a condition's message. Where every request has such news, cached results
of a claim are useless. Of ten claims, one rolls out a change and one waits for a certificate.

Before the measurement, all three must return the same response: composed resources and their readiness, the
composite's status, conditions and events.

The benchmark measures the CPU time of the process, in alternating blocks: ours, Go, dict style. The first
round fills caches and does not count.
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
"""Tenants per claim."""
CLAIMS = int(os.environ.get("BENCH_CLAIMS", "5000"))
FEWER = {(1, ALWAYS): 5, (10, ALWAYS): 5, (100, SELDOM): 5, (100, ALWAYS): 10}
"""Divisors of the number of claims: 1,000 claims of 100 tenants already have 100,000 tenants, and where every
request has news, the number of claims makes no difference."""
BLOCKS = 50
DICT_SAMPLE = {10: 5, 100: 10}
"""The dict style gets one of this many calls, because it is much slower and caches nothing."""
CHECKED = 20
"""How many claims' responses are compared."""

Spent = tuple[int, float]
"""The number of calls, and CPU milliseconds per call."""


@dataclass(frozen=True)
class Turn:
    """The result of one function in one rotation."""

    name: str
    function: str
    tenants: int
    news: int
    """One of how many calls for a claim has news."""
    claims: int
    calls: int
    cpu_ms: float
    """CPU time per call, the median of the blocks."""
    ours_to_this: float | None
    """Our CPU time divided by this function's, the median of the blocks: below 1, ours takes less. None for
    ours."""
    ratio_min: float | None
    ratio_max: float | None
    memory_mb_first: float
    """Resident memory after the first round."""
    memory_mb: float
    """Resident memory at the end."""


def turns(sizes: Sequence[int] = SIZES) -> list[Turn]:
    """Measure all sizes. Each function keeps its process."""
    with TemporaryDirectory() as folder, ExitStack() as open_:
        authority = certificates(Path(folder))
        functions = [
            open_.enter_context(function(authority, Path(folder), program))
            for program in programs(Path(folder))
        ]
        return [turn for size in sizes for news in (SELDOM, ALWAYS) for turn in rotate(functions, size, news)]


def programs(folder: Path) -> list[Program]:
    """Our function, then the one in Go if Go is installed, then the dict style."""
    found = [ours(folder)]
    go = go_program("gofunction", "a function on function-sdk-go")
    if go is not None:
        found.append(Program("function-sdk-go v0.7.1 (Go)", (str(folder),), str(go), PLANS))
    return [*found, dict_style(folder)]


def rotate(functions: Sequence[Function], size: int, news: int) -> list[Turn]:
    """Measure all claims twice; the second round counts."""
    claims = CLAIMS // FEWER.get((size, news), 1)
    for claim in range(CHECKED):
        check(functions, request(claim, size, visit=0))
    # Adjacent claims, so that each block has the same share of calls with news and of each state.
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
    """Send the requests to each function."""
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
    """Check that all functions return the same response."""
    said = [answer(each, request) for each in functions]
    for each, one in zip(functions, said, strict=True):
        if one != said[0]:
            raise RuntimeError(f"{each.name} returns\n{one}\nand {functions[0].name}\n{said[0]}")


def answer(function: Function, request: bytes) -> fnv1.RunFunctionResponse:
    """The response without the fields for which the SDKs have different defaults: TTL and empty context."""
    found = fnv1.RunFunctionResponse.FromString(function.call(request))
    found.meta.ClearField("ttl")
    found.ClearField("context")
    return found


def cpu_seconds(pid: int) -> float:
    """The user and system CPU time of all threads of a process so far, from the clock of
    clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def resident(pid: int) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
