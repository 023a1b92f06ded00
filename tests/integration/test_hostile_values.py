"""Values that would stop a worker, fill the API server or wait for ever: the team that writes them delays no
other."""

from __future__ import annotations

import json

import pytest

from tests.integration.hostile import Teams, unharmed

WORKERS = 8
"""Of the provider, unless a flag says otherwise."""
LEVELS = 3_000
PAUSES = ["2562048h", "99999999999999999999h", "-1h", "0s", "1e9h", "NaN", "inf", "1h" * 1000]


def test_no_poll_interval_stops_a_worker(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.served("polled")
    names = [f"pause{number}" for number in range(2 * WORKERS)]
    with unharmed(blue, "polled"):
        red.apply(
            *(
                red.tenant(name, annotations={"crossplane.io/poll-interval": PAUSES[number % len(PAUSES)]})
                for number, name in enumerate(names)
            )
        )
        for name in names:
            red.wait(f"{name} to be seen to", lambda name=name: red.get(name, "edt").get("status"), 30)
        red.told(names[PAUSES.index("NaN")], "crossplane.io/poll-interval", "not a duration")
    red.served("after")
    assert red.admin.processes.died() == ()


@pytest.mark.parametrize(
    "annotation", ["crossplane.io/external-name", "edgetenants.io/take-domains-from", "example.com/big"]
)
def test_an_annotation_of_a_quarter_megabyte_is_told_briefly(teams: Teams, annotation: str) -> None:
    blue, red = teams.blue, teams.red
    short = annotation.rpartition("/")[2]
    blue.served(short)
    with unharmed(blue, short):
        big = red.tenant(f"big-{short}", annotations={annotation: "dt_x," * 50_000})
        red.world.kubectl("create", "-f", "-", input=json.dumps(big))
        red.looked_at(f"big-{short}", seconds=30)
        conditions = red.get(f"big-{short}", "edt")["status"]["conditions"]
        assert max(len(c.get("message", "")) for c in conditions) <= 8_192
        if short == "external-name":
            red.told(f"big-{short}", "crossplane.io/external-name")


def test_a_finalizer_that_never_goes_holds_up_its_own_resource_alone(teams: Teams) -> None:
    blue, red = teams.blue, teams.red
    blue.served("beside")
    with unharmed(blue, "beside"):
        held = red.tenant("held")
        held["metadata"]["finalizers"] = ["example.com/never"]
        red.apply(held)
        red.serve("held")
        red.remove("held")
        red.served("goes-on")
        assert red.tenants("held"), "other finalizers come first"
    red.change("held", {"metadata": {"finalizers": None}})
    red.wait("it to go", lambda: not red.get("held", "edt"), 30)


def test_words_of_the_user_are_no_more_than_words(teams: Teams) -> None:
    """Control characters, terminal sequences and markup in what messages quote."""
    red = teams.red
    # CloudFront takes no escape characters, and so neither does the API server; it takes the control sequence
    # of one character that stands for the same.
    odd = "\u009b2J\u202e<script>{{namespace}}%s"
    red.apply(red.tenant("odd", forProvider={"parameters": {"tenantName": odd}}))
    red.looked_at("odd")
    assert "\u009b" not in red.admin.log("provider")


def test_a_secret_full_of_blanks_stops_no_worker(teams: Teams) -> None:
    """The parser of a credentials file takes quadratic time for a run of blanks, and stops all threads."""
    blue, red = teams.blue, teams.red
    blue.served("beside-blanks")
    data = {"credentials": "[default]\na" + " " * 900_000 + "b\n"}
    metadata = {"name": "blanks", "namespace": red.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    red.world.kubectl("create", "-f", "-", input=json.dumps(secret))
    source = {"source": "Secret", "secretRef": {"name": "blanks", "key": "credentials"}}
    red.apply(red.config("blanks", {"credentials": source}))
    with unharmed(blue, "beside-blanks"):
        red.apply(red.tenant("blanks", providerConfigRef={"kind": "ProviderConfig", "name": "blanks"}))
        red.told("blanks", "expected an AWS credentials file of at most 64 KiB")
        blue.looked_at("beside-blanks", seconds=30)


def test_deep_managed_fields_stop_neither_informers_nor_their_start(teams: Teams) -> None:
    """The API server stores almost 10,000 levels; Python's parser of JSON reads less than 1,000."""
    blue, red = teams.blue, teams.red
    blue.served("shallow")
    red.apply(red.tenant("deep"))
    red.serve("deep")
    stored = red.get("deep", "edt")
    entry = {"manager": "m", "operation": "Update", "apiVersion": stored["apiVersion"]}
    stored["metadata"]["managedFields"] = [{**entry, "fieldsType": "FieldsV1", "fieldsV1": "@"}]
    fields = '{"f:a":' * LEVELS + "{}" + "}" * LEVELS
    with unharmed(blue, "shallow"):
        red.world.kubectl("replace", "-f", "-", input=json.dumps(stored).replace('"@"', fields))
        red.remove("deep")
    blue.admin.processes.kill("provider")
    blue.admin.processes.start("provider")
    blue.served("later")
