"""Requests for thousands of claims, all of them different.

Each request is assembled from serialized parts, in which placeholders are replaced by values of the same
length. Building it from JSON would take longer than the response.
"""

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from function.composed.naming import digest
from function.protocol.wire import struct
from tests.bench import wire

PLAN: Mapping[str, Any] = {
    "distributionId": "E1EDGETENANTS",
    "parameters": {"tier": "standard"},
    "tags": {"plan": "standard"},
    "allow": {"override": ["parameters"], "maxPerDomain": 100, "maxDomains": 100},
}
PLANS: Mapping[str, Any] = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "defaultPlan": "standard",
    "plans": {"standard": PLAN, "premium": {**PLAN, "parameters": {"tier": "premium", "region": "eu"}}},
}
ENDPOINT = "d111111abcdef8.cloudfront.net"
SERVING, ROLLING_OUT, WAITING = "serving", "rolling out", "waiting for a certificate"
SELDOM, ALWAYS = 4, 1
"""One of how many visits has changed input that affects the response."""
ORDERS = 4
"""How many different orders of an object's fields occur."""

CLAIM, TENANT, DIGEST, VERSION, NEWS = "c#####", "t~~~", "!!!!!!digest!!!!!!!!", "@version@@", "%news%%%%%"
"""The placeholders in the serialized parts."""


def request(claim: int, size: int, visit: int, news: int = SELDOM) -> bytes:
    """The request that core sends for a claim with `size` tenants on visit number `visit`.

    Since the previous visit, the composite and one tenant have new versions, and the tenant has a new ETag.
    On each `news`-th visit, one of its conditions also has a new message.
    """
    order, number, plan = (claim + visit) % ORDERS, f"c{claim:05}", ("standard", "premium")[claim % 2]
    special = {claim % size: (ROLLING_OUT, WAITING)[claim % 10]} if claim % 10 < 2 else {}
    resources = {}
    for tenant in range(size):
        own = f"t{tenant:03}"
        name = digest(domain(number, own))
        # The visits on which they changed.
        version = told = visit - (claim + visit - tenant) % size
        while told > 0 and (claim + told) % news:
            told -= size
        words = {
            CLAIM: number,
            TENANT: own,
            DIGEST: name,
            VERSION: f"{max(0, version):010}",
            NEWS: f"{max(0, told):010}",
        }
        part = _tenant(special.get(tenant, SERVING), plan, order)
        resources[f"tenant-{name}"] = _filled(part, words)
    state = special.get(claim % size, SERVING)
    composite = _filled(_composite(size, state, plan, order), {CLAIM: number, VERSION: f"{visit:010}"})
    return wire.request(composite, resources, _input(order))


def _filled(part: bytes, words: Mapping[str, str]) -> bytes:
    for placeholder, word in words.items():
        part = part.replace(placeholder.encode(), word.encode())
    return part


def domain(claim: str, tenant: str) -> str:
    """The domain of one tenant of a claim."""
    return f"{tenant}.{claim}.acme.example.com"


@lru_cache
def _input(order: int) -> bytes:
    return struct(wire.shuffled(PLANS, random.Random(order)))


@lru_cache
def _composite(size: int, state: str, plan: str, order: int) -> bytes:
    return struct(wire.shuffled(composite(size, state, plan), random.Random(order)))


@lru_cache
def _tenant(state: str, plan: str, order: int) -> bytes:
    return struct(wire.shuffled(tenant(state, plan), random.Random(order)))


def composite(size: int, state: str, plan: str) -> dict[str, Any]:
    """The claim, with the fields that core and the function have set."""
    tenants = [f"t{number:03}" for number in range(size)]
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {
            "name": CLAIM,
            "namespace": f"team-{CLAIM}",
            "uid": f"0f6c1f0e-0000-4000-8000-000000{CLAIM}",
            "generation": 2,
            "resourceVersion": VERSION,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"crossplane.io/composite": CLAIM, "team": f"team-{CLAIM}"},
            "finalizers": ["composite.apiextensions.crossplane.io"],
        },
        "spec": {
            "plan": plan,
            "isolation": "PerDomain",
            "domains": [domain(CLAIM, each) for each in tenants],
            "parameters": {"tenantName": CLAIM, "origin": f"{CLAIM}.internal.example.com"},
            "crossplane": {
                "compositionRef": {"name": "tenants"},
                "compositionRevisionRef": {"name": "tenants-5d9c2d1"},
                "compositionUpdatePolicy": "Automatic",
                "resourceRefs": [
                    {
                        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
                        "kind": "DistributionTenant",
                        "name": f"{CLAIM}-{each}",
                    }
                    for each in tenants
                ],
            },
        },
        "status": {
            "phase": "Live",
            "url": f"https://{domain(CLAIM, 't000')}",
            "routingEndpoint": ENDPOINT,
            "domains": [
                {"domain": domain(CLAIM, each), "state": "active", "dns": "Present"} for each in tenants
            ],
            "conditions": [
                _told("Live", *_LIVE.get(state, ("True", "Live", "Every domain is served."))),
                _told(
                    "Reconciling", *_RECONCILING.get(state, ("False", "Stable", "No change is in progress."))
                ),
                _told("Degraded", "False", "Recovered", "Nothing needs attention."),
                _told("Suspended", "False", "Active", "The claim is not suspended."),
                _told("Blocked", "False", "Unblocked", "Nothing is blocked."),
                _told("Synced", "True", "ReconcileSuccess", ""),
                _told("Ready", "True", "Available", ""),
            ],
        },
    }


