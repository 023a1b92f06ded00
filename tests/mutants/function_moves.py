"""Mutations of how the function moves domains between a claim's tenants."""

from tests.mutants.mutation import Mutation

FUNCTION_MOVES: tuple[Mutation, ...] = ()
