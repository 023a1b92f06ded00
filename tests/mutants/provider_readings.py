"""Mutations of what holds whatever AWS turns out to do where it says nothing."""

from tests.mutants.mutation import Mutation

_SMALL_PAGES_ARE_REFUSED = (
    "contract/test_open_questions.py::test_a_life_under_each_reading[combination-0-with_managed_certificate]"
)

PROVIDER_READINGS = (
    Mutation(
        "a group's tenants are asked for by the number",
        "cloudfront/groupcalls.py",
        'AssociationFilter={"ConnectionGroupId": id_})',
        'AssociationFilter={"ConnectionGroupId": id_}, MaxItems=_FIRST_TENANTS)',
        "where AWS has smaller pages the list is refused, and a group with tenants cannot be deleted",
        (_SMALL_PAGES_ARE_REFUSED,),
    ),
    Mutation(
        "tenants that cannot be listed are no tenants",
        "cloudfront/connectiongroup.py",
        "            if error.code not in _UNLISTED:\n",
        "            if False:\n",
        "a throttled list disables a group under its tenants",
        ("unit/provider/test_connectiongroup.py",),
    ),
)
