"""Mutations of which tenant has which domain of a claim, and of when a claim is looked at again."""

from tests.mutants.mutation import Mutation

_TESTS = "unit/function/composed/test_tenant_names.py"

_SWITCHES = "unit/function/changes/test_switches.py"

FUNCTION_NAMES = (
    Mutation(
        "a move says that DNS leads to what it never led to",
        "findings/live.py",
        "    return _ASTRAY_BEFORE if astray else _UNCHECKED_YET\n",
        "    return _SERVED\n",
        "after a change of isolation a claim reports the loss of a DNS record that never existed",
        (f"{_SWITCHES}::test_where_dns_never_led_a_move_says_nothing_else",),
    ),
    Mutation(
        "a tenant that has not checked its records is believed",
        "findings/live.py",
        "    if found.live and (not astray or found.unreached):\n",
        "    if found.live:\n",
        "a claim is Live, and then reports the loss of a DNS record that never existed",
        (f"{_SWITCHES}::test_where_dns_never_led_a_move_says_nothing_else",),
    ),
    Mutation(
        "a URL is shown that leads elsewhere",
        "answer/status.py",
        "        if not checked or each.leads(domain)\n",
        "",
        "automation opens a URL at which the former site still answers",
        (f"{_SWITCHES}::test_where_dns_never_led_a_move_says_nothing_else",),
    ),
    Mutation(
        "edits that core drops are seen within the hour",
        "fn.py",
        "_UNDER_WAY_TTL if composite.unheard else composed.ttl",
        "composed.ttl",
        "an edit that is made while the circuit breaker is open has no effect for an hour",
        (
            "unit/function/claims/test_plans.py::test_a_claim_whose_edits_core_may_drop_is_looked_at_again_soon",
        ),
    ),
    Mutation(
        "an edit that core drops right after another one is seen within the hour",
        "claims/claim.py",
        "return self.edited or ",
        "return ",
        "the circuit breaker opens after the call for one edit, and the next edit has no effect for an hour",
        ("unit/function/claims/test_plans.py::test_a_claim_that_was_edited_is_looked_at_again_soon",),
    ),
    Mutation(
        "the hash of a domain is short",
        "composed/naming.py",
        "HASH_LENGTH: Final = 20\n",
        "HASH_LENGTH: Final = 10\n",
        "a second domain, which anyone can compute, takes the tenant of the first",
        (f"{_TESTS}::test_two_domains_whose_hashes_begin_alike_have_two_tenants",),
    ),
    Mutation(
        "a tenant with a short name gets another one",
        "composed/compose.py",
        "    if not short:\n        return {}\n",
        "    return {}\n",
        "after an update, every tenant of an isolation PerDomain is deleted and created again",
        (f"{_TESTS}::test_a_tenant_with_a_short_name_keeps_it_and_its_domain",),
    ),
    Mutation(
        "a short name goes to whichever domain is first",
        "composed/compose.py",
        "min(had, key=lambda each: not _has(short[name], each))",
        "had[0]",
        "a live domain is taken off its tenant",
        (f"{_TESTS}::test_a_tenant_with_a_short_name_keeps_it_and_its_domain",),
    ),
    Mutation(
        "two tenants of one name are composed",
        "composed/compose.py",
        "        if other is not each:\n",
        "        if False:\n",
        "one of the two domains is taken off the tenant",
        (f"{_TESTS}::test_two_domains_of_one_name_are_refused_by_name",),
    ),
    Mutation(
        "a claim is ready without a tenant for each domain",
        "fn.py",
        " or _without_tenant(order, admitted)),",
        "),",
        "pipelines that wait for Ready go on while a domain is down",
        (f"{_TESTS}::test_a_claim_is_not_ready_while_nothing_is_composed_for_a_domain",),
    ),
    Mutation(
        "what is wanted again has the name of what is being deleted",
        "composed/naming.py",
        "-{generation}-",
        "-",
        "a tenant that is being deleted gets another plan's onDelete, and stays in AWS without an object",
        ("unit/function/composed/test_object_names.py",),
    ),
    Mutation(
        "what could not be created gets another name each time",
        "composed/compose.py",
        "        return noted or (",
        "        return (",
        "a claim whose resource is refused is reconciled without a pause",
        ("unit/function/composed/test_object_names.py",),
    ),
    Mutation(
        "the names that Crossplane has noted are dropped before they are read",
        "serving/questions.py",
        "        if refs is None or len(refs.list_value.values) <= len(req.observed.resources):\n",
        "        if True:\n",
        "a claim whose resource is refused is reconciled without a pause",
        ("unit/function/composed/test_object_names.py",),
    ),
    Mutation(
        "the generation is at the end of a long name",
        "composed/naming.py",
        "_LONGEST_PREFIX: Final = 51",
        "_LONGEST_PREFIX: Final = 60",
        "Crossplane cuts it, and the names are one again",
        ("unit/function/composed/test_object_names.py",),
    ),
    Mutation(
        "what exists gets a prefix for its name",
        "composed/compose.py",
        'named: Json = {"generateName": prefix} if prefix else {}',
        'named: Json = {"generateName": prefix or "acme-"}',
        "each resource is written at the update",
        ("unit/function/composed/test_object_names.py",),
    ),
)
