"""Mutations of the bounds on what comes from outside, and of uncertain answers."""

from tests.mutants.mutation import Mutation

RUNTIME_BOUNDS: tuple[Mutation, ...] = ()
