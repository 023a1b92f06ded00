"""The composition function against function-pythonic: the same claim, the same managed resource, one gRPC
call each.

The rival has its own environment, because it requires another version of the function SDK. Its composite does
less than ours: it has no plans, validation or conditions, only the resource.
"""

import textwrap
from typing import Any

import grpc
from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from tests.bench.environments import python_of
from tests.bench.pairs import Comparison, Contest, compare
from tests.bench.servers import free_port, server

CLAIM = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "metadata": {"name": "acme", "namespace": "shop", "uid": "0f6c1f0e-0000-4000-8000-000000000001"},
    "spec": {
        "plan": "standard",
        "domains": ["acme.example.com", "shop.acme.com"],
        "parameters": {"tenantName": "acme"},
    },
}
PLANS = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "plans": {"standard": {"distributionId": "E1EDGETENANTS", "allow": {"override": ["parameters"]}}},
}
PYTHONIC = textwrap.dedent(
    """
    class Composite(BaseComposite):
        def compose(self):
            tenant = self.resources.tenant("cloudfront.m.edgetenants.io/v1alpha1", "DistributionTenant")
            name = f"{self.metadata.namespace}.{self.metadata.name}"
            tenant.metadata.annotations["crossplane.io/external-name"] = name
            tenant.spec.providerConfigRef.kind = "ClusterProviderConfig"
            tenant.spec.providerConfigRef.name = "default"
            tenant.spec.forProvider.distributionId = "E1EDGETENANTS"
            tenant.spec.forProvider.domains = self.spec.domains
            tenant.spec.forProvider.enabled = True
            tenant.spec.forProvider.parameters = self.spec.parameters
            self.status.url = f"https://{self.spec.domains[0]}"
    """
)


class Caller:
    """Calls RunFunction over an insecure loopback channel. Every response must have the composed resource."""

    def __init__(self, port: int, step_input: dict[str, Any]) -> None:
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        grpc.channel_ready_future(channel).result(timeout=20)
        self._run = grpcv1.FunctionRunnerServiceStub(channel).RunFunction
        self._request = fnv1.RunFunctionRequest(
            observed=fnv1.State(composite=fnv1.Resource(resource=resource.dict_to_struct(CLAIM))),
            input=resource.dict_to_struct(step_input),
        )

    def __call__(self) -> None:
        answer = self._run(self._request)
        if "tenant" not in answer.desired.resources:
            raise RuntimeError(f"the function composed nothing: {[r.message for r in answer.results]}")


def comparisons() -> list[Comparison]:
    """Compare sequential RunFunction calls over an open channel, as Crossplane core makes them."""
    ours, theirs = free_port(), free_port()
    pythonic_python = python_of("pythonic")
    pythonic = {
        "apiVersion": "pythonic.fn.crossplane.io/v1alpha1",
        "kind": "Composite",
        "composite": PYTHONIC,
    }
    with (
        server("-m", "function.main", "--insecure", "--address", f"127.0.0.1:{ours}", port=ours),
        server(
            str(pythonic_python.with_name("function-pythonic")),
            "--insecure",
            "--address",
            f"127.0.0.1:{theirs}",
            port=theirs,
            python=str(pythonic_python),
        ),
    ):
        contest = Contest(
            name="function-compose",
            rival="function-pythonic 0.1.4",
            operation="RunFunction for one claim, over gRPC on loopback",
            ours=Caller(ours, PLANS),
            theirs=Caller(theirs, pythonic),
        )
        return [compare(contest)]
