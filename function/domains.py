"""The domains of a claim, as CloudFront stores them."""

from collections.abc import Iterable, Sequence

from apis.domains import normalise
from apis.errors import Problem, shown

WILDCARD = "*."


def normalised(asked: Iterable[str]) -> tuple[str, ...]:
    """The domains in lower-case A-labels, without final dots, in the order in which they were asked for.

    Raises:
        ValueError: one cannot be a domain; a parsed claim has none of these.
    """
    return tuple(normalise(domain) for domain in asked)


def wildcards(asked: Sequence[str]) -> Iterable[Problem]:
    """A problem for each wildcard; managed certificates cover none (CloudFront Developer Guide, "Request
    certificates for your CloudFront distribution tenant")."""
    for index, domain in enumerate(asked):
        if domain.startswith(WILDCARD):
            yield Problem(f"spec.domains[{index}]", "no wildcard with a managed certificate", shown(domain))
