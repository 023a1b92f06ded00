"""Stand-ins for other people's functions, as far as the examples use them: their packages need a container
engine. What an example asks of them beyond that fails here, so that no golden output rests on a guess.

function-patch-and-transform   FromCompositeFieldPath, ToCompositeFieldPath and CombineFromComposite with
                               string formats; readiness by the condition Ready, or none
function-go-templating         inline templates with paths below `.observed.composite.resource` and `toJson`
function-python                scripts with `compose(req, rsp)`, as there: executed beside the same SDK
function-auto-ready            ready where no one has said anything and the observed condition Ready is True
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import yaml
from crossplane.function import resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from function.protocol import structs

Json = dict[str, Any]
Function = Callable[[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse], None]

_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\[([^\]]+)\]")


def _steps(path: str) -> list[str | int]:
    assert _STEP.sub("", path) == "", f"a path that is not understood: {path}"
    return [int(number) if number else word or quoted for word, number, quoted in _STEP.findall(path)]


def get(value: Any, path: str) -> Any:
    """What stands at a field path; None where there is nothing."""
    for step in _steps(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def put(value: Json, path: str, what: Any) -> None:
    """Write at a field path of objects."""
    *way, last = _steps(path)
    for step in way:
        value = value.setdefault(step, {})  # type: ignore[arg-type]
    value[last] = what  # type: ignore[index]


# function-patch-and-transform


def patch_and_transform(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse) -> None:
    xr = structs.plain_object(req.observed.composite.resource)
    input_ = structs.plain_object(req.input)
    assert set(input_) == {"apiVersion", "kind", "resources"}, input_
    for each in input_["resources"]:
        assert set(each) <= {"name", "base", "patches", "readinessChecks"}, each
        base, name = each["base"], each["name"]
        seen = _seen(req, name)
        for patch in each.get("patches", ()):
            _patch(patch, xr, base, seen, rsp)
        resource.update(rsp.desired.resources[name], base)
        if seen is not None and _is_ready(each.get("readinessChecks"), seen):
            rsp.desired.resources[name].ready = fnv1.READY_TRUE


def _seen(req: fnv1.RunFunctionRequest, name: str) -> Json | None:
    return (
        structs.plain_object(req.observed.resources[name].resource)
        if name in req.observed.resources
        else None
    )


def _patch(patch: Json, xr: Json, base: Json, seen: Json | None, rsp: fnv1.RunFunctionResponse) -> None:
    to = patch["toFieldPath"]
    if patch["type"] == "FromCompositeFieldPath":
        found = _transformed(get(xr, patch["fromFieldPath"]), patch.get("transforms", ()))
        if found is not None:  # patches are optional unless they say otherwise
            put(base, to, found)
    elif patch["type"] == "ToCompositeFieldPath":
        found = get(seen, patch["fromFieldPath"])
        if found is not None:
            status: Json = {}
            put(status, to, found)
            resource.update(rsp.desired.composite, status)
    elif patch["type"] == "CombineFromComposite":
        combine = patch["combine"]
        assert combine["strategy"] == "string", combine
        values = tuple(get(xr, each["fromFieldPath"]) for each in combine["variables"])
        if None not in values:
            put(base, to, combine["string"]["fmt"] % values)
    else:
        raise AssertionError(patch)


def _transformed(value: Any, transforms: Iterable[Json]) -> Any:
    for each in transforms:
        assert each["type"] == "string", each
        assert each["string"]["type"] == "Format", each
        value = None if value is None else each["string"]["fmt"] % value
    return value


def _is_ready(checks: list[Json] | None, seen: Json) -> bool:
    ready = {"type": "MatchCondition", "matchCondition": {"type": "Ready", "status": "True"}}
    (check,) = checks or [ready]
    if check == {"type": "None"}:
        return True
    assert check == ready, check
    return _holds_ready(seen)


def _holds_ready(seen: Json) -> bool:
    conditions = seen.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


# function-go-templating

_COMPOSITE = "{{ $xr := .observed.composite.resource }}"
_NAME = "gotemplating.fn.crossplane.io/composition-resource-name"


def go_templating(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse) -> None:
    input_ = structs.plain_object(req.input)
    assert input_["source"] == "Inline"
    xr = structs.plain_object(req.observed.composite.resource)
    template = input_["inline"]["template"].replace(_COMPOSITE, "")
    for value in yaml.safe_load_all(_filled(template, xr)):
        if value:
            name = value["metadata"]["annotations"].pop(_NAME)
            resource.update(rsp.desired.resources[name], value)


def _filled(template: str, xr: Json) -> str:
    def fill(match: re.Match[str]) -> str:
        found = get(xr, match[1])
        assert found is not None, match[0]
        return json.dumps(found) if match[2] else str(found)

    filled = re.sub(r"\{\{ \$xr\.([a-z.]+)( \| toJson)? \}\}", fill, template)
    assert "{{" not in filled, filled
    return filled


# function-python, function-auto-ready


def python(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse) -> None:
    module: Json = {}
    exec(structs.plain_object(req.input)["script"], module)
    module["compose"](req, rsp)


def auto_ready(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse) -> None:
    for name, desired in rsp.desired.resources.items():
        seen = _seen(req, name)
        if desired.ready == fnv1.READY_UNSPECIFIED and seen is not None and _holds_ready(seen):
            desired.ready = fnv1.READY_TRUE


FUNCTIONS: Mapping[str, Function] = {
    "function-patch-and-transform": patch_and_transform,
    "function-go-templating": go_templating,
    "function-python": python,
    "function-auto-ready": auto_ready,
}


class _Servicer(grpcv1.FunctionRunnerServiceServicer):
    def __init__(self, function: Function) -> None:
        self.function = function

    def RunFunction(  # noqa: N802 - the name in the protocol
        self, request: fnv1.RunFunctionRequest, context: grpc.ServicerContext
    ) -> fnv1.RunFunctionResponse:
        answer = response.to(request)
        try:
            self.function(request, answer)
        except Exception as error:  # noqa: BLE001 - told to anyone who renders
            response.fatal(answer, f"stand-in: {error!r}")
        return answer


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """The address of each function, while they are served without TLS."""
    servers, addresses = [], {}
    for name, function in FUNCTIONS.items():
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
        grpcv1.add_FunctionRunnerServiceServicer_to_server(_Servicer(function), server)
        addresses[name] = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        servers.append(server)
    try:
        yield addresses
    finally:
        for server in servers:
            server.stop(None).wait()
