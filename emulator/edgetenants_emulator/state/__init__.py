"""The emulator's state: resources and their shelves, ids, versions, former values, deployment times.

The operations on it are in other packages.
"""
