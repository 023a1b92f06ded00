"""The steps of a reconcile that all kinds share: differences, actions, conditions and the stored record.

Each kind has its own fields in its own package; `clients/skeleton.py` calls everything in order."""
