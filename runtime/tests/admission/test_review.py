"""The AdmissionReview: what is read of a call, and what is answered."""

import json

import pytest

from edgetenants_runtime.admission.review import BadReview, Verdict, parse, response


def body(**request: object) -> bytes:
    whole = {"uid": "u1", "operation": "CREATE", "object": {"spec": {}}, **request}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    ).encode()


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
        (b"[]", "apiVersion"),
        (b'{"apiVersion": "admission.k8s.io/v1beta1"}', "apiVersion: expected admission.k8s.io/v1"),
        (b'{"apiVersion": "admission.k8s.io/v1", "request": {"uid": 3}}', r"request\.uid"),
        (body(object=[]), "object: expected an object"),
        (body(userInfo="jane"), "userInfo: expected an object"),
    ],
)
def test_what_is_no_review_is_refused(sent: bytes, told: str) -> None:
    with pytest.raises(BadReview, match=told):
        parse(sent)


def test_fields_of_a_wrong_type_count_as_absent() -> None:
    read = parse(body(operation=3, namespace=None, kind={"kind": ["Toy"]}))
    assert (read.operation, read.namespace, read.kind, read.user) == ("", "", "", "")


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
