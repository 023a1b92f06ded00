"""The same composition for function-pythonic 0.6. This file is the input of its step."""

import hashlib


class Composite(BaseComposite):  # noqa: F821 - function-pythonic puts it there
    def compose(self):
        spec, name = self.spec, f"{self.metadata.namespace}.{self.metadata.name}"
        states = {}
        for domain in (str(each) for each in spec.domains):
            digest = hashlib.sha256(domain.encode()).hexdigest()[:20]
            tenant = self.resources[f"tenant-{digest}"](
                "DistributionTenant", "cloudfront.m.edgetenants.io/v1alpha1"
            )
            tenant.externalName = f"{name}-{digest}"
            tenant.spec.providerConfigRef.kind = "ClusterProviderConfig"
            tenant.spec.providerConfigRef.name = "default"
            tenant.spec.forProvider.distributionId = "E1EDGETENANTS"
            tenant.spec.forProvider.domains = [domain]
            tenant.spec.forProvider.enabled = True
            tenant.spec.forProvider.parameters.tier = "standard"
            tenant.spec.forProvider.parameters.tenantName = spec.parameters.tenantName
            tenant.spec.forProvider.tags.plan = "standard"
            for each in tenant.status.atProvider.domains:
                states[str(each.domain)] = str(each.status)
            self.status.routingEndpoint = tenant.status.atProvider.routingEndpoint
        self.status.domains = [{"domain": key, "state": states[key]} for key in sorted(states)]
        self.status.url = f"https://{spec.domains[0]}"
