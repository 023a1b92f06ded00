"""Domain names, from how people write them to how CloudFront stores them."""

import re

import pytest

from apis import domains
from apis.distributiontenant import DistributionTenantParameters


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("acme.example.com", "acme.example.com"),
        ("ACME.Example.COM.", "acme.example.com"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("*.Bücher.example", "*.xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("日本語.jp", "xn--wgv71a119e.jp"),
    ],
)
def test_normalise(written: str, stored: str) -> None:
    assert domains.normalise(written) == stored
    assert domains.normalise(stored) == stored
    assert DistributionTenantParameters(domains=(stored,)).domains == (stored,)


@pytest.mark.parametrize(
    "written",
    [
        "",
        ".",
        "a",
        "*.",
        "*.de.*",
        "a..b",
        "under_score.de",
        "-a.de",
        "a b.de",
        f"{'a' * 64}.de",
        ".".join(["abcdefgh"] * 30),
    ],
)
def test_what_is_no_domain(written: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        domains.normalise(written)


@pytest.mark.parametrize("written", ["acme.example.com", "*.Bücher.example", "日本語.jp", "a.de."])
def test_the_pattern_on_claims_takes_what_people_write(written: str) -> None:
    pattern = re.sub(r"\\p\{[ZC]\}", "", domains.ASKED_PATTERN)
    assert re.search(pattern, written)
