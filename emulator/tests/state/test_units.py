"""The pure parts: certificates' names, identifiers, domain names."""

import doctest
import re

import pytest

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.cloudfront import domains
from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.state import etag, identifiers


@pytest.mark.parametrize("module", [acm, etag, identifiers])
def test_the_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


COVERED = [
    ("example.com", True),
    ("a.example.com", True),
    ("*.example.com", True),
    ("a.b.example.com", False),
    ("*.b.example.com", False),
    ("example.org", False),
    ("aexample.com", False),
]


@pytest.mark.parametrize(("domain", "expected"), COVERED)
def test_what_a_certificate_covers(domain, expected):
    assert acm.covers(["Example.com", "*.EXAMPLE.com"], domain) is expected


@pytest.mark.parametrize(
    "name", ["a.example.com", "*.example.com", "xn--bcher-kva.example", "_x.example.com", "a" * 63 + ".com"]
)
def test_a_domain_name(name):
    domains.check_names([name], limit=1)


LABEL = "a" * 64
LONG = ("a" * 49 + ".") * 6 + "com"
BAD_ENDS = ("localhost", "a..com", ".com", "a.com.", "-a.com", "a-.com", "a.com/", " a.com", "")


@pytest.mark.parametrize(
    "name", [*BAD_ENDS, "A.example.com", "a.*.com", "bücher.example", f"{LABEL}.com", LONG]
)
def test_no_domain_name(name):
    with pytest.raises(AwsError, match="InvalidArgument"):
        domains.check_names([name], limit=1)


def test_ids_sort_by_time_and_differ():
    early, late = identifiers.ksuid("dt", 1_700_000_000), identifiers.ksuid("dt", 1_800_000_000)
    assert early < late
    assert len({identifiers.ksuid("cg", 1_700_000_000) for _ in range(1000)}) == 1000
    assert re.fullmatch(r"E[0-9A-Z]{13}", identifiers.distribution_id())
