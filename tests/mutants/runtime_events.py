"""Mutations of how many events wait, and whose are written first."""

from tests.mutants.mutation import Mutation

EVENTS = ("kube/test_events.py",)

RUNTIME_EVENTS = (
    Mutation(
        "events are served first come first served",
        "kube/events.py",
        "Lane(lambda told: told.share)",
        "Lane(lambda _: None)",
        "a namespace that is edited a hundred times a second delays the events of all others",
        EVENTS,
    ),
    Mutation(
        "a namespace fills the queue of events",
        "kube/events.py",
        " or (wait >= self.MANY and of_one >= self.MOST_OF_ONE)",
        "",
        "the events of all others are dropped",
        EVENTS,
    ),
    Mutation(
        "a burst of events is dropped",
        "kube/events.py",
        "wait >= self.MANY and of_one",
        "of_one",
        "what is told once is never told, although nothing else waits",
        EVENTS,
    ),
    Mutation(
        "any number of events waits",
        "kube/events.py",
        "wait >= self.MOST or ",
        "",
        "the events of many namespaces fill the memory",
        EVENTS,
    ),
    Mutation(
        "events of a claim's resource count for no namespace",
        "kube/events.py",
        "key, mr.share, mr.api_version",
        "key, mr.namespace, mr.api_version",
        "one team's claims delay the events of all others on Crossplane v1",
        EVENTS,
    ),
    Mutation(
        "an object has any number of events",
        "kube/events.py",
        "        return allowed\n",
        "        return True\n",
        "an object that is edited a hundred times a second has a hundred events a second",
        EVENTS,
    ),
    Mutation(
        "an object never has events again",
        "kube/events.py",
        "left + (now - since) / self.SECONDS",
        "left",
        "a resource that was edited often tells nothing more for the life of the process",
        EVENTS,
    ),
    Mutation(
        "an object saves up events",
        "kube/events.py",
        "min(self.BURST, left + (now - since) / self.SECONDS)",
        "left + (now - since) / self.SECONDS",
        "a resource that is a month old may have thousands of events at once",
        EVENTS,
    ),
    Mutation(
        "repetitions use up the events of an object",
        "kube/events.py",
        "        series.count += 1\n",
        "        self._allowance.take(told.uid)\n        series.count += 1\n",
        "a resource that fails for hours no longer tells why",
        EVENTS,
    ),
    Mutation(
        "objects with events are remembered for ever",
        "kube/events.py",
        "        if len(self._left) > _REMEMBERED_OBJECTS:\n",
        "        if False:\n",
        "each resource that is created and deleted fills the memory",
        EVENTS,
    ),
    Mutation(
        "each dropped event is logged",
        "kube/events.py",
        "            if last is not None and now - last < _DROPS_SECONDS:\n",
        "            if False:\n",
        "a flood of events is a flood of log lines",
        EVENTS,
    ),
    Mutation(
        "namespaces with dropped events are remembered for ever",
        "kube/events.py",
        "            if len(self._last) > _REMEMBERED_DROPS:\n",
        "            if False:\n",
        "each namespace that is created and deleted fills the memory",
        EVENTS,
    ),
)
