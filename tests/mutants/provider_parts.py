"""Mutations of what is made of a change while another part of it is refused."""

from tests.mutants.mutation import Mutation

_PARTS = ("unit/provider/cloudfront/tenant/test_parts.py",)

PROVIDER_PARTS = (
    Mutation(
        "nothing is made of a change that a check refuses",
        "cloudfront/clients/skeleton.py",
        "            raise self._but_the_rest(mr, state, refusal) from refusal\n",
        "            raise\n",
        "a parameter that is misspelt holds up an emergency stop",
        _PARTS,
    ),
    Mutation(
        "nothing is made of a change that AWS refuses",
        "cloudfront/clients/skeleton.py",
        "        if not failure.cause.about_request:\n",
        "        if True:\n",
        "whoever has a domain decides whether another team's suspension happens",
        _PARTS,
    ),
    Mutation(
        "parts are tried whatever fails",
        "cloudfront/clients/skeleton.py",
        "        if not failure.cause.about_request:\n",
        "        if False:\n",
        "each refusal of credentials costs four calls",
        _PARTS,
    ),
    Mutation(
        "a tenant is taken over for a spec that is refused",
        "cloudfront/clients/skeleton.py",
        "        if not (state.marked or self._memory.proofs.held(mr.uid, state.seen.id)):\n",
        "        if False:\n",
        "adoption happens for a resource that cannot be",
        _PARTS,
    ),
    Mutation(
        "a part that AWS takes without effect is made again and again",
        "cloudfront/clients/skeleton.py",
        "        self._memory.note_part(mr.uid, (part.todo.all, effects.there.etag))\n",
        "",
        "a write every five seconds, for ever",
        _PARTS,
    ),
    Mutation(
        "the rest waits for the poll interval once a part is made",
        "cloudfront/clients/skeleton.py",
        "retry=Retry.after(LOOK_AGAIN))\n",
        "retry=refusal.retry)\n",
        "two tenants that swap domains are dark for a minute",
        _PARTS,
    ),
    Mutation(
        "a part may take all domains away",
        "cloudfront/tenant/parts.py",
        " or frozenset(seen.domains)\n",
        "\n",
        "an update that AWS refuses holds up the rest",
        _PARTS,
    ),
    Mutation(
        "only what adds no domain is tried",
        "cloudfront/tenant/parts.py",
        "(replace(target, domains=fewer), less, replace(less, domains=frozenset(seen.domains)))",
        "(replace(target, domains=fewer),)",
        "a parameter that is misspelt holds up an emergency stop",
        _PARTS,
    ),
    Mutation(
        "a part enables",
        "cloudfront/tenant/parts.py",
        "        enabled=seen.enabled and target.enabled,\n",
        "        enabled=target.enabled,\n",
        "a tenant is served with what it was to be changed from",
        _PARTS,
    ),
    Mutation(
        "a tenant that is to be disabled is said to be",
        "cloudfront/tenant/conditions.py",
        "    if world.seen.enabled:\n        # Also",
        "    if world.seen.enabled and world.asked.enabled is not False:\n        # Also",
        "whoever stops a site believes that it stopped",
        _PARTS,
    ),
)
