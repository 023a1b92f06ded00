"""The response: the claim's conditions and status, in the claim's own words, and which resources this call
composes.

The claim wants the resources in `composed/`. Some are composed later than it wants them, or for longer."""
