"""Mutations of what the runtime shares with crossplane-runtime, case by case."""

from tests.mutants.mutation import Mutation

ENDS = ("test_creation_ends.py",)
FAILURES = ("test_reconciler_failures.py",)
GUARDS = ("test_reconciler_guards.py",)
DELETION = ("test_reconciler_deletion.py",)

RUNTIME_CONTRACT = (
    Mutation(
        "a conflict loses the name",
        "writer.py",
        "                if isinstance(error, NotFound) and not isinstance(error, NotServed):\n",
        "                if not error.transient:\n",
        "the external resource of a generated name could never be found again",
        ENDS,
    ),
    Mutation(
        "what could not be written of a creation is forgotten",
        "reconciler.py",
        "        self.known.unwritten(self.mr.uid, annotations)\n",
        "",
        "the external resource of a generated name could never be found again",
        ENDS,
    ),
    Mutation(
        "a name that people found is written over",
        "reconciler.py",
        "        if chosen and self.mr.external_name not in (None, chosen):\n",
        "        if False:\n",
        "what people decided would be undone",
        ENDS,
    ),
    Mutation(
        "a creation ends when the clock says so",
        "meta.py",
        "        return max(now, self.pending) if _counts(self.pending) else now\n",
        "        return now\n",
        "a clock that is set back by milliseconds would stop a generated name for good",
        ENDS,
    ),
    Mutation(
        "a creation begins when the clock says so",
        "meta.py",
        "        return max(now, self.ended + _TICK) if _counts(self.ended) else now\n",
        "        return now\n",
        "after a clock was set back an interrupted creation would be made twice",
        ENDS,
    ),
    Mutation(
        "what was announced and not begun stays announced",
        "reconciler.py",
        "            self.take_back()\n",
        "            pass\n",
        "a change of leaders would stop a generated name for good",
        ENDS,
    ),
    Mutation(
        "who stands down writes over who leads",
        "reconciler.py",
        "writer.patch_metadata(self.mr, annotations=failed, finalizers=self.mr.finalizers)",
        "writer.set_critical_annotations(self.mr, failed)",
        "the new leader's open creation would count as failed and be made twice",
        ENDS,
    ),
    Mutation(
        "what only a change mends is tried again",
        "steps.py",
        "        return Outcome(Next.NEVER, failed=True)\n",
        "        return Outcome(Next.AFTER, poll_seconds, failed=True)\n",
        "an event each minute for what nobody but its author can mend",
        GUARDS,
    ),
    Mutation(
        "what only a change mends is told at each start",
        "telling.py",
        "        if why.retry != Retry.never() or self.news(conditions.reconcile_error(why.message)):\n",
        "        if True:\n",
        "an event for each such resource at each start of the provider",
        GUARDS,
    ),
    Mutation(
        "other finalizers are told of at each look",
        "reconciler.py",
        "        if self.known.begins_to_wait(self.mr.uid, waits):\n",
        "        if True:\n",
        "an event at each look while somebody's backup runs",
        DELETION,
    ),
    Mutation(
        "a finalizer that cannot be removed leaves Ready True",
        "steps.py",
        '"cannot remove managed resource finalizer", deleting()',
        '"cannot remove managed resource finalizer", None',
        "a resource whose external resource is gone would say that it serves",
        FAILURES,
    ),
    Mutation(
        "details of a creation that cannot be published leave Ready unsaid",
        "steps.py",
        'Says(EventReason.CANNOT_PUBLISH, "cannot publish connection details", creating())',
        'Says(EventReason.CANNOT_PUBLISH, "cannot publish connection details", None)',
        "whoever waits for Ready would see nothing at all",
        FAILURES,
    ),
    Mutation(
        "a server that knows no kinds yet ends a reconcile for good",
        "telling.py",
        "            case NotServed() as unknown if unknown.operation.kind == self.kind:\n",
        "            case NotServed() as unknown if False:\n",
        "resources would sleep after a restart of the API server",
        ENDS,
    ),
)
