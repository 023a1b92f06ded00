"""A DNS server all of whose turns are taken."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from provider.dns.server_pace import ServerPace


@contextmanager
def all_turns_taken(pace: ServerPace) -> Iterator[None]:
    """Four other requests are under way."""
    begun, ends = threading.Barrier(5), threading.Event()

    def hang() -> None:
        with pace.turn():
            begun.wait(5)
            ends.wait(5)

    threads = [threading.Thread(target=hang) for _ in range(4)]
    for each in threads:
        each.start()
    begun.wait(5)
    try:
        yield
    finally:
        ends.set()
        for each in threads:
            each.join(5)
