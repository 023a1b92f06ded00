"""Mutations of how the function moves domains between a claim's tenants."""

from tests.mutants.mutation import Mutation

_SWITCHES = "unit/function/test_switches.py"

FUNCTION_MOVES: tuple[Mutation, ...] = (
    Mutation(
        "a new tenant asks for its domains before it is rolled out",
        "switches.py",
        "(gives and self._open(target))",
        "gives",
        "a domain that moves to a tenant that is not rolled out is dark",
        (f"{_SWITCHES}::test_no_domain_moves_to_a_tenant_that_is_not_rolled_out",),
    ),
    Mutation(
        "an old tenant gives its last domain",
        "switches.py",
        "gives = bool(source.id) and self._parks(name)",
        "gives = bool(source.id)",
        "a tenant without a domain is not known to be possible, and the move may be refused",
        (f"{_SWITCHES}::test_no_tenant_gives_its_last_domain_before_it_has_another_name",),
    ),
    Mutation(
        "a new tenant does not name the tenant that has its domains",
        "switches.py",
        "for name in sources if self._parks(name))",
        "for name in sources if False)",
        "no domain moves, as nobody asks for it",
        (f"{_SWITCHES}::test_every_domain_is_served_all_the_time",),
    ),
    Mutation(
        "a status of before is believed when a claim is turned back",
        "switches.py",
        "            and target.told(target.synced)\n",
        "",
        "the tenant that has the domain by now loses it",
        (
            f"{_SWITCHES}::test_turned_back_a_tenant_keeps_what_it_got_though_the_other_still_claims_to_have_it",
        ),
    ),
    Mutation(
        "a tenant that may still give its domains away counts as having them",
        "switches.py",
        "            and parking not in asked\n",
        "",
        "the tenant that has the domain by now loses it",
        (
            f"{_SWITCHES}::test_turned_back_a_tenant_keeps_what_it_got_though_the_other_still_claims_to_have_it",
        ),
    ),
    Mutation(
        "a move that may be on its way is forgotten when a claim is turned back",
        "switches.py",
        "self._arrived(target, domain) and _knows(source, domain)",
        "self._arrived(target, domain)",
        "the domain arrives in a tenant that drops it",
        (
            f"{_SWITCHES}::test_turned_back_a_tenant_whose_move_may_be_on_its_way_keeps_the_domain_until_it_tells",
        ),
    ),
    Mutation(
        "what is refused is given up without a gap by itself",
        "moves.py",
        "    if switch.gap or not switch.refused:\n",
        "    if True:\n",
        "a change of isolation hangs, and nobody is told of the way out",
        (f"{_SWITCHES}::test_what_is_refused_waits_for_the_claim_which_is_told_what_goes_dark",),
    ),
    Mutation(
        "all old tenants get a parking name at once",
        "switches.py",
        "new[: max(0, _AT_ONCE - under_way)]",
        "new",
        "Crossplane's circuit breaker opens, and nobody looks at the claim for minutes",
        (f"{_SWITCHES}::test_at_most_three_old_tenants_change_at_a_time",),
    ),
    Mutation(
        "new tenants are made although moves are refused",
        "moves.py",
        "if not each.parked or each.resource_name in switch.seen)",
        "if each)",
        "tenants pile up that serve nothing",
        (f"{_SWITCHES}::test_at_most_three_new_tenants_wait_where_moves_are_refused",),
    ),
    Mutation(
        "with a gap the old tenant lets go before the new one is rolled out",
        "switches.py",
        "            return self._open(target) or _has(target, source, domain)\n",
        "            return True\n",
        "a domain is dark for as long as CloudFront rolls the new tenant out",
        (f"{_SWITCHES}::test_a_gap_is_short_as_the_new_tenant_is_rolled_out_before_the_old_one_lets_go",),
    ),
    Mutation(
        "tenants that got their domains go when the plan has no parking domain any more",
        "switches.py",
        "return target is not None and domain in target.asked.domains\n",
        "return False\n",
        "a changed plan takes down what serves, without a confirmation",
        (f"{_SWITCHES}::test_a_plan_that_loses_its_parking_domain_meanwhile_takes_nothing_down",),
    ),
    Mutation(
        "the confirmation names no domains",
        "moves.py",
        'f"{because}. These domains are not served for some minutes: {_names(tuple(switch.holders))}. That "',
        'f"{because}. The domains are not served for some minutes. That "',
        "somebody confirms without knowing what goes dark",
        (f"{_SWITCHES}::test_where_no_domain_can_move_the_claim_is_told_what_goes_dark_and_why",),
    ),
    Mutation(
        "a record stands in the claim's status for each tenant that knows its domain",
        "status.py",
        "parked | (names & told)",
        "parked",
        "the API server takes no list with two records of one name, so nothing is composed",
        (f"{_SWITCHES}::test_a_claim_shows_each_record_once_and_none_of_parking_names",),
    ),
    Mutation(
        "a claim is told to make records of parking names",
        "moves.py",
        "    return frozenset(names)\n",
        "    return frozenset()\n",
        "people make DNS records that lead nobody anywhere",
        (f"{_SWITCHES}::test_a_claim_shows_each_record_once_and_none_of_parking_names",),
    ),
    Mutation(
        "Live goes by the tenants while domains move",
        "fn.py",
        "    if wanted.switching and not order.claim.spec.suspended:\n",
        "    if False:\n",
        "a claim whose domains are all served is told to be down",
        (f"{_SWITCHES}::test_every_domain_is_served_all_the_time",),
    ),
)
