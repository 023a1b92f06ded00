"""Mutations of what a rehearsal says of other resources, and of what messages say of others at all."""

from tests.mutants.mutation import Mutation

_DISCLOSURE, _PEERS = (
    "unit/provider/cloudfront/ownership/test_disclosure.py",
    "contract/test_rehearsal_peers.py",
)

PROVIDER_PLAN: tuple[Mutation, ...] = (
    Mutation(
        "another namespace's tenants are named",
        "cloudfront/ownership/disclosure.py",
        '    return rest.partition("/")[0] == identity.namespace_of(mr)\n',
        "    return bool(rest)\n",
        "whoever tries a domain learns whose customer it is",
        (_DISCLOSURE,),
    ),
    Mutation(
        "another installation's tenants are named",
        "cloudfront/ownership/disclosure.py",
        '    if owner is None or not owner.startswith(f"{installation}/"):\n        return False\n',
        "    if owner is None:\n        return False\n"
        '    owner = f"{installation}/" + owner.partition("/")[2]\n',
        "a namespace of the same name in another cluster is taken for one's own",
        (_DISCLOSURE,),
    ),
    Mutation(
        "a group tells of names that somebody wrote down",
        "cloudfront/ownership/disclosure.py",
        'each.at_provider.get("name") for each in everyone',
        "each.external_name for each in everyone",
        "guesses of other namespaces' names are confirmed",
        (_DISCLOSURE,),
    ),
    Mutation(
        "a tenant that is found by its id is named",
        "cloudfront/safety/guards.py",
        "    name = seen.name if known else str(mr.external_name)\n",
        "    name = seen.name\n",
        "ids that somebody tries lead to names",
        (_DISCLOSURE,),
    ),
    Mutation(
        "the former owner is told to the next",
        "cloudfront/state/diff.py",
        'path == "tags" and key in identity.NAMING_TAGS and key in there',
        "False",
        "InSync names a claim of another namespace",
        (_DISCLOSURE,),
    ),
    Mutation(
        "ids of this account's tenants are told where nobody may look at them",
        "cloudfront/checks/holders.py",
        'if conflict.kind == "distribution-tenant" and "*" not in conflict.account:',
        "if not conflict.kind:",
        "an id of another namespace stands in a message",
        (_DISCLOSURE,),
    ),
    Mutation(
        "one that is not applied yet is the oldest",
        "cloudfront/rehearsal/sight.py",
        '{"creationTimestamp": _YOUNGEST, **mr.metadata}',
        "mr.metadata",
        "a plan promises what the provider refuses",
        (_PEERS,),
    ),
    Mutation(
        "a resource from a repository is its own rival",
        "cloudfront/rehearsal/sight.py",
        'known = live.metadata if live else {"',
        'known = {"',
        "a plan refuses every resource that is there already",
        (_PEERS,),
    ),
    Mutation(
        "another cluster is believed",
        "cloudfront/rehearsal/sight.py",
        "    return bool(mr.uid) and all(",
        "    return not mr.uid and all(",
        "a plan against the wrong context says that owners are gone",
        (_PEERS,),
    ),
    Mutation(
        "the log tells of others at each look",
        "cloudfront/memory/log_changes.py",
        "            of_one[topic] = what\n",
        "            of_one[topic] = None\n",
        "the log has a line for each poll",
        (_DISCLOSURE,),
    ),
)
