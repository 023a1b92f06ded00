"""The same composition as ours, in the style of the SDK's documentation: objects as dicts.

`python dict_style.py CERTIFICATES ADDRESS`. For the claims of the benchmarks, its responses equal ours. It
trusts its input: it does not validate claims or plans, and supports only one kind of composite.
"""

import hashlib
import sys

import click
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

PHASES = {"Live": "Live", "Deploying": "Deploying", "Creating": "Pending", "IssuingCertificate": "Issuing"}
"""By reasons of Live, the most urgent last; any other is a failure."""
RECORDS = "Create the records of status.dnsInstructions, if there are any."


class Composer(grpcv1.FunctionRunnerService):
    """Composes one DistributionTenant per domain."""

    async def RunFunction(self, req: fnv1.RunFunctionRequest, _: object) -> fnv1.RunFunctionResponse:  # noqa: N802
        rsp = response.to(req)
        claim = resource.struct_to_dict(req.observed.composite.resource)
        plans = resource.struct_to_dict(req.input)
        plan = plans["plans"][claim["spec"]["plan"]]
        looked = []
        for domain in claim["spec"]["domains"]:
            name = "tenant-" + digest(domain)
            seen = {}
            if name in req.observed.resources:
                seen = resource.struct_to_dict(req.observed.resources[name].resource)
            resource.update(rsp.desired.resources[name], tenant(claim, plan, domain, seen))
            looked.append(look(domain, seen))
            ready = looked[-1]["found"][0] == "Live"
            rsp.desired.resources[name].ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE
        live = summary(looked)
        resource.update_status(rsp.desired.composite, status_of(claim, looked, live))
        tell(rsp, claim, looked, live)
        return rsp


def tenant(claim: dict, plan: dict, domain: str, seen: dict) -> dict:
    """The DistributionTenant of one domain."""
    spec, metadata = claim["spec"], claim["metadata"]
    composition = spec["crossplane"]["compositionRef"]["name"]
    carried = seen.get("metadata", {}).get("annotations", {}).get("crossplane.io/external-name")
    name = carried or f"{metadata['namespace']}.{metadata['name']}-{digest(domain)}"
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {
            "labels": {"edgetenants.io/claim": digest(f"{metadata['namespace']}/{metadata['name']}")},
            "annotations": {
                "crossplane.io/external-name": name,
                "edgetenants.io/plan": f"{spec['plan']}, Composition {composition}",
            },
        },
        "spec": {
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
            "forProvider": {
                "distributionId": plan["distributionId"],
                "domains": [domain],
                "enabled": not spec.get("suspended", False),
                "parameters": {**plan.get("parameters", {}), **spec.get("parameters", {})},
                "tags": {**plan.get("tags", {}), **spec.get("tags", {})},
            },
        },
    }


def look(domain: str, seen: dict) -> dict:
    """The observed state of a domain's tenant."""
    status = seen.get("status", {})
    conditions = {c["type"]: c for c in status.get("conditions", [])}
    provider = status.get("atProvider", {})
    records = status.get("dnsInstructions", [])
    asked = seen.get("spec", {}).get("forProvider", {}).get("domains")
    told = conditions.get("Synced", {}).get("observedGeneration", 0)
    looked = {
        "domain": domain,
        "new": not seen,
        "endpoint": provider.get("routingEndpoint"),
        "state": {each["domain"]: each["status"] for each in provider.get("domains", [])}.get(domain),
        "records": records,
        "record": next(
            (r.get("state") for r in records if r.get("purpose") == "Routing" and r["name"] == domain), None
        ),
        "certificate": conditions.get("CertificateReady", {}).get("reason"),
        "current": asked == [domain] and told >= seen["metadata"].get("generation", 0) if seen else False,
        "deployed": conditions.get("Deployed", {}).get("reason"),
        "in_sync": conditions.get("InSync", {}).get("reason"),
    }
    looked["found"] = judge(looked, conditions.get("Ready", {}), conditions.get("Synced", {}))
    return looked


