"""The readings that a life is led under: each open question of the emulator switched alone, and by chance
many at once."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from edgetenants_emulator.settings import Settings
from edgetenants_emulator.unknowns.catalog import UNKNOWNS

SEED = int(os.environ.get("EDGETENANTS_SEED", "20250428"))
"""Of the combinations; another one by EDGETENANTS_SEED."""
COMBINATIONS = 50
NEVER = {
    "certificate_request_lost": "a lost request never becomes a certificate; it has a test of its own",
}
"""What no life with a managed certificate can end well under, and why."""
FITTING: Mapping[str, Any] = {
    "domains_per_tenant": 5,
    "acm_certificates_per_account": 2000,
    "certificate_timeout_seconds": 2 * 3600.0,
    "page_size_default": 4,
    "page_size_max": 4,
}
"""Other values than 3: limits that a life keeps to (UpdateDistributionTenant's text has five domains), and
pages that are longer than what `list_marker_repeats` repeats, without which a list has no end."""


def choices() -> Iterator[tuple[str, list[Any]]]:
    """Each setting of an open question, with the values that it does not have by default."""
    named = {name for unknown in UNKNOWNS for name in unknown.settings} - set(NEVER)
    words = Settings.choices()
    for field in fields(Settings):
        if field.name not in named:
            continue
        if field.name in words:
            yield field.name, [word for word in words[field.name] if word != field.default]
        elif isinstance(field.default, bool):
            yield field.name, [not field.default]
        else:
            yield field.name, [FITTING.get(field.name, type(field.default)(3))]


def single() -> Iterator[dict[str, Any]]:
    """Each value of each setting, alone."""
    for name, values in choices():
        yield from ({name: value} for value in values)


def combined() -> Iterator[dict[str, Any]]:
    """About half of the settings at once, drawn again each time; the same draws for the same seed."""
    chance = random.Random(SEED)
    for _ in range(COMBINATIONS):
        drawn = {name: chance.choice([None, chance.choice(values)]) for name, values in choices()}
        yield {name: value for name, value in drawn.items() if value is not None}
