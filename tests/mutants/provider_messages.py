"""Mutations of what conditions and events tell people."""

from tests.mutants.mutation import Mutation

_MESSAGES = "unit/provider/test_messages.py"
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
    Mutation(
        "other accounts are asked for by a distribution as if it were a tenant",
        "cloudfront/domaincalls.py",
        '        kind = "DistributionTenantId" if resource.startswith(_TENANT) else "DistributionId"\n',
        '        kind = "DistributionTenantId"\n',
        "nobody learns which domain another account has",
        (_MESSAGES,),
    ),
    Mutation(
        "other accounts are asked for domains that no certificate here covers",
        "cloudfront/checks.py",
        "    return None if own else asked.distribution_id\n",
        "    return asked.distribution_id\n",
        "a refused customer domain costs a call that cannot be answered",
        (_MESSAGES,),
    ),
    Mutation(
        "a domain that does not lead here is an invalid argument",
        "cloudfront/errors.py",
        "    if error.verdict is _UNOWNED:\n",
        "    if error.verdict is _BROKEN:\n",
        "nobody is told to make DNS records",
        (_MESSAGES,),
    ),
    Mutation(
        "a team's config names the platform's Secret",
        "cloudfront/origins.py",
        "        namespace = config.key.namespace or given.secret_ref.namespace\n",
        "        namespace = given.secret_ref.namespace\n",
        "expired credentials are renewed in a Secret that nobody reads",
        (_MESSAGES,),
    ),
    Mutation(
        "who fought once fights for ever",
        "cloudfront/memory.py",
        " and times[0] > self._clock.now() - _CONTENTION_SECONDS",
        "",
        "a second writer is suspected for ever",
        (_MESSAGES,),
    ),
    Mutation(
        "a claim's author is advised as if they wrote the resource",
        "cloudfront/advice.py",
        '    owners = mr.metadata.get("ownerReferences") or ()\n',
        "    owners: tuple[dict[str, str], ...] = ()\n",
        "the advice names an annotation that a claim cannot set",
        (_MESSAGES,),
    ),
    Mutation(
        "every composite is a claim",
        "cloudfront/advice.py",
        ' and each.get("apiVersion", "").startswith(_CLAIMS)',
        "",
        "a composite of somebody's own is told of fields that it does not have",
        (_MESSAGES,),
    ),
    Mutation(
        "a record that somebody removed is not told",
        "cloudfront/dnsinstructions.py",
        "    return tuple(sorted(led & _in_state(now, *leads_not)))\n",
        "    return ()\n",
        "visitors do not get there, and nobody hears of it",
        (_MESSAGES,),
    ),
    Mutation(
        "a disabled tenant is told as deleted",
        "cloudfront/tenant.py",
        "        raise NotYet(waiting, after=plan.LOOK_AGAIN, conditions=conditions.removing(tenant))\n",
        "        return Change(conditions=conditions.removing(tenant), requeue_after=5.0, message=waiting)\n",
        "an event says DeletedExternalResource of what is there",
        (_WAITING,),
    ),
)
