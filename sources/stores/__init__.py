"""The stores that a TenantSource reads, one module each behind `store.Store`."""
