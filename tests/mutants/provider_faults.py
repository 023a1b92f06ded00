"""Mutations of what is done while AWS fails or refuses."""

from tests.mutants.mutation import Mutation

_PROOFS = "unit/provider/cloudfront/ownership/test_proofs.py"
_UNREAD = f"{_PROOFS}::test_what_is_proven_is_changed_where_tags_cannot_be_read"

PROVIDER_FAULTS = (
    Mutation(
        "tags that cannot be read are not written",
        "cloudfront/clients/skeleton.py",
        "            self._deep_look_done(mr, due and error.not_permitted)\n            return state\n",
        (
            '            known = None if noun(mr) == "tenant" else seen.tags\n'
            "            return self._assess_again(mr, state, replace(seen, tags=known))\n"
        ),
        "a change of tags is lost, and the tenant says that it is in sync",
        (_UNREAD,),
    ),
    Mutation(
        "a group's tags that cannot be read are not written",
        "cloudfront/clients/skeleton.py",
        "            self._deep_look_done(mr, due and error.not_permitted)\n            return state\n",
        (
            '            known = seen.tags if noun(mr) == "tenant" else None\n'
            "            return self._assess_again(mr, state, replace(seen, tags=known))\n"
        ),
        "a change of tags is lost, and the group says that it is in sync",
        ("unit/provider/cloudfront/clients/test_connection_group.py",),
    ),
)
