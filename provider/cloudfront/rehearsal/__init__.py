"""Shows what the provider would do: it records calls that write instead of making them.

Nothing here decides what the provider does."""
