"""`edgetenants dns`: the records of a claim, what DNS answers, and what to paste."""

from __future__ import annotations

import json
import re
from typing import Any

import dns.zone
import pytest
import yaml
from click.testing import CliRunner, Result

import cli.dns as command
from apis import kinds
from cli.cluster import NoCluster
from cli.dns_records import NotPlain, redirects
from cli.main import cli
from edgetenants_runtime.kube.errors import KubeError, Operation
from provider.cloudfront.domain import text_lookup
from provider.dns.public import Answer, Outcome, Server
from provider.main import resource_kind

END = "d111111abcdef8.cloudfront.net"
ROUTING, ALIAS, PROOF, OURS = (
    {"type": "CNAME", "name": "shop.acme.com", "value": END, "purpose": "Routing", "state": "Missing"},
    {"type": "ALIAS", "name": "acme.com", "value": END, "purpose": "Routing", "state": "Unknown"},
    {
        "type": "TXT", "name": "_cf-challenge.acme.com", "value": END, "purpose": "Ownership",
        "state": "Present",
    },
    {
        "type": "CNAME", "name": "acme.example.com", "value": END, "purpose": "Routing", "state": "Present",
        "managedBy": "Provider",
    },
)  # fmt: skip
PATH = "/.well-known/pki-validation/abc123.txt"
TOKEN = {
    "domain": "shop.acme.com",
    "redirectFrom": f"shop.acme.com{PATH}",
    "redirectTo": f"validation.us-east-1.acm-validations.aws/123456789012{PATH}",
}


class Cluster:
    def __init__(self, *records: Any, host: str = "self-hosted") -> None:
        self.claim = {"status": {"dnsInstructions": list(records)}}
        certificate = {"validationTokenHost": host, "validation": [TOKEN]}
        self.tenant = {"status": {"atProvider": {"certificate": certificate}}}
        self.asked: list[tuple[str, str]] = []

    def get(self, kind: Any, key: Any) -> Any:
        self.asked.append((kind.kind, str(key)))
        return self.claim

    def select(self, kind: Any, namespace: str, labels: Any) -> Any:
        return [self.tenant] if kind.namespaced else []


class Dns:
    """Public DNS without an answer for what is not listed."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = {(each.name, each.type): each for each in answers}

    def ask(self, name: str, kind: str) -> Answer:
        return self.answers.get((name, kind)) or Answer(Outcome.NO_NAME, name, kind)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def ran(cluster: Any, *arguments: str, lookup: Dns | None = None) -> Result:
        monkeypatch.setattr(command, "connect", lambda *_: cluster)
        monkeypatch.setattr(command, "_lookup", lambda _: lookup or Dns())
        return CliRunner().invoke(cli, ["dns", "acme", "-n", "shop", *arguments])

    return ran


def test_the_table_says_who_makes_what_and_what_dns_answers(run: Any) -> None:
    lookup = Dns(
        Answer(Outcome.FOUND, "shop.acme.com", "A", values=("192.0.2.9",), servers=("ns1.acme.com",)),
        Answer(Outcome.FOUND, END, "A", values=("203.0.113.1",)),
        Answer(Outcome.FOUND, "acme.com", "CAA", values=('0 issue "letsencrypt.org"',)),
        Answer(Outcome.FOUND, "acme.example.com", "A", chain=(END,)),
        Answer(Outcome.BOGUS, "acme.com", "A", why="192.0.2.53 rejects the DNSSEC signatures of the zone"),
    )
    done = run(Cluster(ROUTING, ALIAS, PROOF, OURS), lookup=lookup)
    assert done.exit_code == 1
    assert done.output == EXPECTED


EXPECTED = f"""\
NAME                    TYPE   MADE BY   STATE    VALUE
shop.acme.com           CNAME  you       Wrong    {END}
  found instead: A 192.0.2.9
  CAA: the CAA records of acme.com (0 issue "letsencrypt.org") forbid Amazon's certificate authority; add \
0 issue "amazon.com"
  answered by: ns1.acme.com
acme.com                ALIAS  you       Unknown  {END}
  DNSSEC: resolvers reject the signatures, so many visitors cannot resolve the name
  not known: 192.0.2.53 rejects the DNSSEC signatures of the zone
  CAA: the CAA records of acme.com (0 issue "letsencrypt.org") forbid Amazon's certificate authority; add \
0 issue "amazon.com"
_cf-challenge.acme.com  TXT    you       Missing  {END}
acme.example.com        CNAME  provider  Present  {END}

To make, as lines of a zone file (-o route53 and -o terraform print other forms):
  shop.acme.com. 300 IN CNAME {END}.
  ; acme.com. is an apex: make the ALIAS or ANAME of your DNS service, to {END}.
  _cf-challenge.acme.com. 300 IN TXT "{END}"

The certificate waits for this redirect of the web server: shop.acme.com{PATH}
  nginx:
    # in the server block of shop.acme.com, port 80
    location = {PATH} {{
        return 301 https://validation.us-east-1.acm-validations.aws/123456789012{PATH};
    }}
  Caddy:
    http://shop.acme.com {{
        redir {PATH} https://validation.us-east-1.acm-validations.aws/123456789012{PATH} permanent
    }}
  Apache:
    # in the virtual host of shop.acme.com, port 80
    RedirectMatch 301 "^/\\.well\\-known/pki\\-validation/abc123\\.txt$" \
