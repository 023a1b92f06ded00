"""Mutations of the record of who holds a domain."""

from tests.mutants.mutation import Mutation

PROVIDER_HELD_DOMAINS: tuple[Mutation, ...] = ()