def judge(looked: dict, ready: dict, synced: dict) -> tuple[str, str]:
    """The reason and message of Live for one tenant."""
    if ready.get("status") == "True" and (looked["current"] or looked["state"] == "active"):
        return "Live", "Every domain is served."
    if synced.get("status") == "False" and looked["current"] and ready.get("status") != "False":
        return "Failed", synced["message"]
    if ready.get("status") == "True":
        return "Deploying", "The change is being applied in CloudFront. No action is needed."
    if ready.get("status") != "False":
        return "Creating", "The tenant is being created. No action is needed."
    if ready["reason"] == "CertificatePending":
        return "IssuingCertificate", f"{ready['message']} {RECORDS}"
    return ready["reason"], ready["message"]


def summary(looked: list[dict]) -> tuple[str, str]:
    """The reason and message for the claim: those of its most urgent tenant."""
    urgencies = list(PHASES)
    worst = max(looked, key=lambda t: urgencies.index(t["found"][0]) if t["found"][0] in PHASES else 99)
    reason, message = worst["found"]
    return (
        (reason, message)
        if len(looked) == 1 or reason == "Live"
        else (reason, f"{worst['domain']}: {message}")
    )


def status_of(claim: dict, looked: list[dict], live: tuple[str, str]) -> dict:
    """The composite's status."""
    rows = [
        {"domain": t["domain"], "state": t["state"], "certificate": t["certificate"], "dns": t["record"]}
        for t in sorted(looked, key=lambda t: t["domain"])
    ]
    first = looked[0]
    served = first["state"] == "active" and first["record"] not in ("Missing", "Wrong")
    active = sum(t["state"] == "active" for t in looked)
    fields = {
        "domainsReady": f"{active}/{len(looked)}",
        "phase": PHASES.get(live[0], "Failed"),
        "url": f"https://{claim['spec']['domains'][0]}" if served else None,
        "routingEndpoint": next((t["endpoint"] for t in looked if t["endpoint"]), None),
        "domains": [{key: value for key, value in row.items() if value} for row in rows],
        "dnsInstructions": [record for t in looked for record in t["records"]],
    }
    return {key: value for key, value in fields.items() if value}


def tell(rsp: fnv1.RunFunctionResponse, claim: dict, looked: list[dict], live: tuple[str, str]) -> None:
    """Set the conditions, and emit an event if Live has changed."""
    failed = [t for t in looked if t["found"][0] not in PHASES]
    condition(rsp, "Live", live[0] == "Live", *live)
    if any(t["new"] for t in looked):
        condition(
            rsp,
            "Reconciling",
            True,
            "Creating",
            "Tenants are being created. No action is needed unless another condition says so.",
        )
    elif any(t not in failed and rolls_out(t) for t in looked):
        condition(
            rsp,
            "Reconciling",
            True,
            "Updating",
            "A change is being rolled out. No action is needed unless another condition says so.",
        )
    else:
        condition(rsp, "Reconciling", False, "Stable", "No change is in progress.")
    if failed:
        message = f"{failed[0]['domain']}: {failed[0]['found'][1]}"
        condition(rsp, "Degraded", True, "TenantFailed", message)
    else:
        condition(rsp, "Degraded", False, "Recovered", "Nothing needs attention.")
    condition(rsp, "Suspended", False, "Active", "The claim is not suspended.")
    condition(rsp, "Blocked", False, "Unblocked", "Nothing is blocked.")
    before = {c["type"]: c["reason"] for c in claim.get("status", {}).get("conditions", [])}
    if before.get("Live") != live[0]:
        response.normal(rsp, live[1])
        rsp.results[-1].reason, rsp.results[-1].target = live[0], fnv1.TARGET_COMPOSITE


def rolls_out(looked: dict) -> bool:
    """Whether a change of the tenant is being rolled out."""
    return not looked["current"] or looked["deployed"] == "Deploying" or looked["in_sync"] == "UpdatePending"


def condition(rsp: fnv1.RunFunctionResponse, type_: str, holds: bool, reason: str, message: str) -> None:
    """Add a condition. The SDK's helper does not set its target."""
    status = str(holds)
    response.set_conditions(rsp, resource.Condition(typ=type_, status=status, reason=reason, message=message))
    rsp.conditions[-1].target = fnv1.TARGET_COMPOSITE


def digest(text: str) -> str:
    """A digest of a domain with ten characters."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@click.command()
@click.argument("certificates")
@click.argument("address")
def main(certificates: str, address: str) -> None:
    """Serve until SIGTERM arrives."""
    runtime.serve(Composer(), address, creds=runtime.load_credentials(certificates), insecure=False)


if __name__ == "__main__":
    sys.exit(main())
