"""The provider: DistributionTenants against CloudFront."""
