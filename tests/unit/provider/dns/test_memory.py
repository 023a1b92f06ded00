"""The store in memory that other tests use is like any other."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from provider.dns.records import RecordSet
from tests.unit.provider.dns.conformance import Bench, Conformance
from tests.unit.provider.dns.memory import MemoryStore


class TestMemory(Conformance):
    @pytest.fixture
    def bench(self) -> Bench:
        records = (
            RecordSet("*.wild.example.test", "CNAME", ("elsewhere.example.net",), 300),
            RecordSet("key.many.example.test", "SSHFP", ("4 2 ab",), 300),
        )
        store = MemoryStore("example.test", records)

        @contextmanager
        def losing() -> Iterator[MemoryStore]:
            store.loses_answers = True
            yield store
            store.loses_answers = False

        # A check and a set are two steps of it.
        truth = lambda name: store.read(store.zone, [name]).of(name)  # noqa: E731
        return Bench(store, store.zone, store.put, store.drop, truth, losing, compares=False)
