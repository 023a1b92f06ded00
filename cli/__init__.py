"""The command `edgetenants`."""
