"""Mutations of whose a tenant is."""

from tests.mutants.mutation import Mutation

PROVIDER_OWNERSHIP = (
    Mutation(
        "another's tenant can be given away although its owner lives",
        "cloudfront/ownership/judgement.py",
        "    if left and any(identity.owner_of(peer, installation, seen.name) == tagged for peer in peers):\n"
        "        left = False\n",
        "",
        "two resources write to one tenant in turn",
        ("unit/provider/cloudfront/ownership/test_judgement.py",),
    ),
    Mutation(
        "peers are found by the external name alone",
        "cloudfront/rehearsal/sight.py",
        ' or other.at_provider.get("id") in names',
        "",
        "a resource that imports by id takes another's tenant",
        ("unit/provider/test_main.py",),
    ),
)
