"""Mutations of what holds whatever AWS turns out to do where it says nothing."""

from tests.mutants.mutation import Mutation

_SAFETY = "unit/provider/cloudfront/group/test_safety.py"
_SMALL_PAGES_ARE_REFUSED = (
    "contract/test_open_questions.py::test_a_life_under_each_reading[combination-0-with_managed_certificate]"
)

PROVIDER_READINGS = (
    Mutation(
        "a group's tenants are asked for by the number",
        "cloudfront/aws/group_calls.py",
        'of_group: Any = {"AssociationFilter": {"ConnectionGroupId": id_}}',
        'of_group: Any = {"AssociationFilter": {"ConnectionGroupId": id_}, "MaxItems": 5}',
        "where AWS has smaller pages the list is refused, and a group with tenants cannot be deleted",
        (_SMALL_PAGES_ARE_REFUSED,),
    ),
    Mutation(
        "tenants that cannot be listed are no tenants",
        "cloudfront/group/use.py",
        "            raise _held(mr, group, error, after) from error",
        "            pass",
        "a refused list disables a group under its tenants",
        (f"{_SAFETY}::test_where_aws_does_not_tell_the_group_is_kept_until_somebody_confirms",),
    ),
)
