"""The domains of a claim as CloudFront stores them, and the domains that a plan allows."""

from collections.abc import Iterable, Sequence
from typing import Final

from apis.domains import NAMESPACE, normalise, permits
from apis.errors import Problem, shown
from apis.tenantplans import Allowance

WILDCARD = "*."
_SHOWN: Final = 5
"""Allowed domains that a message names; a plan can have a hundred."""


def normalised(asked: Iterable[str]) -> tuple[str, ...]:
    """The domains as lower-case A-labels, without final dots, in their order.

    Raises:
        ValueError: one is not a valid domain; a parsed claim has none of these.
    """
    return tuple(normalise(domain) for domain in asked)


def wildcards(asked: Sequence[str]) -> Iterable[Problem]:
    """A problem for each wildcard. Managed certificates do not cover wildcards (CloudFront Developer Guide,
    "Request certificates for your CloudFront distribution tenant")."""
    for index, domain in enumerate(asked):
        if domain.startswith(WILDCARD):
            yield Problem(f"spec.domains[{index}]", "no wildcard with a managed certificate", shown(domain))


def allows(allow: Allowance, namespace: str, domain: str) -> bool:
    """Whether a plan allows the domain to claims of the namespace."""
    if domain.startswith(WILDCARD) and not allow.wildcards:
        return False
    return allow.domains is None or any(permits(each, namespace, domain) for each in allow.domains)


def parks(wildcard: str | None, domain: str) -> bool:
    """Whether the domain could be one of a plan's parking names, which tenants have during a change of
    isolation.

    >>> [parks("*.parking.example.com", each) for each in ("a.parking.example.com", "a.example.com")]
    [True, False]
    """
    return wildcard is not None and domain.partition(".")[2] == wildcard.removeprefix(WILDCARD)


def allowed_in_words(allow: Allowance, namespace: str, domain: str) -> str:
    """What a plan allows to claims of the namespace instead of the domain, in words."""
    if domain.startswith(WILDCARD) and not allow.wildcards:
        return "no wildcard domain"
    named = [each.replace(NAMESPACE, namespace or NAMESPACE) for each in allow.domains or ()]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    only = " (and a wildcard only below one with **)" if domain.startswith(WILDCARD) else ""
    return f"one of {', '.join(named[:_SHOWN])}{more}{only}"
