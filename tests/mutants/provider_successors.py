"""Mutations of how a recreated ConnectionGroup takes its connection group over."""

from tests.mutants.mutation import Mutation

_TESTS = "unit/provider/cloudfront/group/test_successors.py"
_MESSAGES = "unit/provider/cloudfront/clients/test_messages.py"

_DEDICATED = ("unit/provider/cloudfront/checks/test_dedicated_groups.py",)

PROVIDER_SUCCESSORS = (
    Mutation(
        "any tenant joins a claim's own group",
        "cloudfront/checks/preflight.py",
        "            yield from self._dedicated(group)\n",
        "",
        "a tenant of another team keeps the group, and the deletion of its claim, for ever",
        _DEDICATED,
    ),
    Mutation(
        "a namespace closes a group that it adopted",
        "cloudfront/checks/dedicated_groups.py",
        'and owner == ["ConnectionGroup", first, group.name]',
        "and owner[2:] == [group.name]",
        "tenants whose plans name a shared group are not created, and not recreated",
        _DEDICATED,
    ),
    Mutation(
        "no tenant of its own namespace joins a claim's own group",
        "cloudfront/checks/dedicated_groups.py",
        " and first != namespace",
        "",
        "the claim's tenants do not get the group that was created for them",
        _DEDICATED,
    ),
    Mutation(
        "the default group can be closed",
        "cloudfront/checks/dedicated_groups.py",
        " and not group.is_default",
        "",
        "a namespace that adopts the default group keeps all new tenants out of it",
        _DEDICATED,
    ),
    Mutation(
        "each group is only for its owner",
        "cloudfront/checks/dedicated_groups.py",
        'tags.get(identity.DEDICATED_TAG) == "true" and ',
        "",
        "no namespace can share a group with others",
        _DEDICATED,
    ),
    Mutation(
        "status says which group a tenant may join",
        "cloudfront/checks/refusals.py",
        'fields & {"connectionGroupId", *(d.field for d in state.pending)}',
        "fields & {d.field for d in state.pending}",
        "with a forged status, a tenant joins the group of another namespace's claim",
        _DEDICATED,
    ),
    Mutation(
        "a dedicated group has no mark in AWS",
        "cloudfront/state/identity.py",
        '"true" if _dedicated(mr) else ""',
        '""',
        "a tenant of another team joins the group that a claim left in AWS",
        _DEDICATED,
    ),
    Mutation(
        "a mark stays when its annotation goes",
        "cloudfront/group/plan.py",
        "        merged.pop(identity.DEDICATED_TAG, None)\n",
        "        pass\n",
        "a group that its owners opened stays closed",
        ("unit/provider/cloudfront/clients/test_connection_group.py",),
    ),
    Mutation(
        "a group that tenants keep is offered to no successor",
        "cloudfront/clients/connection_group.py",
        "            self._offer(mr, seen)\n",
        "",
        "a tenant of another team keeps a recreated claim dark for ever",
        (f"{_TESTS}::test_a_group_that_others_use_goes_to_the_one_that_was_created_after_it",),
    ),
    Mutation(
        "a successor does not accept what is left to it",
        "cloudfront/adoption/owner_look.py",
        "    return other.deleted and proofs.accept(seen.id, other.uid, mr.uid)\n",
        "    return False\n",
        "a tenant of another team keeps a recreated claim dark for ever",
        (f"{_TESTS}::test_a_group_that_others_use_goes_to_the_one_that_was_created_after_it",),
    ),
    Mutation(
        "a group is left to a successor without a finalizer",
        "cloudfront/adoption/owner_look.py",
        "peer.uid == successor and FINALIZER in peer.finalizers",
        "peer.uid == successor",
        "the successor is deleted at that moment, and the group stays in AWS without a resource",
        (f"{_TESTS}::test_it_stays_with_the_old_one_until_the_new_one_has_a_finalizer",),
    ),
    Mutation(
        "what a successor has is deleted by the one before it",
        "cloudfront/clients/connection_group.py",
        "if not self._memory.proofs.withdraw(seen.id, mr.uid, self._peers(mr, seen)):",
        "if False:",
        "the connection group of a live claim is disabled and deleted",
        (f"{_TESTS}::test_what_the_new_one_has_accepted_is_not_deleted_by_the_old_one",),
    ),
    Mutation(
        "a successor that is gone keeps its acceptance",
        "cloudfront/ownership/proofs.py",
        "offer.by == by and offer.to in peers",
        'offer.by == by and offer.to != ""',
        "the group is never deleted, as it waits for a resource that does not exist",
        (f"{_TESTS}::test_a_new_one_that_goes_before_it_has_the_group_leaves_it_to_the_old_one",),
    ),
    Mutation(
        "a group is offered while its own tenant is being deleted",
        "cloudfront/clients/connection_group.py",
        "if not use.has_leaving(mr, seen, self._cluster.everyone):",
        "if True:",
        "a claim that was deleted and created again never gets a new group",
        (f"{_TESTS}::test_while_its_own_tenant_is_being_deleted_the_deletion_waits_for_that",),
    ),
    Mutation(
        "a tenant whose deletion is on hold holds up its group",
        "cloudfront/group/use.py",
        "        and not leaving.held_back(mr, each)\n    ",
        "    ",
        "a recreated claim waits for a tenant that stays",
        (f"{_TESTS}::test_a_tenant_whose_deletion_is_on_hold_holds_up_no_group",),
    ),
    Mutation(
        "other finalizers hold nothing back",
        "cloudfront/state/leaving.py",
        "    if others := going.held_by_others:\n",
        "    if others := ():\n",
        "who waits for a deletion that waits for another controller is told that no action is needed",
        (f"{_MESSAGES}::test_who_waits_for_a_predecessor_that_others_hold_names_their_finalizers",),
    ),
)

FUNCTION_SUCCESSORS = (
    Mutation(
        "a claim does not tell what its own group waits for",
        "findings/live.py",
        "    if group.ready.denied and group.ready.reason in _HOLDING:\n",
        "    if False:\n",
        "the claim says that no action is needed, and waits for ever",
        ("unit/function/findings/test_former_tenants.py::test_what_the_claims_own_group_waits_for_is_told",),
    ),
)
