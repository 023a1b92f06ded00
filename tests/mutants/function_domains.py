"""Mutations of which domains a plan lets a claim ask for."""

from tests.mutants.mutation import Mutation

FUNCTION_DOMAINS: tuple[Mutation, ...] = (
    Mutation(
        "a wildcard needs no leave",
        "domains.py",
        "    if domain.startswith(WILDCARD) and not allow.wildcards:\n        return False\n",
        "",
        "one claim takes every name below the platform's domain",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "a narrower plan refuses what is served",
        "terms.py",
        "beyond(namespace, claim, chosen.plan) - kept",
        "beyond(namespace, claim, chosen.plan)",
        "no claim of the plan can be changed any more, though it serves",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "what was only asked for counts as served",
        "fn.py",
        "        for domain in each.domain_states\n",
        "        for domain in each.asked.domains\n",
        "a domain that CloudFront never gave the claim outlives the plan that forbids it",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "tenants that are going keep domains",
        "fn.py",
        "        if each.exists and not each.deleted\n        for domain",
        "        for domain",
        "a claim gets back what the plan took from it",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "the namespace of a legacy claim is not the claim's",
        "terms.py",
        "*_denied_domains(composite.owner[0], claim, chosen, kept),",
        "*_denied_domains(composite.namespace, claim, chosen, kept),",
        "a v1 claim gets none of its namespace's domains",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "the refused domain is shown as it was written",
        "terms.py",
        "shown(domain))",
        "shown(claim.spec.domains[index]))",
        "a message refuses a name that looks just like the one it allows",
        ("unit/function/test_cases.py",),
    ),
    Mutation(
        "labels of one script look like nothing",
        "lookalikes.py",
        "len(scripts) == 1 and like",
        "len(scripts) > 1 and like",
        "a name in Cyrillic letters that reads as another's goes unseen",
        ("unit/function/test_lookalikes.py",),
    ),
    Mutation(
        "a word of the top-level domain's script is suspected",
        "lookalikes.py",
        " and not scripts <= home",
        "",
        "ordinary names of a country are called look-alikes",
        ("unit/function/test_lookalikes.py",),
    ),
    Mutation(
        "a review that is over stays",
        "fn.py",
        "        rsp.conditions.append(response.condition(composite, conditions.REVIEWED))\n",
        "        pass\n",
        "a claim says for ever that somebody must look at it",
        ("unit/function/test_cases.py",),
    ),
)
