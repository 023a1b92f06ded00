"""The same composition as ours, in the way that the SDK's documentation teaches: objects as dicts.

`python dict_style.py CERTIFICATES ADDRESS`. It trusts its input; it validates no claim and no plan, and knows
one kind of composite.
"""

import hashlib
import sys

import click
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Composer(grpcv1.FunctionRunnerService):
    """One DistributionTenant for each domain."""

    async def RunFunction(self, req: fnv1.RunFunctionRequest, _: object) -> fnv1.RunFunctionResponse:  # noqa: N802
        rsp = response.to(req)
        claim = resource.struct_to_dict(req.observed.composite.resource)
        plans = resource.struct_to_dict(req.input)
        plan = plans["plans"][claim["spec"]["plan"]]
        states, instructions, all_ready, endpoint = {}, [], True, None
        for domain in claim["spec"]["domains"]:
            name = "tenant-" + digest(domain)
            seen = {}
            if name in req.observed.resources:
                seen = resource.struct_to_dict(req.observed.resources[name].resource)
            wanted = tenant(claim, plan, domain, seen)
            resource.update(rsp.desired.resources[name], wanted)
            status = seen.get("status", {})
            conditions = {c["type"]: c for c in status.get("conditions", [])}
            ready = conditions.get("Ready", {}).get("status") == "True"
            rsp.desired.resources[name].ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE
            all_ready = all_ready and ready
            provider = status.get("atProvider", {})
            endpoint = endpoint or provider.get("routingEndpoint")
            certificate = conditions.get("CertificateReady", {}).get("reason")
            for each in provider.get("domains", []):
                states[each["domain"]] = {
                    "domain": each["domain"],
                    "state": each["status"],
                    "certificate": certificate,
                }
            instructions.extend(status.get("dnsInstructions", []))
        resource.update_status(rsp.desired.composite, status_of(claim, states, all_ready, endpoint))
        said = resource.Condition(
            typ="Live", status=str(all_ready), reason="Live" if all_ready else "Creating"
        )
        response.set_conditions(rsp, said)
        return rsp


def tenant(claim: dict, plan: dict, domain: str, seen: dict) -> dict:
    """The DistributionTenant of one domain."""
    spec, metadata = claim["spec"], claim["metadata"]
    carried = seen.get("metadata", {}).get("annotations", {}).get("crossplane.io/external-name")
    name = carried or f"{metadata['namespace']}.{metadata['name']}-{digest(domain)}"
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"annotations": {"crossplane.io/external-name": name}},
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


def status_of(claim: dict, states: dict, live: bool, endpoint: str | None) -> dict:
    """The composite's status."""
    first = claim["spec"]["domains"][0]
    return {
        "phase": "Live" if live else "Pending",
        "url": f"https://{first}" if live else None,
        "routingEndpoint": endpoint,
        "domains": [states[name] for name in sorted(states)],
    }


def digest(text: str) -> str:
    """Ten characters that stand for a domain."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


@click.command()
@click.argument("certificates")
@click.argument("address")
def main(certificates: str, address: str) -> None:
    """Serve until SIGTERM."""
    runtime.serve(Composer(), address, creds=runtime.load_credentials(certificates), insecure=False)


if __name__ == "__main__":
    sys.exit(main())
