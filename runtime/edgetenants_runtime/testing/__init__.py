"""Fakes for tests of providers and of this runtime: stateful, with one journal of all that was done.

    world = World(toy())
    world.reconcile()
    assert world.journal == ["external observe acme", ...]

A journal is compared whole: a write that is missing fails a test like one that is wrong. `testing.cases` has
the words for tables of such tests.
"""

from edgetenants_runtime.testing.external import FakeExternal, FakeRecorder
from edgetenants_runtime.testing.journal import Journal, Killed
from edgetenants_runtime.testing.objects import FakeObjects
from edgetenants_runtime.testing.toys import CLUSTER_TOYS, TOYS, toy
from edgetenants_runtime.testing.world import World

__all__ = [
    "CLUSTER_TOYS",
    "TOYS",
    "FakeExternal",
    "FakeObjects",
    "FakeRecorder",
    "Journal",
    "Killed",
    "World",
    "toy",
]
