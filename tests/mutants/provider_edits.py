"""Mutations of combined edits, lost answers and what a creation learns."""

from tests.mutants.mutation import Mutation

PROVIDER_EDITS: tuple[Mutation, ...] = ()
