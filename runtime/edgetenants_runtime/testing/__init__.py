"""Stateful fakes for tests of providers and of this runtime, with one journal of all actions.

    world = World(toy())
    world.reconcile()
    assert world.journal == ["external observe acme", ...]

Tests compare a journal as a whole: a missing write fails a test like a wrong one. `testing.cases` has helpers
for tables of such tests.
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
