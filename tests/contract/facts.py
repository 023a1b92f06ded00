"""What a caller does, and what it sees: each scenario yields facts, a name and a value, of one fresh account.

A fact holds nothing that differs from run to run, so two servers that mean the same give the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.contract.account import Account, Answer

Facts = Iterator[tuple[str, Any]]
SCENARIOS: dict[str, Callable[[Account], Facts]] = {}
STALE = "ETVPDKIKX0DER"


def scenario(steps: Callable[[Account], Facts]) -> Callable[[Account], Facts]:
    SCENARIOS[steps.__name__] = steps
    return steps


def names(answer: Answer) -> list[str] | str:
    if "Error" in answer.raw:
        return answer.outcome
    return sorted(row["Name"] for row in answer.raw["DistributionTenantList"])


def pages_of_two(aws: Account, operation: str, member: str) -> list[int]:
    pages = aws.cloudfront.get_paginator(operation).paginate(PaginationConfig={"PageSize": 2})
    return [len(page[member]) for page in pages]
