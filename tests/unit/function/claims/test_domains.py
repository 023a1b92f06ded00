from __future__ import annotations

import idna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apis.domains import normalise
from function.claims import domains
from tests.unit.function import building


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("ACME.Example.COM", "acme.example.com"),
        ("acme.example.com.", "acme.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("*.Acme.com", "*.acme.com"),
        ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("a。example。com", "a.example.com"),
        ("\uff41cme.example", "acme.example"),
    ],
)
def test_stored(asked: str, stored: str) -> None:
    assert domains.normalised([asked]) == (stored,)


@pytest.mark.parametrize(
    "asked",
    [
        "localhost",
        "https://a.example.com",
        "a.example.com/path",
        "a.example.com:443",
        "a b.example.com",
        "a..example.com",
        ".example.com",
        "-a.example.com",
        "a-.example.com",
        "a_b.example.com",
        "*.*.example.com",
        "www.*.example.com",
        "*",
        "*.",
        "a*.example.com",
        "x" * 64 + ".example.com",
        "a." * 127 + "toolong",
        "a\u0000.example.com",
        "a\u200b.example..com",
        "",
    ],
)
def test_refused_with_its_place_and_value(asked: str) -> None:
    rsp = building.run(building.request(spec={"domains": ["ok.example.com", asked]}))

    _, reason, message = building.live(rsp)
    assert reason == "InvalidClaim"
    assert message.startswith("spec.domains[1]: expected ")


@pytest.mark.parametrize("value", [1, True, None, ["a.example.com"], {"a": "b"}])
def test_what_is_no_text_is_refused(value: object) -> None:
    rsp = building.run(building.request(spec={"domains": [value]}))

    assert building.live(rsp)[1:] == ("InvalidClaim", building.live(rsp)[2])
    assert "spec.domains[0]: expected a string" in building.live(rsp)[2]


def test_the_order_in_which_domains_are_asked_for_does_not_move_what_is_composed() -> None:
    names = [f"d{n}.example.com" for n in range(9)]

    one, other = (building.run(building.request(spec={"domains": order})) for order in (names, names[::-1]))

    assert building.desired(one) == building.desired(other)


@given(st.lists(st.text("ab1-*x", min_size=1, max_size=6), min_size=1, max_size=3).map(".".join))
@example("ab--c.example")
@example("xn--a.example")
@example("a.xn--bcher-kva")
@example("-a.example")
@example("a.b-")
@example("a.1")
@example("a.1a")
@example("*.*.a")
@example("a.b\n")
@example(".".join(["a" * 60] * 4) + ".example")
@example("a" * 64 + ".example")
def test_names_that_stand_as_they_are_stored_are_what_the_long_way_makes_of_them(asked: str) -> None:
    wildcard, name = ("*.", asked[2:]) if asked.startswith("*.") else ("", asked)
    try:
        made = wildcard + idna.encode(name, uts46=True, std3_rules=True).decode()
        stored = (
            made if "." in name and not made.rpartition(".")[2].isdecimal() and len(made) <= 253 else None
        )
    except idna.IDNAError:
        stored = None
    try:
        assert normalise(asked) == stored
    except ValueError:
        assert stored is None
