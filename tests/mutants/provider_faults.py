"""Mutations of what is done while AWS fails or refuses."""

from tests.mutants.mutation import Mutation

_DENIED = "contract/test_faults.py::test_disturbed[update, ListTagsForResource, denied]"

PROVIDER_FAULTS = (
    Mutation(
        "tags that cannot be read are not written",
        "cloudfront/tenant.py",
        "error=str(error))\n            return state\n",
        "error=str(error))\n"
        "            return self._compare(mr, asked, replace(seen, tags=None), certificate)\n",
        "a change of tags is lost, and the tenant says that it is in sync",
        (_DENIED,),
    ),
    Mutation(
        "a group's tags that cannot be read are not written",
        "cloudfront/connectiongroup.py",
        "error=str(error))\n            return state\n",
        "error=str(error))\n            fresh = replace(seen, tags=None)\n",
        "a change of tags is lost, and the group says that it is in sync",
        ("unit/provider/test_connectiongroup.py",),
    ),
)
