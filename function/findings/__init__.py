"""What the observed resources mean for the claim: whether its domains are served, and what to do if not.

The observed resources are in `composed/observed.py`, the conditions other than Live in `answer/`."""
