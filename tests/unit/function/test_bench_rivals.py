"""What the bench compares does the same work: else `make bench` stops, and no test would have said so."""

import asyncio

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.bench.claims import request
from tests.bench.functions.dict_style import Composer
from tests.unit.function import building


def plain(rsp: fnv1.RunFunctionResponse) -> fnv1.RunFunctionResponse:
    """Without what the SDK has a default of its own for, as the bench compares it."""
    rsp.meta.ClearField("ttl")
    rsp.ClearField("context")
    return rsp


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("visit", [0, 1, 2])
def test_the_dict_style_answers_as_the_function_does(size: int, visit: int) -> None:
    for claim in range(20):
        asked = request(claim, size, visit=visit)
        theirs = asyncio.run(Composer().RunFunction(fnv1.RunFunctionRequest.FromString(asked), None))
        ours = building.run(fnv1.RunFunctionRequest.FromString(asked))
        assert plain(theirs) == plain(ours)
