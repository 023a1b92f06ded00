"""What the API server accepts and refuses, and in which words: every rule of the API with a good and a bad
object."""

import copy
import json
import subprocess
from typing import Annotated

import pytest

from apis.crds import crd
from apis.kinds import Kind
from edgetenants_runtime.api.model import ApiModel, Kube, Scope
from sandbox.world import World, WorldError
from tests.integration.watching import Object
from tests.unit.apis.cel_cases import manifests


def served(world: World) -> list[tuple[str, str, Object, Object]]:
    """(name, refusal, good, bad) of each case whose kind this world serves, under a name of its own."""
    kinds = world.kubectl("api-resources", "--no-headers", "-o", "wide", "--cached=false")
    found = []
    for number, (case, good, bad) in enumerate(manifests()):
        group_version, kind = good["apiVersion"], good["kind"]
        if not any(group_version in line.split() and kind in line.split() for line in kinds.splitlines()):
            continue
        name = f"case-{number:03d}"
        pair = [copy.deepcopy(good), copy.deepcopy(bad)]
        for obj in pair:
            obj["metadata"]["name"] = name
        found.append((name, case.refusal, *pair))
    return found


def dry_run(world: World, objects: list[Object]) -> str:
    """What kubectl says about all of them; nothing is stored."""
    documents = "\n---\n".join(json.dumps(o) for o in objects)
    command = world.kubectl_command("create", "--dry-run=server", "--validate=strict", "-f", "-")
    done = subprocess.run(command, input=documents, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def test_every_good_object_is_accepted_and_every_bad_one_refused_in_the_rules_words(world: World) -> None:
    cases = served(world)
    assert len(cases) > 60, "too few kinds are served for this to say much"

    accepted = dry_run(world, [good for _, _, good, _ in cases])
    not_accepted = [name for name, _, _, _ in cases if f"{name} created" not in accepted]
    assert not_accepted == [], accepted

    refused = dry_run(world, [bad for _, _, _, bad in cases])
    wrongly_accepted = [name for name, _, _, _ in cases if f"{name} created" in refused]
    assert wrongly_accepted == []
    unsaid = sorted({refusal for _, refusal, _, _ in cases if refusal not in refused})
    assert unsaid == [], refused


class Asked(ApiModel):
    """What is asked."""

    size: Annotated[int | None, Kube(immutable=True)] = None
    """Its size."""
    colour: str | None = None
    """Its colour."""


def test_an_immutable_field_is_set_once_and_an_edit_is_refused(world: World) -> None:
    kind = Kind("immutable.example.org", "Toy", "toys", scope=Scope.CLUSTER, description="A toy.", spec=Asked)
    world.kubectl("apply", "-f", "-", input=json.dumps(crd(kind)))
    try:
        world.wait_for_condition("crd", kind.crd_name, "Established")
        toy = {"apiVersion": kind.api_version, "kind": "Toy", "metadata": {"name": "a"}}
        world.kubectl("apply", "-f", "-", input=json.dumps({**toy, "spec": {"colour": "red"}}))
        for spec in ({"size": 3}, {"size": 3, "colour": "blue"}):
            world.kubectl("patch", kind.crd_name, "a", "--type=merge", "-p", json.dumps({"spec": spec}))
        with pytest.raises(WorldError, match=r"spec\.size.*field is immutable; to change it, delete"):
            world.kubectl("patch", kind.crd_name, "a", "--type=merge", "-p", '{"spec": {"size": 4}}')
    finally:
        world.kubectl("delete", "crd", kind.crd_name)
