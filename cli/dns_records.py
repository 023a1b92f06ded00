"""DNS records as text to paste: lines of a zone file, a change batch of Route 53, Terraform blocks; and the
redirects of web servers that validate a certificate (pure).

Names and values come from the status of a claim, and users paste the text elsewhere. So only names of DNS and
plain URLs pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from apis.dns import DnsInstruction, RecordType

__all__ = ["NotPlain", "checked", "redirects", "route53", "terraform", "zone_file"]

_TTL: Final = 300
_CLOUDFRONT_ZONE: Final = "Z2FDTNDATAQYW2"
"""The hosted zone of all alias targets in CloudFront (Route 53 API Reference, AliasTarget)."""
_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_URL: Final = re.compile(r"(?P<host>[a-z0-9.-]+)(?P<path>/[A-Za-z0-9._/-]+)")


class NotPlain(Exception):  # noqa: N818 - names the thing found
    """A name or value of the status is no name of DNS; the message has it."""


def checked(instruction: DnsInstruction) -> DnsInstruction:
    """Return a record whose name and value are names of DNS.

    Raises:
        NotPlain: they are not.
    """
    for text in (instruction.name, instruction.value):
        if not _NAME.fullmatch(text):
            raise NotPlain(f"expected a DNS name in status.dnsInstructions, got {text!r}")
    return instruction


def zone_file(records: Iterable[DnsInstruction]) -> str:
    """Return the records as lines of a zone file. An alias has no form there: its line is a comment."""
    return "".join(f"{_zone_line(record)}\n" for record in records)


def _zone_line(record: DnsInstruction) -> str:
    if record.type is RecordType.ALIAS:
        return f"; {record.name}. is an apex: make the ALIAS or ANAME of your DNS service, to {record.value}."
    value = f'"{record.value}"' if record.type is RecordType.TXT else f"{record.value}."
    return f"{record.name}. {_TTL} IN {record.type} {value}"


def route53(records: Iterable[DnsInstruction]) -> str:
    """Return the change batch for `aws route53 change-resource-record-sets`. CREATE replaces nothing."""
    sets = [each for record in records for each in _record_sets(record)]
    changes = [{"Action": "CREATE", "ResourceRecordSet": each} for each in sets]
    return json.dumps({"Changes": changes}, indent=2) + "\n"


def _record_sets(record: DnsInstruction) -> Sequence[dict[str, Any]]:
    name = f"{record.name}."
    if record.type is RecordType.ALIAS:
        target = {
            "HostedZoneId": _CLOUDFRONT_ZONE,
            "DNSName": f"{record.value}.",
            "EvaluateTargetHealth": False,
        }
        return [{"Name": name, "Type": kind, "AliasTarget": target} for kind in ("A", "AAAA")]
    value = f'"{record.value}"' if record.type is RecordType.TXT else f"{record.value}."
    return [{"Name": name, "Type": str(record.type), "TTL": _TTL, "ResourceRecords": [{"Value": value}]}]


def terraform(records: Iterable[DnsInstruction]) -> str:
    """Return one block aws_route53_record a record set. The user sets the zone's id."""
    blocks = [_block(each) for record in records for each in _record_sets(record)]
    return "\n".join(['variable "zone_id" {\n  type = string\n}\n', *blocks])


def _block(record: dict[str, Any]) -> str:
    name, kind = record["Name"].rstrip("."), record["Type"]
    label = re.sub(r"[^a-z0-9]", lambda found: f"_{ord(found[0]):x}_", name)
    lines = [
        f'resource "aws_route53_record" "r_{label}_{kind.lower()}" {{',
        "  zone_id = var.zone_id",
        f'  name    = "{name}"',
        f'  type    = "{kind}"',
    ]
    if "AliasTarget" in record:
        target = record["AliasTarget"]
        lines += [
            "  alias {",
            f'    name                   = "{target["DNSName"].rstrip(".")}"',
            f'    zone_id                = "{target["HostedZoneId"]}"',
            "    evaluate_target_health = false",
            "  }",
        ]
    else:
        # The AWS provider of Terraform puts the quotes around a TXT value.
        value = record["ResourceRecords"][0]["Value"].strip('".')
        lines += [f"  ttl     = {record['TTL']}", f'  records = ["{value}"]']
    return "\n".join([*lines, "}"]) + "\n"


def redirects(origin: str, target: str) -> dict[str, str]:
    """Return the redirect that validates a certificate, by web server: nginx, Caddy, Apache.

    Args:
        origin: the URL, without scheme, that the certificate authority asks for over HTTP.
        target: where the web server redirects it, without scheme.

    Raises:
        NotPlain: one is no plain URL.
    """
    asked = _URL.fullmatch(origin)
    if not asked or not _URL.fullmatch(target):
        raise NotPlain(f"expected the validation's URLs without scheme, got {origin!r} and {target!r}")
    path, to = asked["path"], f"https://{target}"
    return {
        "nginx": f"# in the server block of {asked['host']}, port 80\n"
        f"location = {path} {{\n    return 301 {to};\n}}\n",
        "Caddy": f"http://{asked['host']} {{\n    redir {path} {to} permanent\n}}\n",
        "Apache": f"# in the virtual host of {asked['host']}, port 80\n"
        f'RedirectMatch 301 "^{re.escape(path)}$" "{to}"\n',
    }
