"""Mutations of what the contract stands on: cache, informer, queue, Secrets, provider configs, logs."""

from tests.mutants.mutation import Mutation
from tests.mutants.runtime_configs import CONFIGS, CONNECTIONS

INFORMER = ("kube/test_informer.py",)
QUEUE = ("queueing/test_queue.py",)

FOLLOWING = (
    Mutation(
        "objects of a kind that exists go with a 404",
        "kube/informer.py",
        " and not self._exists():",
        ":",
        "an API server that has lost the kind for a while ends the records of kept domains",
        ("kube/test_informer.py",),
    ),
    Mutation(
        "objects of a history that no longer exists are kept",
        "kube/cache.py",
        "        self._forget_what_never_was(obj, list_version)\n",
        "",
        "after a restore with raised versions, a suspended tenant stays dark",
        ("kube/test_informer.py",),
    ),
    Mutation(
        "a list that is older than our own write is believed",
        "kube/cache.py",
        "_version(obj) < _version(old) <= list_version",
        "_version(obj) < _version(old)",
        "the provider acts on what it has changed since",
        ("kube/test_informer.py",),
    ),
    Mutation(
        "an older event wins over our own write",
        "kube/cache.py",
        "_version(obj) <= _version(old)",
        "_version(obj) == _version(old)",
        "reconciles would work from what they themselves have changed since",
        INFORMER,
    ),
    Mutation(
        "no tombstones",
        "kube/cache.py",
        "            elif _uid(obj) not in self._deleted:\n",
        "            else:\n",
        "a late answer would bring back what is gone, for ever",
        INFORMER,
    ),
    Mutation(
        "a list drops what is newer",
        "kube/cache.py",
        "if key not in present and known is not None and _version(known) <= version:",
        "if key not in present and known is not None:",
        "a resource that was just created would be forgotten",
        INFORMER,
    ),
    Mutation(
        "a predecessor's deletion drops the successor",
        "kube/cache.py",
        "        if old is not None and _uid(old) == _uid(obj):\n",
        "        if old is not None:\n",
        "a re-created resource would be forgotten",
        INFORMER,
    ),
    Mutation(
        "a forgotten past is asked for again",
        "kube/informer.py",
        '        self._version = ""\n        if error.operation.verb == "watch"',
        '        if error.operation.verb == "watch"',
        "after an outage of the watch nothing would be followed any more",
        INFORMER,
    ),
    Mutation(
        "a refused list gives up",
        "kube/informer.py",
        "                self._failed(error)\n",
        "                return\n",
        "a rule given back later would help nobody",
        INFORMER,
    ),
)

QUEUEING = (
    Mutation(
        "one key in two workers",
        "queueing/queue.py",
        "        if key in self._processing:\n",
        "        if False:\n",
        "two reconciles of one resource at once would create it twice",
        QUEUE,
    ),
    Mutation(
        "a later delay wins",
        "queueing/queue.py",
        "        if known is not None and known[0] <= due:\n",
        "        if False:\n",
        "a poll would put off a retry",
        QUEUE,
    ),
    Mutation(
        "back-off without a bound",
        "queueing/queue.py",
        "min(self.LONGEST_RETRY, ",
        "max(0.0, ",
        "after a long outage nothing would come back for hours",
        QUEUE,
    ),
    Mutation(
        "a gone key keeps its delays",
        "queueing/queue.py",
        "            self._delays.discard(key)\n            self._real_delays.discard(key)\n\n    def get",
        "            pass\n\n    def get",
        "memory that grows with each deleted resource",
        QUEUE,
    ),
)

