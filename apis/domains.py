"""Domain names: the form that managed resources store, the form that claims may use, and the conversion.

CloudFront requires alternate domain names in lower case and in the ASCII form of internationalised names
("Requirements for using alternate domain names", CloudFront Developer Guide).
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Final

import idna
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from edgetenants_runtime.api.model import Kube, Rule

MAX_DOMAINS: Final = 500
"""The most domains of one tenant that the API accepts. CloudFront's own quota (100, adjustable) applies in
addition."""

_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_FORBIDDEN = r"\s\p{Z}\p{C}/\\:@*.,;?#&=%'\"<>()\[\]{}|"

_ASKED: Final = "a domain name such as www.example.com, without scheme, port, path or spaces"
ASKED_PATTERN: Final = rf"^(\*\.)?([^{_FORBIDDEN}]+\.)+[^{_FORBIDDEN}]+\.?$"
"""The form of a domain in a claim, as far as a pattern can check it; `normalise` checks the rest."""

_STORED_PATTERN: Final = rf"^([*][.])?({_LABEL}[.])+{_LABEL}$"
_STORED: Final = Rule(
    f"self.matches('{_STORED_PATTERN}') && !self.matches('[.][0-9]+$')",
    "expected a domain name as CloudFront stores it, such as www.example.com: lower case, at least one dot, "
    "international names as xn--…, no scheme, port, path or IP address",
    lambda domain: re.fullmatch(_STORED_PATTERN.strip("^$"), domain) is not None and not _is_address(domain),
)
"""A rule and not a pattern: for a pattern, the API server's message shows the expression instead of an
example."""

DomainName = Annotated[str, Field(min_length=3, max_length=253), Kube(rules=(_STORED,))]
"""A domain name as CloudFront stores it: lower-case A-labels (internationalised names as xn--…), with at
least one dot; the first label may be `*`."""

_PARKING_PATTERN: Final = rf"^[*][.]({_LABEL}[.])+{_LABEL}$"


def _check_parking(domain: str) -> str:
    if not re.fullmatch(_PARKING_PATTERN.strip("^$"), domain):
        text = "expected a wildcard such as *.parking.example.com, in lower case"
        raise PydanticCustomError("domain", "{text}", {"text": text})
    return domain


ParkingDomain = Annotated[
    str,
    Field(min_length=5, max_length=200, json_schema_extra={"pattern": _PARKING_PATTERN}),
    AfterValidator(_check_parking),
]
"""A wildcard below which the function generates names; about 30 characters replace the `*`."""

DomainNames = Annotated[
    tuple[DomainName, ...], Field(min_length=1, max_length=MAX_DOMAINS), Kube(list_type="set")
]
"""The domains of one tenant, in any order."""


def normalise(domain: str) -> str:
    """Convert a domain name to the form that CloudFront stores: lower-case A-labels, without a final dot.

    It maps names by UTS 46 and encodes them by IDNA 2008 (RFC 5891); a first label `*` stays.

        >>> normalise("WWW.Bücher.example.")
        'www.xn--bcher-kva.example'

    Raises:
        ValueError: it is not a valid domain name; the message says why.
    """
    if _PLAIN.fullmatch(domain) and len(domain) <= 253:
        return domain
    wildcard, name = ("*.", domain[2:]) if domain.startswith("*.") else ("", domain)
    ascii_name = wildcard + _ascii(name)
    if "." not in ascii_name.removeprefix("*."):
        raise ValueError("it has no dot")
    if _is_address(ascii_name):
        raise ValueError("its last label is a number, as in an IP address")
    if len(ascii_name) > 253:
        raise ValueError("it is longer than 253 characters in its ASCII form")
    return ascii_name


_PLAIN_LABEL = r"(?!-|..--)[a-z0-9-]{1,63}+(?<!-)"
_PLAIN: Final = re.compile(rf"([*][.])?({_PLAIN_LABEL}[.])++(?![0-9]+$){_PLAIN_LABEL}")
"""Names that need no conversion, which most do not: the conversion takes a hundred times as long. The
expression never goes back to try a shorter label, so that a match takes half the time."""


def _is_address(name: str) -> bool:
    """Whether the last label is a number. No top-level domain is one (RFC 3696), so this distinguishes IP
    addresses from names."""
    return name.rpartition(".")[2].isdecimal()


def _ascii(name: str) -> str:
    try:
        encoded = idna.encode(name, uts46=True, std3_rules=True, transitional=False)
    except idna.IDNAError as error:
        raise ValueError(_why(error)) from error
    return encoded.decode("ascii").removesuffix(".")


def _why(error: idna.IDNAError) -> str:
    """What is wrong with a name, with the character itself instead of its code point."""
    said = str(error)
    number = re.search(r"U\+([0-9A-F]{4,6})", said)
    if number:
        return f"it has {_named(chr(int(number[1], 16)))}, which domain names do not allow"
    return next((words for sign, words in _WHY.items() if sign in said.lower()), said)


def _named(character: str) -> str:
    if character.isprintable() and not character.isspace():
        return f'"{character}"'
    if character.isspace():
        return "a space"
    name = unicodedata.name(character, "").lower()
    return f"an invisible character ({name})" if name else "an invisible character"


_WHY: Final[Mapping[str, str]] = {
    "empty": "it has an empty part before a dot or between two dots",
    "label too long": "it has more than 63 characters between two dots",
    "domain too long": "it is longer than 253 characters in its ASCII form",
    "start or end with a hyphen": "it has a hyphen next to a dot, at the start or at the end",
    "3rd and 4th": "it has hyphens as third and fourth characters of a part, which only xn-- may have",
    "a-label": "it has an xn-- part that encodes no international name",
    "direction": "it mixes letters that are written from left to right and from right to left",
}
"""For each error of idna, by a part of its message: the same in plain words."""


_ASKED_RULE: Final = Rule(
    f"self.matches(r'''{ASKED_PATTERN}''') && !self.matches('[.][0-9]+[.]?$')", f"expected {_ASKED}"
)
"""The API server's part of the check; `normalise` checks more."""


