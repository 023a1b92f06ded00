"""Mutations of what is said of a change that no one has looked at."""

from tests.mutants.mutation import Mutation

WAITING = ("reconcile/test_waiting.py",)

RUNTIME_LEFTOVERS = (
    Mutation(
        "a generation that was not looked at counts as observed",
        "reconcile/status_writer.py",
        "acted_upon=self.looked if acted_upon is None else acted_upon,",
        "acted_upon=True,",
        "kstatus takes a change for done whose reference leads nowhere",
        WAITING,
    ),
    Mutation(
        "a pause that the spec asks for leaves the generation behind",
        "reconcile/reconciler.py",
        "synced=paused, acted_upon=asked)",
        "synced=paused)",
        "what waits by kstatus waits for ever for a spec that asks for a pause",
        WAITING,
    ),
    Mutation(
        "nothing is said of a generation that none was looked at with",
        "rules/status.py",
        "    return stored if isinstance(stored, int) else 0\n",
        "    return stored if isinstance(stored, int) else status.get('generation', 1)\n",
        "kstatus takes a new resource without a provider config for done",
        WAITING,
    ),
    Mutation(
        "the guard keeps to itself what the connector says of a change that waits",
        "reconcile/guard.py",
        "        if isinstance(self._connector, TellsOfWaiting):\n",
        "        if False:\n",
        "InSync is True for a change that nobody has looked at",
        WAITING,
    ),
    Mutation(
        "the connector is asked after the look too",
        "reconcile/status_writer.py",
        "        if self.looked or not isinstance(",
        "        if not isinstance(",
        "what the look said is told as if nobody had looked",
        WAITING,
    ),
    Mutation(
        "a change under a pause is not told",
        "reconcile/reconciler.py",
        "*(() if asked else self.waiting(paused.message)), ",
        "",
        "InSync is True for a change that was made under a pause",
        WAITING,
    ),
    Mutation(
        "each change of a config tells it as gone",
        "providerconfigs.py",
        "        if change.old is not None and change.new is None:\n",
        "        if change.old is not None:\n",
        "what it sets for its account counts no more",
        ("config/test_controller.py",),
    ),
)
