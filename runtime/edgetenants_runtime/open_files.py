"""The limit of open files. Each connection is one."""

from __future__ import annotations

import resource
from typing import Final

__all__ = ["raise_limit"]

_MOST: Final = 65_536


def raise_limit() -> None:
    """Raise the limit of open files to the maximum. Container runtimes set 1024, which some hundred
    ProviderConfigs, or clients that say nothing, use up; then probes can no longer connect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
