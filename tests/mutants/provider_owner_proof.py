"""Mutations of how ownership is proven, before writes, deletions and moves."""

from tests.mutants.mutation import Mutation

PROVIDER_OWNER_PROOF: tuple[Mutation, ...] = ()
