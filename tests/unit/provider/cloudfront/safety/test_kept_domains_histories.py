"""Whatever happens to the holder of a domain, no one else gets it while it is kept."""

from __future__ import annotations

import contextlib
import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.testing import FakeObjects, Journal
from tests.unit.provider.cloudfront.safety.test_kept_domains import DOMAINS, records, squatter, stage
from tests.unit.provider.fake_cloudfront import Killed
from tests.unit.provider.world import World, managed

EXAMPLES = int(os.environ.get("EDGETENANTS_HISTORIES", "60"))


class History:
    """One holder, one that waits, and what happens to both."""

    def __init__(self) -> None:
        self.api = FakeObjects(Journal())
        self.number = 0
        self.owner = stage(self.api)
        self.owner.settle()
        self.wants = squatter(self.api, self.owner.cloudfront)

    def owner_looks(self) -> None:
        self._look(self.owner)

    def squatter_looks(self) -> None:
        self.wants.memory = type(self.wants.memory)(self.wants.clock)
        self._look(self.wants)

    def console_deletes(self) -> None:
        self.owner.cloudfront.tenants.clear()

    def console_takes_a_domain_away(self) -> None:
        for id_, tenant in list(self.owner.cloudfront.tenants.items()):
            left = {d: s for d, s in tenant.domains.items() if d != DOMAINS[0]}
            self.owner.cloudfront.edit(id_, domains=left)

    def owner_edits(self) -> None:
        both = len(self.owner.mr.for_provider["domains"]) == 2
        self.owner.edit(domains=[DOMAINS[1]] if both else list(DOMAINS))

    def owner_deletes(self) -> None:
        self.owner.delete()

    def owner_is_applied_again(self) -> None:
        if self.owner.gone:
            self.number += 1
            name = {"crossplane.io/external-name": f"shop.acme-{self.number}"}
            again = managed(uid=f"again-{self.number}", annotations=name)
            self.owner = World(again, self.owner.cloudfront, kept=self.owner.context["kept"])

    def provider_restarts(self) -> None:
        for world in (self.owner, self.wants):
            world.restart()
            world.context["kept"] = records(self.api)

    def provider_dies_soon(self) -> None:
        self.owner.cloudfront.die = (len(self.owner.cloudfront.journal) + 2, "after")

    def store_fails(self) -> None:
        down = KubeError(Operation("patch", CONFIG_MAPS), 500, "down")
        self.api.failing = {verb: [down] for verb in ("create ConfigMap", "patch ConfigMap")}

    def rolls_out(self) -> None:
        self.owner.cloudfront.deploy()

    def _look(self, world: World) -> None:
        if world.gone:
            return
        with contextlib.suppress(Killed):
            world.reconcile()
            return
        self.provider_restarts()

    @property
    def squatted(self) -> bool:
        tenants = self.owner.cloudfront.tenants.values()
        return any(t.name == "rogue.wants" and DOMAINS[0] in t.domains for t in tenants)


STEPS = sorted(name for name, step in vars(History).items() if callable(step) and name[0] != "_")


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.lists(st.sampled_from(STEPS), min_size=4, max_size=30))
def test_nobody_else_gets_it(steps):
    history = History()
    for step in steps:
        getattr(history, step)()
        history.squatter_looks()
        assert not history.squatted, steps