"https://validation.us-east-1.acm-validations.aws/123456789012{PATH}"
"""


def test_the_exit_code_is_0_only_if_all_are_present(run: Any) -> None:
    here = Dns(Answer(Outcome.FOUND, "shop.acme.com", "A", chain=(END,)))
    assert run(Cluster(ROUTING), lookup=here).exit_code == 0
    assert run(Cluster(ROUTING), lookup=Dns()).exit_code == 1
    assert run(Cluster(ROUTING), lookup=Dns(Answer(Outcome.FAILED, "shop.acme.com", "A"))).exit_code == 1


def test_without_lookups_the_states_are_those_of_the_status(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(Cluster(PROOF), "--no-lookup").exit_code == 0
    done = run(Cluster(ROUTING, PROOF), "--no-lookup", "-o", "json")
    assert [each["state"] for each in json.loads(done.output)] == ["Missing", "Present"]


@pytest.mark.parametrize("form", ["zone", "route53", "terraform"])
def test_what_the_provider_makes_is_not_to_paste(run: Any, form: str) -> None:
    assert "acme.example.com" not in run(Cluster(ROUTING, OURS), "-o", form).output


def test_the_zone_lines_are_read_as_a_zone(run: Any) -> None:
    text = run(Cluster(ROUTING, ALIAS, PROOF), "-o", "zone").output
    zone = dns.zone.from_text("@ 300 SOA ns. a. 1 1 1 1 1\n@ 300 NS ns.\n" + text, origin="acme.com.")
    assert str(zone.find_rdataset("shop", "CNAME")[0].target) == f"{END}."
    assert zone.find_rdataset("_cf-challenge", "TXT")[0].strings == (END.encode(),)


def test_the_change_batch_creates_and_replaces_nothing(run: Any) -> None:
    batch = json.loads(run(Cluster(ROUTING, ALIAS, PROOF), "-o", "route53").output)
    assert {each["Action"] for each in batch["Changes"]} == {"CREATE"}
    sets = [each["ResourceRecordSet"] for each in batch["Changes"]]
    assert [each["Type"] for each in sets] == ["CNAME", "A", "AAAA", "TXT"]
    assert sets[1]["AliasTarget"]["HostedZoneId"] == "Z2FDTNDATAQYW2"
    assert sets[3]["ResourceRecords"] == [{"Value": f'"{END}"'}]


def test_terraform_has_one_block_a_record_set_with_its_own_name(run: Any) -> None:
    wildcard = {**ROUTING, "name": "*.acme.com"}
    text = run(Cluster(ROUTING, wildcard, ALIAS, PROOF), "-o", "terraform").output
    labels = re.findall(r'^resource "aws_route53_record" "([a-z_][a-z0-9_]*)" {$', text, re.MULTILINE)
    assert len(set(labels)) == 5
    assert text.count("{") == text.count("}")
    assert f'records = ["{END}"]' in text


def test_yaml_names_the_maker(run: Any) -> None:
    rows = yaml.safe_load(run(Cluster(ROUTING, OURS), "-o", "yaml").output)
    assert [each["madeBy"] for each in rows] == ["you", "provider"]


def test_a_redirect_is_shown_for_self_hosted_validation_only(run: Any) -> None:
    assert "nginx" not in run(Cluster(ROUTING, host="cloudfront")).output


@pytest.mark.parametrize("name", ["a.com\n* CNAME evil.test.", "${file(1)}.com", 'a" b', "a b.com", "A.com"])
@pytest.mark.parametrize("field", ["name", "value"])
def test_a_status_that_is_no_name_is_not_printed_to_paste(run: Any, name: str, field: str) -> None:
    done = run(Cluster({**ROUTING, field: name}), "-o", "zone")
    assert done.exit_code == 2
    assert "expected a DNS name" in done.output


@pytest.mark.parametrize("target", ["a.test/x;\n}", "a.test/$host", 'a.test/"', "a.test", "https://a.test/x"])
def test_a_redirect_that_is_no_plain_url_is_refused(target: str) -> None:
    with pytest.raises(NotPlain):
        redirects(TOKEN["redirectFrom"], target)
    with pytest.raises(NotPlain):
        redirects(target, TOKEN["redirectTo"])


def test_errors_end_with_2(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(Cluster()).exit_code == 2
    assert run(Cluster({"type": "MX"})).exit_code == 2

    def refused(*_: Any) -> Any:
        raise NoCluster("no kubeconfig")

    monkeypatch.setattr(command, "connect", refused)
    assert CliRunner().invoke(cli, ["dns", "acme", "--no-lookup"]).exit_code == 2


def test_a_claim_that_cannot_be_read_is_an_error(run: Any) -> None:
    class Broken(Cluster):
        def get(self, kind: Any, key: Any) -> Any:
            raise KubeError(Operation("get", resource_kind(kinds.TENANT_CLAIM), key), 403, "forbidden")

    done = run(Broken())
    assert (done.exit_code, "forbidden" in done.output) == (2, True)


@pytest.mark.parametrize("resolver", ["192.0.2.1#x", "192.0.2.1:99999", "a host", ""])
def test_a_resolver_is_an_address(resolver: str) -> None:
    done = CliRunner().invoke(cli, ["dns", "acme", "--resolver", resolver])
    assert (done.exit_code, "--resolver" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("192.0.2.1", Server("192.0.2.1")),
        ("192.0.2.1:5353", Server("192.0.2.1", 5353)),
        ("192.0.2.1#5353", Server("192.0.2.1", 5353)),
        ("[2001:db8::1]:5353", Server("2001:db8::1", 5353)),
        ("2001:db8::1#5353", Server("2001:db8::1", 5353)),
    ],
)
def test_a_resolver_is_written_as_for_the_provider(written: str, server: Server) -> None:
    assert command._server(written) == server
    assert text_lookup.server(written) == (server.address, server.port)
