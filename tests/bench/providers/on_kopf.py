"""The same provider on kopf, in the style of its documentation: `python on_kopf.py KUBECONFIG WORKERS`.

It does less than a managed resource requires: no external-create annotations, no creation grace, no second
observation after the creation. It writes the finalizer, kopf's own annotation, and one status patch.
"""

import asyncio
import datetime as dt
import os
import sys
from typing import Any

import kopf

KIND = ("bench.example.org", "v1alpha1", "noops")
OUTSIDE: set[str] = set()


@kopf.on.login()
def login(**given: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**given)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.posting.enabled = False
    settings.execution.max_workers = int(sys.argv[2])
    settings.persistence.finalizer = "bench.example.org/noop"


@kopf.on.create(*KIND)
def made(uid: str, patch: kopf.Patch, **_: object) -> None:
    OUTSIDE.add(uid)
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"status": "True", "lastTransitionTime": now}
    patch.status["conditions"] = [
        {"type": "Ready", "reason": "Available", **said},
        {"type": "Synced", "reason": "ReconcileSuccess", **said},
    ]


@kopf.on.delete(*KIND)
def gone(uid: str, **_: object) -> None:
    OUTSIDE.discard(uid)


if __name__ == "__main__":
    os.environ["KUBECONFIG"] = sys.argv[1]
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))