_LIVE = {WAITING: ("False", "IssuingCertificate", "The certificate is being validated.")}
_RECONCILING = {
    ROLLING_OUT: (
        "True",
        "Updating",
        "A change is being rolled out. No action is needed unless another condition says so.",
    )
}


def tenant(state: str, plan: str) -> dict[str, Any]:
    """A tenant, with the fields that the API server, core and the provider have set."""
    name, own = f"team-{CLAIM}.{CLAIM}-{DIGEST}", domain(CLAIM, TENANT)
    asked = {
        "distributionId": "E1EDGETENANTS",
        "domains": [own],
        "enabled": True,
        "parameters": {
            **PLANS["plans"][plan]["parameters"],
            "tenantName": CLAIM,
            "origin": f"{CLAIM}.internal.example.com",
        },
        "tags": {"plan": "standard"},
    }
    waits = state == WAITING
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {
            "name": f"{CLAIM}-{TENANT}",
            "generateName": f"{CLAIM}-",
            "namespace": f"team-{CLAIM}",
            "uid": f"0f6c1f0e-0000-40{DIGEST}",
            "generation": 1,
            "resourceVersion": VERSION,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {
                "crossplane.io/external-name": name,
                "crossplane.io/composition-resource-name": f"tenant-{DIGEST}",
                "crossplane.io/external-create-pending": "2026-01-01T00:00:00Z",
                "crossplane.io/external-create-succeeded": "2026-01-01T00:00:01Z",
            },
            "labels": {"crossplane.io/composite": CLAIM},
            "finalizers": ["finalizer.managedresource.crossplane.io"],
            "ownerReferences": [
                {
                    "apiVersion": "platform.edgetenants.io/v1alpha1",
                    "kind": "TenantClaim",
                    "name": CLAIM,
                    "uid": f"0f6c1f0e-0000-4000-8000-000000{CLAIM}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "managementPolicies": ["*"],
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
            "forProvider": asked,
        },
        "status": {
            "domainsReady": "0/1" if waits else "1/1",
            "observedGeneration": 1,
            "conditions": [
                _told("Ready", "False", "CertificatePending", "The certificate is being validated.")
                if waits
                else _told("Ready", "True", "Available", ""),
                _told("Synced", "True", "ReconcileSuccess", f"Observation number {NEWS}."),
                _told("Deployed", "False", "Deploying", "CloudFront rolls it out.")
                if state == ROLLING_OUT
                else _told("Deployed", "True", "Deployed", ""),
                _told("InSync", "True", "InSync", ""),
                _told("CertificateReady", "False", "CertificatePending", "It is being validated.")
                if waits
                else _told("CertificateReady", "True", "Issued", ""),
                _told("DNSReady", "True", "DNSNotConfigured", ""),
            ],
            "dnsInstructions": [
                {
                    "type": "CNAME",
                    "name": own,
                    "value": ENDPOINT,
                    "purpose": "Routing",
                    "state": "Missing" if waits else "Present",
                }
            ],
            "atProvider": {
                "id": f"dt_{DIGEST}",
                "arn": f"arn:aws:cloudfront::123456789012:distribution-tenant/dt_{DIGEST}",
                "etag": f"E{VERSION}",
                "name": name,
                "status": "Deployed",
                "enabled": True,
                "distributionId": "E1EDGETENANTS",
                "connectionGroupId": "cg_default",
                "routingEndpoint": ENDPOINT,
                "domains": [{"domain": own, "status": "inactive" if waits else "active"}],
                "parameters": asked["parameters"],
            },
        },
    }


def _told(type_: str, status: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
