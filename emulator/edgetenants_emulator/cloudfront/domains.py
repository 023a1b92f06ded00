"""Domains: their syntax, their owners, and proofs of control."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from edgetenants_emulator.certificates import acm
from edgetenants_emulator.certificates.proofs import NOT_OWNED
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.settings import ACCEPTED
from edgetenants_emulator.state.records import DomainStatus
from edgetenants_emulator.state.world import World

__all__ = ["check_free", "check_names", "hold", "statuses"]

# A top-level domain is not all digits (RFC 3696 section 2), so an IP address is not a valid name.
_NAME = re.compile(
    r"(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+(?![0-9]+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
)


def check_names(domains: Sequence[str], limit: int) -> None:
    """Check a tenant's domains: at least one, no duplicates, valid lower-case DNS names, at most `limit`.

    Raises AwsError InvalidArgument, or EntityLimitExceeded above the limit.
    """
    if not domains:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "You must specify at least one domain.")
    for domain in domains:
        if not _NAME.fullmatch(domain) or len(domain) > 253:
            message = f"The domain name {domain!r} is not valid. Domain names must be lower-case DNS names."
            raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if len(set(domains)) < len(domains):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The list of domains contains a domain more than once.")
    if len(domains) > limit:
        message = f"Your request exceeds the limit of {limit} domains for a distribution tenant."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)


def check_free(world: World, domains: Iterable[str], owner: str | None) -> None:
    """Check that no resource but `owner` (an ARN) holds these domains, in any account and spelling.

    Raises AwsError CNAMEAlreadyExists.
    """
    for domain in domains:
        if world.domains.get(domain.lower(), owner) != owner:
            raise AwsError(
                ErrorCode.CNAME_ALREADY_EXISTS,
                "One or more of the CNAMEs you provided are already associated with a different resource.",
            )


def hold(world: World, owner: str, domains: Iterable[str], instead_of: Iterable[str] = ()) -> None:
    """Make an owner the holder of `domains`, and release the domains of `instead_of`."""
    before = {domain.lower() for domain in instead_of}
    for domain in before:
        world.domains.pop(domain, None)
    for domain in map(str.lower, domains):
        world.domains[domain] = owner
        if world.settings.domain_lookup_lag_seconds > 0 and domain not in before:
            world.past.held_since[domain] = world.clock.now()


def statuses(
    domains: Iterable[str],
    names: Sequence[str],
    *,
    awaited: Collection[str],
    before: Mapping[str, DomainStatus],
    refusal: str = ErrorCode.INVALID_ARGUMENT,
) -> dict[str, DomainStatus]:
    """The status of each domain of a tenant whose certificates contain `names`.

        covered                                 active
        not covered, on a managed certificate   unchanged, or inactive for a new domain
        not covered, inactive before            inactive
        not covered                             refused, because control of the domain is not proven; or, if
                                                `refusal` accepts it, unchanged, or inactive for a new domain

    Raises AwsError with the code `refusal` and the message that users report.
    """
    found: dict[str, DomainStatus] = {}
    for domain in domains:
        if acm.covers(names, domain):
            found[domain] = DomainStatus.ACTIVE
        elif domain in awaited or before.get(domain) is DomainStatus.INACTIVE or refusal == ACCEPTED:
            found[domain] = before.get(domain, DomainStatus.INACTIVE)
        else:
            raise AwsError(refusal, NOT_OWNED)
    return found
