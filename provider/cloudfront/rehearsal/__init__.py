"""Showing what would be done: calls that write are recorded and not made.

Nothing here decides what is done."""
