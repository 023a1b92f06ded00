"""Mutations of what many provider configs take, and of locks across calls."""

from tests.mutants.mutation import Mutation

SESSIONS = ("unit/provider/cloudfront/account/test_sessions.py",)
ANSWERS = ("unit/provider/cloudfront/memory/test_answers.py",)
LOCKS = ("contract/test_held_locks.py",)
SWEEPS = ("unit/provider/cloudfront/sweep/test_sweeps.py",)
LET_GO = ("contract/test_let_go.py",)
FULL = "a thousand configs take more than the memory limit"

PROVIDER_MEMORY = (
    Mutation(
        "each connection sets the protocols of the context of all",
        "cloudfront/account/trust.py",
        "        if protocols != self._last:\n",
        "        if protocols:\n",
        "a connection that another one starts at that moment reads freed memory",
        ("unit/provider/cloudfront/account/test_sessions.py",),
    ),
    Mutation(
        "each client has shapes of its own",
        "cloudfront/account/sharing.py",
        '        (client.meta, "_service_model"),\n',
        "",
        FULL,
        SESSIONS,
    ),
    Mutation(
        "each client has a TLS context of its own",
        "cloudfront/account/sharing.py",
        "    share_context(client)\n",
        "",
        FULL,
        SESSIONS,
    ),
    Mutation(
        "clients have a method for each operation of AWS",
        "cloudfront/account/models.py",
        "if service_name not in SERVICES or type_name != _MODEL:",
        "if True:",
        FULL,
        SESSIONS,
    ),
    Mutation(
        "authorities that were added to the file are not trusted",
        "cloudfront/account/trust.py",
        "        if stamp != self._loaded:\n",
        "        if self._loaded is None:\n",
        "after a renewal of the bundle, no connection works until a restart",
        SESSIONS,
    ),
    Mutation(
        "all configs keep their connections",
        "cloudfront/account/sessions.py",
        "        if len(self._connected) <= _MOST_CONNECTED:\n",
        "        if True:\n",
        "a thousand configs keep as many connections that AWS has closed",
        SESSIONS,
    ),
    Mutation(
        "a client of ACM lives for each config that needs none",
        "cloudfront/account/sharing.py",
        "        self._made: Any = None\n",
        "        self._made: Any = make()\n",
        FULL,
        SESSIONS,
    ),
    Mutation(
        "all workers wait while an account is asked for its caller again",
        "cloudfront/account/sessions.py",
        "        if opening.is_under_way and",
        "        if False and",
        "where the caller may not be read, all resources wait for a slow STS once a minute",
        SESSIONS,
    ),
    Mutation(
        "a response that was outdated while it was read is kept",
        "cloudfront/memory/answers.py",
        "            if seconds > 0 and not question.outdated:\n",
        "            if seconds > 0:\n",
        "a change of a connection group is seen a minute late",
        ANSWERS,
    ),
    Mutation(
        "a shared read is made under its lock",
        "cloudfront/memory/answers.py",
        "            with urgency.within(question.urgency):\n",
        "            with self._lock:\n",
        "a call that hangs stops all workers",
        (*LOCKS, *ANSWERS),
    ),
    Mutation(
        "each caller has a copy of all rows",
        "cloudfront/memory/rows.py",
        "        if known is not None and known == row:\n            return known\n",
        "",
        "fifty teams with keys of their own take fifty times the memory of an account's tenants",
        SWEEPS,
    ),
    Mutation(
        "a row is that of another caller although it differs",
        "cloudfront/memory/rows.py",
        "if known is not None and known == row:",
        "if known is not None:",
        "a change of a tenant is never seen",
        SWEEPS,
    ),
    Mutation(
        "a deleted config keeps its account",
        "cloudfront/account/sessions.py",
        "        return self._opened.pop(uid, None)\n",
        "        return self._opened.get(uid)\n",
        "configs that are made and deleted in a loop fill the memory",
        LET_GO,
    ),
    Mutation(
        "the proof of a deleted resource is kept",
        "cloudfront/memory/account_memory.py",
        "        self.proofs.drop(uid)\n",
        "        pass\n",
        "resources that are made and deleted in a loop fill the memory",
        LET_GO,
    ),
)
