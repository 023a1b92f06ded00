"""HTTP servers that any pod of the cluster may connect to: each connection, request and answer is bounded."""
