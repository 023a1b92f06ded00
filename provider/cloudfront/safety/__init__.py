"""What stops the provider before it writes, for tenants and connection groups alike, with the way out of it.

What is wrong with what somebody asks for is found in `checks/`."""
