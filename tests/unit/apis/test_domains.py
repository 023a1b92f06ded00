"""Domain names, from how people write them to how CloudFront stores them."""

import re

import pytest

from apis import domains, kinds, schema
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
        "192.0.2.1",
        "a.123",
        "a b.de",
        f"{'a' * 64}.de",
        ".".join(["abcdefgh"] * 30),
        "1.2.3.4",
        "1.2.3.4.",
        "\uff11.\uff12",
        "*.7",
    ],
)
def test_what_is_no_domain(written: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        domains.normalise(written)


@pytest.mark.parametrize("stored", ["1.2.3.4", "acme.7"])
def test_an_address_is_no_stored_domain(stored: str) -> None:
    with pytest.raises(ValueError, match="expected a domain name as CloudFront stores it"):
        DistributionTenantParameters(domains=(stored,))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("https://acme.example.com", 'it has ":", which domain names do not allow'),
        ("acme.example.com/shop", 'it has "/", which domain names do not allow'),
        ("acme example.com", "it has a space, which domain names do not allow"),
        ("under_score.de", 'it has "_", which domain names do not allow'),
        ("\U0001f4a9.example.com", 'it has "\U0001f4a9", which domain names do not allow'),
        ("\u202ea.example.com", "it has an invisible character (right-to-left override)"),
        ("a\u200db.example.com", "it has an invisible character (zero width joiner)"),
        ("a\x07.example.com", "it has an invisible character, which"),
        ("a..example.com", "it has an empty part before a dot or between two dots"),
        ("-a.example.com", "it has a hyphen next to a dot, at the start or at the end"),
        ("ab--c.example.com", "it has hyphens as third and fourth characters of a part"),
        ("xn--a-.example.com", "it has"),
        ("\u05d0a.example.com", "it mixes letters that are written from left to right and"),
        (f"{'a' * 64}.example.com", "it has more than 63 characters between two dots"),
        (".".join(["abcdefgh"] * 30), "it is longer than 253 characters"),
        ("192.0.2.1", "its last label is a number, as in an IP address"),
        ("acme", "it has no dot"),
    ],
)
def test_why_it_is_none_in_words(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=r"^its? ") as refused:
        domains.normalise(written)
    assert why in str(refused.value)
    assert "U+" not in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("kind", [kinds.TENANT_CLAIM, kinds.DISTRIBUTION_TENANT])
def test_the_api_server_says_in_words_what_a_domain_is(kind: kinds.Kind) -> None:
    """Of a pattern that does not match it shows the pattern."""
    assert kind.spec
    spec = schema.structural(kind.spec, kind.scope)["properties"]
    item = (spec["forProvider"]["properties"] if "forProvider" in spec else spec)["domains"]["items"]
    [rule] = item["x-kubernetes-validations"]
    assert "pattern" not in item
    assert rule["rule"].startswith("self.matches(")
    assert rule["message"].startswith("expected a domain name ")


@pytest.mark.parametrize("written", ["acme.example.com", "*.Bücher.example", "日本語.jp", "a.de."])
def test_the_pattern_on_claims_takes_what_people_write(written: str) -> None:
    pattern = re.sub(r"\\p\{[ZC]\}", "", domains.ASKED_PATTERN)
    assert re.search(pattern, written)


@pytest.mark.parametrize(
    ("allowed", "domain"),
    [
        ("example.com", "example.com"),
        ("*.example.com", "a.example.com"),
        ("**.example.com", "a.example.com"),
        ("**.example.com", "a.b.example.com"),
        ("*.{namespace}.example.com", "a.shop.example.com"),
        ("**.{namespace}.example.com", "a.b.shop.example.com"),
        ("{namespace}.example.com", "shop.example.com"),
        ("**.EXAMPLE.com.", "a.example.com"),
        ("*.Bücher.example", "a.xn--bcher-kva.example"),
        ("**.example.com", "*.example.com"),
        ("**.example.com", "*.a.example.com"),
        ("*.com", "acme.com"),
    ],
)
def test_a_plan_permits(allowed, domain):
    assert domains.permits(stored(allowed), "shop", domain)


@pytest.mark.parametrize(
    ("allowed", "domain"),
    [
        ("example.com", "www.example.com"),
        ("*.example.com", "example.com"),
        ("*.example.com", "a.b.example.com"),
        ("**.example.com", "example.com"),
        ("**.example.com", "evilexample.com"),
        ("*.example.com", "evilexample.com"),
        ("**.example.com", "a.example.com.evil.com"),
        ("example.com", "example.com.evil.com"),
        ("**.{namespace}.example.com", "a.sales.example.com"),
        ("**.{namespace}.example.com", "a.notshop.example.com"),
        ("*.{namespace}.example.com", "shop.example.com"),
        ("*.example.com", "*.example.com"),
        ("*.example.com", "*.a.example.com"),
        ("**.a.example.com", "*.example.com"),
        ("**.bücher.example", "a.bücher.example"),
    ],
)
def test_a_plan_does_not_permit(allowed, domain):
    assert not domains.permits(stored(allowed), "shop", domain)


def test_who_has_no_namespace_is_meant_by_no_entry_with_one():
    assert not domains.permits("**.{namespace}.example.com", "", "a..example.com")
    assert domains.permits("**.example.com", "", "a.example.com")


@pytest.mark.parametrize(
    "written",
    [
        "com",
        "*",
        "**",
        "*.",
        "***.com",
        "a.*.com",
        "{name}.a.com",
        "x{namespace}.a.com",
        "a.{namespace}",
        "a_b.c",
    ],
)
def test_what_no_plan_may_say(written):
    with pytest.raises(ValueError, match="expected a domain name, or"):
        stored(written)


def stored(allowed: str) -> str:
    return domains._check_allowed(allowed)
