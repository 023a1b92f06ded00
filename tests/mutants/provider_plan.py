"""Mutations of what a rehearsal says of other resources."""

from tests.mutants.mutation import Mutation

PROVIDER_PLAN: tuple[Mutation, ...] = ()
