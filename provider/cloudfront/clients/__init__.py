"""The external clients of both kinds, what is laid around them, and the connector that makes them.

They put the other rooms' parts in order; a rule of CloudFront's belongs into the room that it is about."""
