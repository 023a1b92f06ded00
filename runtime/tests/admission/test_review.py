"""The AdmissionReview: what is read of a call, and what is answered."""

import json
import tracemalloc

import pytest

from edgetenants_runtime.admission.fields import BadReview
from edgetenants_runtime.admission.review import Verdict, parse, response, weight


def body(**request: object) -> bytes:
    whole = {"uid": "u1", "operation": "CREATE", "object": {"spec": {}}, **request}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    ).encode()


def test_a_pair_of_surrogates_is_text() -> None:
    read = parse(body(object={"spec": {"name": "\U0001f600"}}))
    assert read.object == {"spec": {"name": "\U0001f600"}}


def test_a_request_is_read() -> None:
    read = parse(
        body(
            kind={"group": "toys.example.org", "version": "v1", "kind": "Toy"},
            namespace="shop",
            name="acme",
            userInfo={"username": "jane"},
            oldObject={"spec": {"old": True}},
        )
    )
    assert (read.uid, read.operation, read.group, read.kind) == ("u1", "CREATE", "toys.example.org", "Toy")
    assert (read.namespace, read.name, read.user) == ("shop", "acme", "jane")
    assert (read.object, read.old) == ({"spec": {}}, {"spec": {"old": True}})


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", "expected an AdmissionReview"),
        (b"[" * 100_000, "expected an AdmissionReview"),
        (b"[]", "expected an AdmissionReview"),
        (b"\xff", "expected an AdmissionReview"),
        (b"[" + b"1" * 10_000 + b"]", "expected an AdmissionReview"),
        (body(object={"spec": {"domains": ["\ud800.example.com"]}}), "expected an AdmissionReview in JSON"),
        (b'{"apiVersion": "admission.k8s.io/v1beta1"}', "apiVersion: expected admission.k8s.io/v1"),
        (b'{"apiVersion": "admission.k8s.io/v1", "request": {"uid": 3}}', r"request\.uid"),
        (b'{"apiVersion": "admission.k8s.io/v1", "request": []}', "^request: expected an object"),
        (body(uid=""), r"request\.uid: expected a string"),
        (body(uid="u" * 2000), r"request\.uid: expected at most 1024 characters"),
        (body(operation=3), r"request\.operation: expected a string"),
        (body(kind={"kind": ["Toy"]}), r"request\.kind\.kind: expected a string"),
        (body(kind={"kind": "K" * 4000}), r"request\.kind\.kind: expected at most 1024 characters"),
        (body(userInfo="jane"), r"request\.userInfo: expected an object"),
        (body(object=[]), r"request\.object: expected an object"),
        (body(oldObject="x"), r"request\.oldObject: expected an object"),
        (body(object={"spec": "x"}), r"request\.object\.spec: expected an object"),
        (body(object={"apiVersion": 1}), r"request\.object\.apiVersion: expected a string"),
        (body(object={"metadata": "x"}), r"request\.object\.metadata: expected an object"),
        (body(object={"metadata": {"name": {}}}), r"object\.metadata\.name: expected a string"),
        (body(object={"metadata": {"annotations": []}}), r"metadata\.annotations: expected an object"),
        (body(object={"metadata": {"labels": {"a": 1}}}), r"metadata\.labels: expected an object of strings"),
        (body(object={"metadata": {"finalizers": [1]}}), r"metadata\.finalizers: expected strings"),
        (body(object={"metadata": {"finalizers": "a"}}), r"metadata\.finalizers: expected a list"),
        (
            body(object={"metadata": {"ownerReferences": ["a"]}}),
            r"ownerReferences: expected a list of objects",
        ),
        (
            body(oldObject={"metadata": {"annotations": {"a": "x" * 300_000}}}),
            r"oldObject\.metadata\.annotations: expected at most 262144 characters",
        ),
    ],
)
def test_what_is_no_review_is_refused(sent: bytes, told: str) -> None:
    with pytest.raises(BadReview, match=told):
        parse(sent)


def test_absent_and_null_fields_are_empty() -> None:
    read = parse(body(operation=None, namespace=None, kind=None, object=None))
    assert (read.operation, read.namespace, read.kind, read.user) == ("", "", "", "")
    assert read.object is read.old is None


def test_who_has_managed_which_field_is_dropped() -> None:
    metadata = {"name": "acme", "managedFields": [{"manager": "kubectl"}]}
    assert parse(body(object={"metadata": metadata})).object == {"metadata": {"name": "acme"}}


def test_managed_fields_of_any_depth_keep_no_check_away() -> None:
    metadata = {"name": "acme", "managedFields": "@"}
    deep = '{"f:a":' * 9_000 + "{}" + "}" * 9_000
    sent = body(object={"metadata": metadata}).replace(b'"@"', deep.encode())
    assert parse(sent).object == {"metadata": {"name": "acme"}}


@pytest.mark.parametrize("part", ["[],", '{"a":', '"ab",', "]", "}", '"' * 9])
def test_a_review_with_very_many_values_is_refused_before_it_is_parsed(part: str) -> None:
    with pytest.raises(BadReview, match="at most 100000 values"):
        weight(part.encode() * 100_001)


def test_the_weight_of_a_review_is_more_than_it_takes_in_memory() -> None:
    for values in (["[]"] * 20_000, ['{"a":1}'] * 20_000, [f'{{"name{n}":1.5}}' for n in range(20_000)]):
        sent = f"[{','.join(values)}]".encode()
        tracemalloc.start()
        parsed = json.loads(sent)
        took, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took < weight(sent), parsed[:1]


def test_a_write_without_problems_is_allowed() -> None:
    assert response("u1", Verdict())["response"] == {"uid": "u1", "allowed": True}


def test_a_denial_is_invalid_with_all_problems() -> None:
    answer = response("u1", Verdict(problems=("spec.a: wrong", "spec.b: wrong")))["response"]
    assert answer["allowed"] is False
    assert answer["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "spec.a: wrong; spec.b: wrong",
    }


def test_long_answers_are_shortened() -> None:
    answer = response("u1", Verdict(("x" * 10_000,), ("w" * 300, *["w"] * 50)))["response"]
    assert len(answer["status"]["message"]) == 4096
    assert len(answer["warnings"]) == 10
    assert len(answer["warnings"][0]) == 256
    assert answer["warnings"][0].endswith("…")
