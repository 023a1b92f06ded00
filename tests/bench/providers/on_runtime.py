"""A no-op provider on edgetenants_runtime: `python on_runtime.py KUBECONFIG WORKERS`."""

import sys

from edgetenants_runtime import Change, Managed, ManagedKind, Observation, SystemClock, logs
from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.manager import Manager, Settings

NOOPS = ManagedKind("bench.example.org", "v1alpha1", "Noop", "noops", namespaced=True)


class Outside:
    """External resources that exist after their creation and are always up to date."""

    def __init__(self) -> None:
        self.uids: set[str] = set()

    def connect(self, _: Managed) -> "Outside":
        return self

    def observe(self, mr: Managed) -> Observation:
        exists = mr.uid in self.uids
        return Observation(exists=exists, conditions=(available(),) if exists else ())

    def create(self, mr: Managed, _: Observation) -> Change:
        self.uids.add(mr.uid)
        return Change()

    def update(self, _: Managed, __: Observation) -> Change:
        return Change()

    def delete(self, mr: Managed, _: Observation) -> Change:
        self.uids.discard(mr.uid)
        return Change()


if __name__ == "__main__":
    logs.configure()
    client = KubeClient.from_kubeconfig(sys.argv[1], field_manager="bench")
    manager = Manager(client, SystemClock(), Settings(poll_interval=3600.0, workers=int(sys.argv[2])))
    manager.manage(NOOPS, Outside())
    sys.exit(manager.run())
