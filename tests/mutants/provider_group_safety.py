"""Mutations of what keeps a connection group and a deletion safe."""

from tests.mutants.mutation import Mutation

PROVIDER_GROUP_SAFETY: tuple[Mutation, ...] = ()
