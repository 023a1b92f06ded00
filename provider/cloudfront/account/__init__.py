"""One AWS account: its sessions and credentials.

Decisions about one managed resource are not here."""
