"""Who owns a tenant or connection group, and what messages may say about it to others (pure).

`adoption/` reads and writes the tags."""
