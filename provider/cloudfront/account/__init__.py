"""One AWS account: its sessions and credentials, and what the provider remembers of it between reconciles.

Decisions about one managed resource are not here."""
