"""The page of the metrics: what many scrapes cost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.serving import scrapes
from edgetenants_runtime.serving.pages import Asked
from edgetenants_runtime.serving.scrapes import Scrapes

OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"


class Registry:
    """Counts how often the metrics are made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def expose(self, accept: str) -> tuple[str, bytes]:
        self.made.append(accept)
        return accept, f"scrape {len(self.made)}".encode()


class Slow:
    """A rendering that takes until it is released."""

    def __init__(self) -> None:
        self.begun, self.release = threading.Semaphore(0), threading.Event()

    def __call__(self, accept: str) -> tuple[str, bytes]:
        self.begun.release()
        self.release.wait(10)
        return accept, b""


def test_scrapes_within_a_second_get_the_same_answer() -> None:
    registry, clock = Registry(), FakeClock()
    page = Scrapes(registry.expose, clock)
    first = page(Asked("a", ""))
    assert (first.status, first.body) == (200, b"scrape 1")
    assert page(Asked("b", "")) is first
    clock.advance(1.1)
    assert page(Asked("a", "")).body == b"scrape 2"


def test_there_are_two_formats_whatever_clients_ask_for() -> None:
    registry = Registry()
    page = Scrapes(registry.expose, FakeClock())
    for number in range(5):
        assert page(Asked("a", f"text/{number}")).content_type == "text/plain"
        asked = Asked("a", f"{OPENMETRICS};escaping={number}")
        assert page(asked).content_type == "application/openmetrics-text; version=1.0.0"
    assert len(registry.made) == 2


def test_one_is_made_at_a_time() -> None:
    slow = Slow()
    page = Scrapes(slow)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(page, Asked(client, "")) for client in "abcd"]
        assert slow.begun.acquire(timeout=10)
        assert not slow.begun.acquire(timeout=0.2)
        slow.release.set()
    assert {each.result().status for each in waiting} == {200}
    assert not slow.begun.acquire(blocking=False), "who waited got the same answer"


def test_nobody_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "_WAIT_SECONDS", 0.1)
    slow = Slow()
    page = Scrapes(slow)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(page, Asked("a", ""))
        assert slow.begun.acquire(timeout=10)
        assert page(Asked("b", "")).status == 503
        slow.release.set()


def test_a_client_that_is_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "_WAIT_SECONDS", 300.0)
    slow = Slow()
    page = Scrapes(slow)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(page, Asked("a", ""))
        assert slow.begun.acquire(timeout=10)
        assert page(Asked("b", "", gone=lambda: True)).status == 503
        slow.release.set()