LEADING = (
    Mutation(
        "a process that lost the lead goes on writing",
        "reconcile/guard.py",
        "        if not self._may_act():\n",
        "        if False:\n",
        "two providers would act at once",
        ("reconcile/test_guard.py",),
    ),
    Mutation(
        "a write begins after the reconcile's time",
        "reconcile/guard.py",
        "        deadline.check(write, made_nothing=True)\n",
        "",
        "a hung call would be followed by a write that nobody waits for",
        ("reconcile/test_guard.py",),
    ),
    Mutation(
        "an overdue renewal still leads",
        "process/leader.py",
        " and self._clock.now() < self._renewed + self._timing.renew",
        "",
        "a process that was frozen would wake up as a second leader",
        ("process/test_leader.py",),
    ),
    Mutation(
        "a Lease of somebody else is taken before it expires",
        "process/leader.py",
        "        return self._clock.now() >= self._seen_at + known.seconds\n",
        "        return True\n",
        "two providers would act at once",
        ("process/test_leader.py",),
    ),
    Mutation(
        "a poll interval that cannot be read holds a deletion",
        "reconcile/reconciler.py",
        "        annotations = {} if self.mr.deleted else self.mr.annotations\n",
        "        annotations = self.mr.annotations\n",
        "a tenant serves on though its resource was deleted",
        ("reconcile/test_reconciler_deletion.py",),
    ),
    Mutation(
        "a share has all workers",
        "queueing/queue.py",
        "if count >= free)",
        "if False)",
        "who brings a slow AWS account has the resources of all others wait",
        QUEUE,
    ),
    Mutation(
        "two shares have all workers",
        "queueing/queue.py",
        "if count >= free)",
        "if count >= self._workers - max(1, self._workers // 4))",
        "who has two namespaces has the resources of all others wait",
        QUEUE,
    ),
    Mutation(
        "what hangs counts for its share",
        "queueing/queue.py",
        "            self._shares.pop(key, None)\n            self._changed.notify_all()\n",
        "            self._changed.notify_all()\n",
        "six reconciles that hang stop a namespace",
        QUEUE,
    ),
    Mutation(
        "one share goes on and on",
        "queueing/lanes.py",
        "            self._shares.move_to_end(share)\n",
        "            pass\n",
        "a namespace with a thousand resources would starve the others",
        QUEUE,
    ),
    Mutation(
        "a difference that cannot be made is sent all the same",
        "rules/immutable.py",
        "    if stuck:\n",
        "    if False:\n",
        "half an update would be made",
        ("rules/test_fields.py",),
    ),
    Mutation(
        "references are resolved while deleting",
        "reconcile/reconciler.py",
        "        if not self.mr.deleted:\n            # Written with",
        "        if True:\n            # Written with",
        "what is referred to is gone first: the deletion would never end",
        ("rules/test_references.py",),
    ),
)

GUARDING = (
    Mutation(
        "secrets in logs",
        "logs.py",
        "        event[name] = _HIDDEN if _speaks_of_secrets(name) else _clean(value)\n",
        "        event[name] = _clean(value)\n",
        "logs are read by many",
        ("test_logs.py",),
    ),
    Mutation(
        "a finalizer is written with the whole resource",
        "reconcile/writer.py",
        'return self._patch(mr, {"metadata": metadata} | ({"spec": spec} if spec else {}))',
        'return self._patch(mr, {"metadata": metadata, "spec": spec or dict(mr.spec)})',
        "fields of a spec that this version does not know, or of other writers, would be overwritten",
        ("reconcile/test_writes.py::test_a_finalizer_is_a_patch_of_metadata_and_of_nothing_else",),
    ),
    Mutation(
        "every change of status wakes the resource",
        "process/controller.py",
        "        elif change.old is None or _wants(change.old) != _wants(change.new):\n",
        "        else:\n",
        "the provider would answer its own writes for ever",
        ("reconcile/test_writes.py",),
    ),
    Mutation(
        "a kind is reconciled before the others are read",
        "manager.py",
        "        return all(self._read(controller.informer) for controller in self._controllers)\n",
        "        return True\n",
        "what a live resource of another kind has would be taken over",
        ("test_manager.py::test_nothing_is_reconciled_before_every_kind_that_is_served_was_read",),
    ),
    Mutation(
        "a kind that is not there holds up the others",
        "manager.py",
        "        if informer.synced or informer.absent:\n",
        "        if informer.synced:\n",
        "one CRD that is not established would stop the whole provider",
        ("test_manager.py::test_a_kind_that_is_not_there_holds_up_nobody",),
    ),
)

RUNTIME_KUBERNETES = (*FOLLOWING, *QUEUEING, *LEADING, *GUARDING, *CONFIGS, *CONNECTIONS)
