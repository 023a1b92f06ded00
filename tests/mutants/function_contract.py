"""Mutations of what a claim is told, and of what all of the function's replicas have in common."""

from tests.mutants.mutation import Mutation

FUNCTION_CONTRACT: tuple[Mutation, ...] = (
    Mutation(
        "keys come in protobuf's own order",
        "structs.py",
        "for key in sorted(struct.fields)",
        "for key in struct.fields",
        "two replicas write the claim's status in turns",
        ("unit/function/test_determinism.py",),
    ),
)
