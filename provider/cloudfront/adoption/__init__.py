"""External resources that exist already: listing them, manifests for them, their owners, and their adoption.

`ownership/` decides who the owner is."""
