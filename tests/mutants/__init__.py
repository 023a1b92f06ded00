"""Named mutations: a guard removed, an order swapped, a write dropped; a test must notice each."""
