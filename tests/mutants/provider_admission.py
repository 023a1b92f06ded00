"""Mutations of the webhooks: what they refuse, and what a review makes the provider do."""

from tests.mutants.mutation import Mutation

_RULES = ("unit/provider/admission/test_rules.py",)
_FACTS = ("unit/provider/admission/test_facts.py",)

PROVIDER_ADMISSION = (
    Mutation(
        "a webhook refuses what Crossplane composes",
        "admission/rules.py",
        "    if new.controller is not None:\n",
        "    if False:\n",
        "the claim of a refused resource cannot show what is wrong",
        _RULES,
    ),
    Mutation(
        "a webhook refuses what the provider writes",
        "admission/rules.py",
        "Verdict() if request.user.startswith(platform) else rules(request, facts)",
        "rules(request, facts)",
        "a resolved reference cannot be written",
        _RULES,
    ),
    Mutation(
        "a webhook trusts a namespace with a similar name",
        "admission/rules.py",
        'f"system:serviceaccount:{namespace}:"',
        'f"system:serviceaccount:{namespace}"',
        "its service accounts get no early answer",
        _RULES,
    ),
    Mutation(
        "a webhook checks a resource that is being deleted",
        "admission/rules.py",
        "    if new.deleted:\n",
        "    if False:\n",
        "a namespace with a refused resource never goes",
        _RULES,
    ),
    Mutation(
        "a webhook checks domains that the resource already had",
        "admission/rules.py",
        "kept_domains.asked(new) - (kept_domains.asked(old) if old else frozenset())",
        "kept_domains.asked(new)",
        "no edit succeeds once a domain is kept for another namespace",
        _RULES,
    ),
    Mutation(
        "a webhook refuses a claim",
        "admission/rules.py",
        "return Verdict(warnings=(*taken, *_unreachable(added, facts)))",
        "return Verdict(problems=tuple(taken))",
        "a hand-over that begins with a claim that waits cannot begin",
        _RULES,
    ),
    Mutation(
        "a webhook lets a resource that manages a tenant change its name",
        "admission/rules.py",
        "    if old and former and judgement.made(old):\n",
        "    if False:\n",
        "the tenant is left in AWS, and the mistake is told a minute later",
        _RULES,
    ),
    Mutation(
        "a domain that was released stays refused",
        "admission/facts.py",
        "                records.reread(others)\n",
        "                pass\n",
        "an administrator releases a domain, and its new owner is refused",
        _FACTS,
    ),
    Mutation(
        "each review reads all records",
        "admission/facts.py",
        "        if now >= self._loaded_at + _RECORDS_SECONDS:\n",
        "        if True:\n",
        "any pod can make the provider list ConfigMaps without end",
        _FACTS,
    ),
    Mutation(
        "a review asks AWS for a distribution that nobody uses",
        "admission/facts.py",
        "known is not None or shared.last(key) is None",
        "known is not None",
        "any pod can use up the rate of an account",
        _FACTS,
    ),
    Mutation(
        "jobs of reviews are unbounded",
        "admission/facts.py",
        "        if not self._room.acquire(blocking=False):\n            return None\n",
        "        self._room.acquire()\n",
        "DNS that hangs stops all writes of managed resources",
        _FACTS,
    ),
    Mutation(
        "an uncertain answer of DNS is one",
        "admission/facts.py",
        "return error.errno in _NO_RECORD",
        "return True",
        "users are warned of domains that work",
        _FACTS,
    ),
)
