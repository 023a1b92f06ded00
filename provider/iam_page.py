"""Generate docs/iam.md and an example policy from the calls that the code makes:
`python -m provider.iam_page [--check]`.

The operations are read from the code itself: each call is in an `as_aws_errors("Operation")` block. With
--check it writes nothing and exits with 1 if one of the two files is stale.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from provider.cloudfront.aws.operations import OPERATIONS, Feature, Grant, Operation, Resource

__all__ = ["called", "example", "main", "page", "policy"]

PAGE: Final = Path(__file__).parent.parent / "docs/iam.md"
EXAMPLE: Final = Path(__file__).parent.parent / "examples/provider/iam-policy.json"
"""One policy for all features except the command line's and roles, for a first try."""
_CODE: Final = Path(__file__).parent
_BY_BOTOCORE: Final = ("AssumeRole", "AssumeRoleWithWebIdentity")
"""Calls that botocore makes for provider configs with roles."""
_NEEDED: Final = (Feature.TENANTS, Feature.ENDPOINTS)
_FREE: Final = "sts:GetCallerIdentity"
"""AWS permits it to every identity, whatever the policies say."""

_HEADER: Final = (
    "<!-- Generated from provider/cloudfront/aws/operations.py by `make generate`; do not edit. -->\n\n"
)
_INTRODUCTION: Final = """\
# AWS permissions of the provider

The policies below are generated from the calls that the code makes, and permit nothing else. Replace
`ACCOUNT` with the id of your account. Use the first policy, and the policies of the features that you need;
each section says what does not work without it. If a permission is missing, the message of `Synced` contains
`AccessDenied` and the name of the call, and the provider retries.

To let the provider observe AWS without writing to it, use the policy [Read only](#read-only) alone, with
`--read-only` or `writes: Frozen`.
"""


@cache
def called() -> frozenset[str]:
    """Return the operations that the code calls. The code is read once."""
    found = set(_BY_BOTOCORE)
    for file in sorted(_CODE.rglob("*.py")):
        found.update(_named(ast.parse(file.read_text(encoding="utf-8"))))
    return frozenset(found)


def _named(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "as_aws_errors":
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def grants(feature: Feature) -> tuple[Grant, ...]:
    """Return the permissions that the code's calls need for a feature; none if no call belongs to it."""
    if feature not in _there():
        return ()
    needed = {
        grant
        for operation in _operations()
        for grant in operation.grants
        if grant.feature is feature and grant.action != _FREE
    }
    return tuple(sorted(needed, key=lambda grant: (grant.resource, grant.action)))


def _there() -> frozenset[Feature]:
    """Return the features that have their own calls, and those that tenants use without one."""
    own = {operation.grants[0].feature for operation in _operations() if operation.grants}
    return frozenset({Feature.WEB_ACLS, Feature.VPC_ORIGINS, *own})


def _operations() -> Iterator[Operation]:
    names = called()
    return (operation for name, operation in OPERATIONS.items() if name in names)


def policy(granted: Iterable[Grant], sid: str) -> dict[str, Any]:
    """Return an IAM policy with a statement for each kind of resource."""
    by_resource: defaultdict[Resource, set[str]] = defaultdict(set)
    for grant in granted:
        by_resource[grant.resource].add(grant.action)
    statements = [
        {
            "Sid": f"{sid}{number}",
            "Effect": "Allow",
            "Action": sorted(actions),
            "Resource": resource.value,
        }
        for number, (resource, actions) in enumerate(sorted(by_resource.items()), 1)
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def page() -> str:
    """Return the whole page."""
    return _HEADER + "\n".join((_INTRODUCTION, *_sections(), _table(), _reading(), _roles()))


def example() -> str:
    """Return one policy with a statement for each feature."""
    statements = [
        {
            "Sid": _sid(feature),
            "Effect": "Allow",
            "Action": sorted({grant.action for grant in grants(feature)}),
            "Resource": "*",
        }
        for feature in Feature
        if feature not in (Feature.IMPORT, Feature.IDENTITY) and grants(feature)
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, indent=2) + "\n"


def _sections() -> Iterator[str]:
    optional = [f for f in Feature if f not in (*_NEEDED, Feature.IDENTITY)]
    needed = [grant for feature in _NEEDED for grant in grants(feature)]
    words = "Manage tenants and their tags, find their DNS targets, and report a missing parent."
    yield _section("Required", words, policy(needed, "Tenants"))
    for feature in optional:
        if granted := grants(feature):
            yield _section(feature.value, _said(feature), policy(granted, _sid(feature)))


def _section(title: str, words: str, json_policy: dict[str, Any]) -> str:
    return f"## {title}\n\n{words}\n\n```json\n{json.dumps(json_policy, indent=2)}\n```\n"


def _reading() -> str:
    reading = {
        grant
        for operation in _operations()
        for grant in operation.grants
        if not operation.writes and grant.feature is not Feature.IDENTITY
    }
    words = "Support observe-only resources, drift detection, `edgetenants plan` and `import`."
    return _section("Read only", words, policy(reading, "Look"))


def _roles() -> str:
    return (
        "## Roles and accounts\n\n"
        f"{_said(Feature.IDENTITY)}\n\n"
        "The role of each hop must trust the identity before it, with the `sts:ExternalId` of the provider "
        "config as a condition, and needs:\n\n"
        f"```json\n{json.dumps(policy(grants(Feature.IDENTITY), 'Role'), indent=2)}\n```\n\n"
        "`sts:TagSession` is needed only if `tags` are set; the trust policy needs it, too. For "
        "`webIdentity`, the role must trust the cluster's OpenID Connect provider with "
        "`sts:AssumeRoleWithWebIdentity`.\n"
    )


def _table() -> str:
    rows = [
        f"| `{operation}` | {'writes' if operation.writes else 'reads'} | "
        f"{(operation.grants[0].feature if operation.grants else Feature.IDENTITY).value} |"
        for operation in _operations()
    ]
    return "\n".join(("## All calls\n", "| call | | feature |", "|---|---|---|", *rows, ""))


def _said(feature: Feature) -> str:
    """Return the docstring below the feature, on one line."""
    source = ast.parse((_CODE / "cloudfront/aws/operations.py").read_text(encoding="utf-8"))
    body = next(n.body for n in ast.walk(source) if isinstance(n, ast.ClassDef) and n.name == "Feature")
    for member, words in pairwise(body):
        named = isinstance(member, ast.Assign) and ast.unparse(member.targets[0]) == feature.name
        if named and isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant):
            return " ".join(str(words.value.value).split())
    raise AssertionError(f"{feature.name} has no docstring")


def _sid(feature: Feature) -> str:
    return "".join(word.capitalize() for word in feature.name.split("_"))


def main(arguments: list[str] | None = None) -> int:
    """Write both files, or with --check print which is stale; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m provider.iam_page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    options = parser.parse_args(arguments)
    files = {PAGE: page(), EXAMPLE: example()}
    if not options.check:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"stale: {path.parent.name}/{path.name} (run `make generate`)", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
