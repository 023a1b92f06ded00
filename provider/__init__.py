"""The provider: reconciles DistributionTenants and ConnectionGroups with CloudFront."""
