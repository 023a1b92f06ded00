"""One AWS account: its sessions and credentials, and all that is remembered of it between two looks.

What is decided about one managed resource is not here."""
