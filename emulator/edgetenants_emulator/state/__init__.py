"""What the emulator holds: resources and their shelves, ids, versions, former values, deployments' times.

What an operation may do to them is not here.
"""
