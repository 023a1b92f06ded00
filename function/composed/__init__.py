"""The composed resources: the desired ones with their names, the observed ones, and where each choice comes
from.

How the observed ones become the desired ones without a gap is in `changes/`."""
