"""The redirects on the page are those that the command prints."""

from __future__ import annotations

from cli.dns_records import redirects
from tests.unit.docs.pages import ROOT

PATH = "/.well-known/pki-validation/abc123.txt"
PAGE = ROOT / "docs" / "how-to" / "when-dns-is-wrong.md"


def test_the_page_has_each_redirect() -> None:
    page = PAGE.read_text()
    target = f"validation.us-east-1.acm-validations.aws/123456789012{PATH}"
    for server, text in redirects(f"shop.acme.com{PATH}", target).items():
        assert f"{server}:\n\n```\n{text}```\n" in page
