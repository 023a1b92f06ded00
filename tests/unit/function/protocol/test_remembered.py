"""The last answer to each claim, given again: only to the same question, and with the same bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from function.answer import response
from function.protocol import remembered
from function.protocol.remembered import Answers, Parsed, Question
from function.serving import questions, server
from function.serving.metrics import Metrics
from function.serving.tracing import NoSpans
from tests.unit.function import building

TOLD = {"conditions": [building.condition("Live", "True", "Live")]}
OBSERVED = {
    "tenant": {
        "metadata": {"resourceVersion": "1", "managedFields": [{"manager": "provider"}], "uid": "u-2"},
        "status": building.merged(building.live_status(), {"atProvider": {"etag": "E1"}}),
    }
}

Change = Callable[[fnv1.RunFunctionRequest], object]


def settled(**more: Any) -> fnv1.RunFunctionRequest:
    """A request with nothing to tell."""
    chosen = {"crossplane": {"compositionRef": {"name": "a"}, "resourceRefs": []}}
    given: Mapping[str, Any] = {"xr": {"status": TOLD, "spec": chosen}, "observed": OBSERVED} | more
    return building.request(**given)


class Counted:
    """The function, and how often it was asked."""

    def __init__(self) -> None:
        self.times = 0
        self.calls = server._Calls(self.run, Metrics(), NoSpans())

    def run(self, req: fnv1.RunFunctionRequest) -> fn.Answer:
        self.times += 1
        return fn.run(req)

    def __call__(self, req: fnv1.RunFunctionRequest) -> bytes:
        return self.calls._answer(req.SerializeToString())[2]


def fresh(req: fnv1.RunFunctionRequest) -> bytes:
    return server._serialize(fn.run(req).response)


def _tenant(req: fnv1.RunFunctionRequest) -> Any:
    return req.observed.resources["tenant"].resource


UNREAD: dict[str, Change] = {
    "nothing": lambda _: None,
    "the claim's version": lambda req: req.observed.composite.resource["metadata"].update(
        {"resourceVersion": "2"}
    ),
    "what core keeps in the claim": lambda req: req.observed.composite.resource["spec"]["crossplane"].update(
        {"resourceRefs": [{"name": "b"}]}
    ),
    "what the function wrote before": lambda req: req.observed.composite.resource["status"].update(
        {"phase": "Pending"}
    ),
    "a tenant's version": lambda req: _tenant(req)["metadata"].update({"resourceVersion": "2"}),
    "who wrote which field": lambda req: _tenant(req)["metadata"].update({"managedFields": []}),
    "a tenant's ETag": lambda req: _tenant(req)["status"]["atProvider"].update({"etag": "E2"}),
    "a resource of another step": lambda req: req.observed.resources["bucket"].resource.update(
        {"kind": "Bucket"}
    ),
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_no_answer_is_made_from_changes_no_question(what: str) -> None:
    function, req = Counted(), settled()
    first = function(req)
    UNREAD[what](req)
    assert (function(req), function.times) == (first, 1)
    assert first == fresh(req)


READ: dict[str, Change] = {
    "the claim's spec": lambda req: req.observed.composite.resource["spec"].update({"suspended": True}),
    "the claim's Composition": lambda req: req.observed.composite.resource["spec"]["crossplane"].update(
        {"compositionRef": {"name": "b"}}
    ),
    "the claim's labels": lambda req: req.observed.composite.resource["metadata"].update(
        {"labels": {"team": "blue"}}
    ),
    "what was told": lambda req: req.observed.composite.resource["status"].update(
        {"conditions": [building.condition("Live", "False", "Creating")]}
    ),
    "the plan": lambda req: req.input["plans"]["standard"].update({"tags": {"a": "b"}}),
    "a condition's message": lambda req: _tenant(req)["status"]["conditions"][1].update({"message": "x"}),
    "a domain's state": lambda req: _tenant(req)["status"]["atProvider"]["domains"][0].update(
        {"status": "inactive"}
    ),
    "a tenant that is gone": lambda req: req.observed.resources.clear(),
    "a tenant that is being deleted": lambda req: _tenant(req)["metadata"].update(
        {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    ),
    "what an earlier step wants": lambda req: req.desired.resources["bucket"].resource.update(
        {"kind": "Bucket"}
    ),
    "the context": lambda req: req.context.update({"a": "b"}),
    "what was required": lambda req: req.required_resources["plans-0"].items.add(),
    "what core can do": lambda req: req.meta.capabilities.append(fnv1.CAPABILITY_REQUIRED_RESOURCES),
}


@pytest.mark.parametrize("what", READ)
def test_what_is_read_changes_the_question(what: str) -> None:
    function, req = Counted(), settled()
    function(req)
    READ[what](req)
    assert (function(req), function.times) == (fresh(req), 2)


def test_each_answer_has_the_tag_of_its_request() -> None:
    function, req = Counted(), settled()
    for tag in ("one", "two", ""):
        req.meta.tag = tag
        assert function(req) == fresh(req)
    assert function.times == 1


def test_other_composites_have_answers_of_their_own() -> None:
    function, other = Counted(), settled()
    other.observed.composite.resource["metadata"].update({"uid": "u-9", "name": "other"})
    for req in (settled(), other, settled(), other):
        assert function(req) == fresh(req)
    assert function.times == 2


TOLD_ANEW: dict[str, Callable[[], fnv1.RunFunctionRequest]] = {
    "an event": lambda: settled(xr={}),
    "a refusal": lambda: settled(spec={"domains": []}),
    "no uid": lambda: settled(xr={"metadata": {"uid": None}, "status": TOLD}),
}


@pytest.mark.parametrize("what", TOLD_ANEW)
def test_what_must_be_told_anew_is_not_kept(what: str) -> None:
    function, req = Counted(), TOLD_ANEW[what]()
    assert function(req) == function(req) == fresh(req)
    assert function.times == 2


def test_connection_details_are_not_kept() -> None:
    function, req = Counted(), settled()
    req.desired.composite.connection_details["password"] = b"secret"
    assert function(req) == function(req) == fresh(req)
    assert function.times == 2


def _answer(number: int, size: int = 2000) -> fnv1.RunFunctionResponse:
    rsp = fnv1.RunFunctionResponse()
    # What does not get smaller by being compressed.
    noise = (f"{number}-{each * 7919 % 104729}" for each in range(size // 8))
    rsp.desired.composite.resource.update({"text": "".join(noise)})
    return rsp


def _keep(answers: Answers, number: int, size: int = 2000, asker: str | None = None) -> Question:
    question = questions.question(settled(xr={"metadata": {"uid": asker or f"u-{number}"}}))
    question = Question(question.asker, question.digest[:-4] + number.to_bytes(4))
    answers.keep(question, rsp := _answer(number, size), server._serialize(rsp))
    return question


def test_there_is_an_end_to_what_is_kept() -> None:
    answers = Answers(most=50_000)
    for number in range(200):
        _keep(answers, number)
        assert answers.size <= 50_000
    assert len(answers) > 10


def test_an_author_who_edits_a_claim_again_and_again_takes_the_place_of_one() -> None:
    answers = Answers(most=50_000)
    others = [_keep(answers, number) for number in range(10)]
    for edit in range(1000, 1200):
        _keep(answers, edit, asker="edited")
    assert all(answers.find(each, "") for each in others)
    assert len(answers) == 11


@pytest.mark.parametrize("size", [remembered.SMALL // 2, 4 * remembered.SMALL])
def test_small_and_large_answers_are_given_again_byte_for_byte(size: int) -> None:
    answers, rsp = Answers(), _answer(1, size)
    response.set_ttl(rsp, 60)
    serialized = server._serialize(rsp)
    answers.keep(question := Question("u-1", b"digest"), rsp, serialized)
    assert answers.find(question, "") == serialized


def test_one_answer_cannot_take_the_room_of_many() -> None:
    answers = Answers()
    _keep(answers, 1, size=4 * remembered.LARGEST)
    assert (len(answers), answers.size) == (0, 0)


def test_some_of_more_claims_than_there_is_room_for_are_found_when_their_turn_comes() -> None:
    answers = Answers(most=150_000)
    for _ in range(3):
        found = 0
        for number in range(100):
            question = Question(f"u-{number}", number.to_bytes(32))
            found += answers.find(question, "") is not None
            rsp = _answer(number)
            answers.keep(question, rsp, server._serialize(rsp))
    assert len(answers) < 80
    assert found > 15


def test_the_question_leaves_the_tag_and_what_is_read() -> None:
    req = settled()
    before = copy.deepcopy(req)
    questions.question(req)
    assert req.meta.tag == before.meta.tag
    assert fresh(req) == fresh(before)


def test_what_is_read_from_bytes_is_read_once() -> None:
    parsed: Parsed[object] = Parsed()
    first = parsed.get((b"a", b"b"), object)
    assert parsed.get((b"a", b"b"), object) is first
    assert parsed.get((b"ab",), object) is not first
    assert parsed.get((b"b", b"a"), object) is not first


def test_what_cannot_be_read_is_not_kept() -> None:
    def broken() -> object:
        raise ValueError("broken")

    parsed: Parsed[object] = Parsed()
    with pytest.raises(ValueError, match="broken"):
        parsed.get((b"a",), broken)
    assert len(parsed) == 0


def test_there_is_an_end_to_the_plans_that_are_kept() -> None:
    parsed: Parsed[object] = Parsed(most=100_000)
    small = parsed.get((b"small",), object)
    parsed.get((bytes(50_000 // remembered.GROWTH + 1),), object)
    assert (parsed.get((b"small",), object), len(parsed)) == (small, 1)
    for number in range(1000):
        parsed.get((bytes(100), number.to_bytes(4)), object)
        assert len(parsed) * 100 * remembered.GROWTH <= 100_000
    assert len(parsed) > 10
