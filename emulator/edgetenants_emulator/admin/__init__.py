"""The admin API under `/_edgetenants/`: its endpoints, its client, seeds, the reset, snapshots of the state.

It contains no AWS APIs.
"""
