"""The external clients: a skeleton for all kinds, what each kind supplies, what is laid around them, and the
connector that makes them.

They put the other rooms' parts in order; a rule of CloudFront's belongs into the room that it is about."""
