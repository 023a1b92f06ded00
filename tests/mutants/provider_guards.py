"""Mutations of what stops the provider before it writes, and of whose tenants it takes."""

from tests.mutants.mutation import Mutation

_VANISHING = ("unit/provider/test_vanishing.py",)
_OWNERSHIP = ("unit/provider/test_ownership.py",)
_TENANT = ("unit/provider/test_tenant.py",)

PROVIDER_GUARDS = (
    Mutation(
        "tenants that are gone are made anew however many they are",
        "cloudfront/guards.py",
        "    if verdict is Verdict.HELD:\n        many",
        "    if False:\n        many",
        "an account that somebody emptied is filled again",
        _VANISHING,
    ),
    Mutation(
        "a tenant that is gone is made anew at once",
        "cloudfront/guards.py",
        "    if verdict is Verdict.WAIT:",
        "    if False:",
        "after a restart all are made anew before anybody counted them",
        _VANISHING,
    ),
    Mutation(
        "the share of a slow look is not taken",
        "cloudfront/vanishing.py",
        "limit(min(known, looked_at))",
        "limit(known)",
        "where AWS's rate is low, thousands are made anew before the limit is seen",
        _VANISHING,
    ),
    Mutation(
        "any word confirms",
        "cloudfront/guards.py",
        "having.confirmed == vanished.token(having.config)",
        "having.confirmed",
        "an annotation that was forgotten confirms the next accident",
        _VANISHING,
    ),
    Mutation(
        "a confirmation lasts",
        "cloudfront/vanishing.py",
        "hashlib.sha256(first.encode())",
        'hashlib.sha256(b"")',
        "an annotation that was forgotten confirms the next accident",
        _VANISHING,
    ),
    Mutation(
        "those that are back still count",
        "cloudfront/tenant.py",
        "        self._memory.vanished.is_there(mr.uid)\n",
        "",
        "tenants that go one by one over a year are held in the end",
        _VANISHING,
    ),
    Mutation(
        "those that nobody wants still count",
        "cloudfront/tenant.py",
        "            self._memory.vanished.forget(mr.uid)\n",
        "",
        "a fleet that was deleted holds up what stays",
        _VANISHING,
    ),
    Mutation(
        "another account's credentials are taken",
        "cloudfront/ownership.py",
        "return home if home and caller and home != caller else None",
        "return None",
        "a wrong ProviderConfig makes every tenant a second time, in another account",
        _OWNERSHIP,
    ),
    Mutation(
        "a changed external name is followed",
        "cloudfront/ownership.py",
        '    if not mr.at_provider.get("id") or mr.external_name in known:\n        return None',
        "    if True:\n        return None",
        "an edit of an annotation makes another tenant and forgets the first",
        _OWNERSHIP,
    ),
    Mutation(
        "another owner's tenant is taken where it was given",
        "cloudfront/ownership.py",
        "    if tagged:\n        return Ownership.OTHERS\n",
        "",
        "one cluster takes another's tenants",
        _OWNERSHIP,
    ),
    Mutation(
        "a tenant without owner is taken",
        "cloudfront/ownership.py",
        "return Ownership.GIVEN if given else Ownership.NOBODYS",
        "return Ownership.GIVEN",
        "whoever chooses a name gets the tenant that stands under it",
        _OWNERSHIP,
    ),
    Mutation(
        "a frozen config writes",
        "cloudfront/guards.py",
        "    if frozen:\n        words",
        "    if False:\n        words",
        "an incident goes on although somebody froze the writes",
        _TENANT,
    ),
    Mutation(
        "protection holds nothing",
        "cloudfront/guards.py",
        "    raise NotYet(words, after=_HELD_SECONDS, conditions=(not_ready(Reason.DELETION_HELD, words),))",
        "    return",
        "a protected tenant is deleted",
        _TENANT,
    ),
    Mutation(
        "an update that changes nothing is made for ever",
        "cloudfront/assessment.py",
        "last is None or current is None or last.count < _TRIES",
        "True",
        "a field that AWS writes otherwise costs an update at each look",
        _TENANT,
    ),
)
