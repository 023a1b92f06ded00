"""Objects that are deeper than protobuf for Python reads: the answer says whose claim it is, and what is too
deep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.message import DecodeError

from function.claims import claim
from function.protocol import unreadable
from function.protocol.wire import sized
from function.serving import server
from tests.unit.function import building

SECONDS = 20


def _deep(levels: int) -> bytes:
    """A Value of so many objects inside each other."""
    value = sized(3, b"x")
    for _ in range(levels):
        value = sized(5, _entry(b"a", value))
    return value


def _entry(key: bytes, value: bytes) -> bytes:
    return sized(1, sized(1, key) + sized(2, value))


def _composite(*way: bytes, levels: int) -> bytes:
    value = _deep(levels)
    for key in reversed(way[1:]):
        value = sized(5, _entry(key, value))
    return sized(2, sized(1, sized(1, _entry(way[0], value))))


def _resource(state: int, name: bytes, levels: int) -> bytes:
    resource = sized(1, _entry(b"spec", _deep(levels)))
    return sized(state, sized(2, sized(1, name) + sized(2, resource)))


REQUEST = building.request(observed={"tenant": {"status": building.live_status()}}).SerializeToString()
CASES: dict[str, tuple[bytes, str]] = {
    "a field of the claim": (_composite(b"extra", levels=40), "The composite, extra.a.a, has"),
    "a field below": (_composite(b"status", b"odd", levels=40), "The composite, status.odd.a, has"),
    "a field far below": (
        _composite(b"status", b"b", b"c", b"d", levels=40),
        "The composite, status.b.c, has",
    ),
    "the first of several": (
        _composite(b"zeta", levels=40) + _composite(b"beta", levels=40),
        "The composite, beta.a.a, has",
    ),
    "a resource": (_resource(2, b"settings", 40), "The resource settings, spec.a.a, has"),
    "a resource of an earlier step": (
        _resource(3, b"settings", 40),
        "The resource settings of an earlier step, spec.a.a, has",
    ),
    "the input": (sized(4, _entry(b"plans", _deep(40))), "The function's input, plans.a.a, has"),
    "the context": (sized(5, _entry(b"apps", _deep(40))), "The context, apps.a.a, has"),
    "hundreds of levels": (_composite(b"extra", levels=900), "The composite, extra.a.a, has"),
    "a level too many": (_composite(b"extra", levels=32), "The composite, extra.a.a, has"),
}


@pytest.fixture(scope="module")
def channel() -> Iterator[grpc.Channel]:
    running = server.Server(server.Settings("127.0.0.1:0", None, 2**22, 2**22))
    port = running.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    running.stop(0)


def _call(channel: grpc.Channel, request: bytes) -> fnv1.RunFunctionResponse:
    call: Any = channel.unary_unary(f"/{server.SERVICES[0]}/RunFunction")
    return fnv1.RunFunctionResponse.FromString(call(request, timeout=SECONDS))


@pytest.mark.parametrize("case", CASES)
def test_what_is_too_deep_is_told_and_named(channel: grpc.Channel, case: str) -> None:
    extra, said = CASES[case]
    with pytest.raises(DecodeError):
        fnv1.RunFunctionRequest.FromString(REQUEST + extra)

    rsp = _call(channel, REQUEST + extra)

    assert rsp.meta.tag == "t"
    assert building.results(rsp) == [["FATAL", "Failed"]]
    assert rsp.results[0].message.startswith(said), rsp.results[0].message
    # What is served is not known: core makes unknown what is not told.
    assert building.conditions(rsp).keys() == {"Degraded"}
    assert building.conditions(rsp)["Degraded"][:2] == ("True", "ClaimRefused")
    assert not rsp.desired.resources


@pytest.mark.parametrize("case", CASES)
def test_the_claim_is_known_by_its_name(case: str) -> None:
    found = claim.identify(unreadable.salvage(REQUEST + CASES[case][0]).composite)

    assert (found.namespace, found.name, found.uid) == ("shop", "acme", "u-1")


def test_thirty_levels_are_read(channel: grpc.Channel) -> None:
    rsp = _call(channel, REQUEST + _composite(b"status", levels=unreadable.LEVELS))

    assert building.live(rsp)[:2] == ("True", "Live")


@pytest.mark.parametrize("request_", [b"\xff" * 100, b"\x12\x7f", sized(2, b"\x0b"), b"\x80" * 20])
def test_what_is_no_request_is_an_error(channel: grpc.Channel, request_: bytes) -> None:
    with pytest.raises(grpc.RpcError) as error:
        _call(channel, request_)

    assert error.value.code() == grpc.StatusCode.INTERNAL


def _managers(levels: int) -> bytes:
    """Metadata with deep managedFields, as an entry of a Struct."""
    return _entry(b"metadata", sized(5, _entry(b"managedFields", _deep(levels))))


def test_deep_managed_fields_are_left_out(channel: grpc.Channel) -> None:
    """A user can nest them as he likes."""
    claims, named = sized(1, sized(1, _managers(40))), sized(1, b"tenant")
    deep = (
        sized(2, sized(1, sized(1, _managers(40)))),
        sized(2, sized(2, named + sized(2, sized(1, _managers(40))))),
        sized(3, sized(2, sized(1, b"theirs") + sized(2, sized(1, _managers(40))))),
        sized(6, sized(1, b"x") + sized(2, claims)),
        sized(8, sized(1, b"claims") + sized(2, claims)),
    )
    for each in deep:
        with pytest.raises(DecodeError):
            fnv1.RunFunctionRequest.FromString(each)
        read = fnv1.RunFunctionRequest.FromString(unreadable.without_managed_fields(each))
        assert "managedFields" not in str(read)
        assert "metadata" in str(read)
    rsp = _call(channel, REQUEST + deep[-1])
    assert building.live(rsp)[:2] == ("True", "Live")


def test_nothing_else_is_left_out() -> None:
    assert unreadable.without_managed_fields(REQUEST) == REQUEST
