"""What stops the provider before it writes, for tenants and connection groups, and how to proceed.

`checks/` finds what is wrong with the desired state."""
