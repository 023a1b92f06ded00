"""Mutations of what conditions and events tell people."""

from tests.mutants.mutation import Mutation

_WAITING = "contract/test_waiting_changes.py"

PROVIDER_MESSAGES = (
    Mutation(
        "a change that could not be looked at is told as done",
        "cloudfront/progress.py",
        "        return InSyncReason.UPDATE_PENDING.value, _UNSEEN\n",
        "        return None\n",
        "a throttled change looks finished",
        (_WAITING,),
    ),
    Mutation(
        "what waits is no change on its way",
        "cloudfront/progress.py",
        "    return in_sync.reason in (InSyncReason.UPDATE_PENDING, InSyncReason.FROZEN)\n",
        "    return in_sync.reason == InSyncReason.FROZEN\n",
        "kstatus says Current of a change that was not sent",
        (_WAITING,),
    ),
    Mutation(
        "drift that is left is a change on its way",
        "cloudfront/progress.py",
        "        return not settled\n",
        "        return True\n",
        "kstatus says InProgress for ever",
        (_WAITING,),
    ),
    Mutation(
        "credentials that ran out hold up no change",
        "cloudfront/connector.py",
        "        with held_up(mr):\n",
        "        if True:\n",
        "a change under expired credentials looks finished",
        (_WAITING,),
    ),
)
