"""Domains that may be taken for others."""

from __future__ import annotations

import pytest

from apis.domains import normalise
from function.claims import lookalikes

CYRILLIC_A = "\u0430"
ACME = "\u0430\u0441\u0435.com"
"""Three letters of Cyrillic that look like ace.com."""


def told(domain: str) -> str:
    return " ".join(each.why for each in lookalikes.among((normalise(domain),)))


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (f"{CYRILLIC_A}cme.com", "mixes Cyrillic and Latin letters and looks like acme"),
        ("xn--cme-5cd.com", "mixes Cyrillic and Latin letters and looks like acme"),
        (f"www.{CYRILLIC_A}cme.example.com", "looks like acme"),
        (f"*.{CYRILLIC_A}cme.com", "looks like acme"),
        (ACME, "has only Cyrillic letters and looks like ace"),
        ("\u03bf\u03c1\u03c4.com", "has only Greek letters and looks like opt"),
        ("\u0578\u0585.com", "has only Armenian letters and looks like no"),
        ("b\u00fccher\u0430.de", "mixes Cyrillic and Latin letters"),
    ],
)
def test_it_is_told_of(domain, words):
    assert words in told(domain)


@pytest.mark.parametrize(
    "domain",
    [
        "acme.com",
        "b\u00fccher.example",
        "\u65e5\u672c\u8a9e-shop.jp",
        "\u4f8b\u3048\u30c6\u30b9\u30c8.com",
        "\ud55c\uad6d\u8a9eabc.kr",
        "\u043f\u0440\u0430\u0432\u0434\u0430.com",
        "\u0430\u0441\u0435.\u0440\u0444",
        "\u03b5\u03bb\u03bb\u03ac\u03b4\u03b1.gr",
        "caf\u00e91.example.com",
    ],
)
def test_it_is_not(domain):
    assert told(domain) == ""


def test_both_forms_are_named():
    (found,) = lookalikes.among(("xn--cme-5cd.com",))
    assert str(found).startswith(f"xn--cme-5cd.com is displayed as {CYRILLIC_A}cme.com, which mixes")


def test_what_cannot_be_decoded_is_not_told_of():
    assert lookalikes.among(("xn--0.com",)) == ()
