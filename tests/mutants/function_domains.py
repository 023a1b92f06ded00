"""Mutations of which domains a plan lets a claim ask for."""

from tests.mutants.mutation import Mutation

FUNCTION_DOMAINS: tuple[Mutation, ...] = ()