def _check_asked(domain: str) -> str:
    try:
        normalise(domain)
    except ValueError as error:
        context = {"text": f"expected {_ASKED}", "why": str(error)}
        raise PydanticCustomError("domain", "{text}", context) from error
    return domain


AskedDomain = Annotated[
    str,
    Field(min_length=3, max_length=253),
    AfterValidator(_check_asked),
    Kube(rules=(_ASKED_RULE,)),
]
"""A domain name as claims write it: any case, any script; no scheme, path, port or space, at least one
dot."""


def _check_distinct(domains: tuple[str, ...]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for domain in domains:
        other = seen.setdefault(normalise(domain), domain)
        if other is not domain:
            text = f"expected no duplicates ({other} and {domain} are the same name)"
            raise PydanticCustomError("duplicate", "{text}", {"text": text})
    return domains


AskedDomains = Annotated[
    tuple[AskedDomain, ...],
    Field(min_length=1, max_length=MAX_DOMAINS),
    AfterValidator(_check_distinct),
    Kube(list_type="set"),
]
"""The domains of a claim. Names that differ only in case or encoding are the same name."""


NAMESPACE: Final = "{namespace}"
"""A label of an allowed domain that matches the claim's namespace."""
ONE_LABEL: Final = "*."
"""Starts an allowed domain that matches the names one label below the rest."""
ANY_DEPTH: Final = "**."
"""Starts an allowed domain that matches all names below the rest."""

_ALLOWED_LABEL = rf"([^{_FORBIDDEN}]+|\{{namespace\}})"
_ALLOWED_PATTERN: Final = rf"^(\*\*?\.)?({_ALLOWED_LABEL}\.)*[^{_FORBIDDEN}]+\.?$"


def _check_allowed(written: str) -> str:
    begin = next((each for each in (ANY_DEPTH, ONE_LABEL) if written.startswith(each)), "")
    try:
        return begin + _allowed_name(written.removeprefix(begin), dotted=not begin)
    except ValueError as error:
        expectation = (
            "expected a domain name, or *. (one label) or **. (any depth) before one, with "
            f"{NAMESPACE} for a whole label but the last"
        )
        raise PydanticCustomError("domain", "{text}", {"text": expectation, "why": str(error)}) from error


def _allowed_name(written: str, *, dotted: bool) -> str:
    *labels, last = written.removesuffix(".").split(".")
    if dotted and not labels:
        raise ValueError("it has no dot")
    return ".".join([*(label if label == NAMESPACE else _ascii(label) for label in labels), _ascii(last)])


AllowedDomain = Annotated[
    str,
    Field(min_length=3, max_length=253, json_schema_extra={"pattern": _ALLOWED_PATTERN}),
    AfterValidator(_check_allowed),
]
"""The domains that claims may use: a name, optionally after `*.` or `**.`; stored in CloudFront's form."""


def permits(allowed: str, namespace: str, domain: str) -> bool:
    """Whether an allowed domain matches this one, both in their stored form.

    A wildcard serves names at any depth, so only an entry with `**.` matches it. An entry with `{namespace}`
    matches no claim without a namespace.
    """
    if NAMESPACE in allowed and not namespace:
        return False
    allowed = allowed.replace(NAMESPACE, namespace)
    if allowed.startswith(ANY_DEPTH):
        return domain.endswith(allowed.removeprefix("**"))
    if domain.startswith("*."):
        return False
    if allowed.startswith(ONE_LABEL):
        return domain.partition(".")[2] == allowed.removeprefix(ONE_LABEL)
    return domain == allowed
