"""Mutations of whose a tenant is."""

from tests.mutants.mutation import Mutation

PROVIDER_OWNERSHIP = (
    Mutation(
        "peers are found by the external name alone",
        "cloudfront/rehearsal/sight.py",
        ' or other.at_provider.get("id") in names',
        "",
        "a resource that imports by id takes another's tenant",
        ("unit/provider/test_main.py",),
    ),
    Mutation(
        "what a plan could not see is not told",
        "cloudfront/rehearsal/sight.py",
        'return self.in_words if self.used else ""',
        'return ""',
        "who may not list other namespaces believes that nobody manages a tenant",
        ("contract/test_rehearsal_peers.py",),
    ),
)
