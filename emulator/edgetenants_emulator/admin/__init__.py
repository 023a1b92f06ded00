"""The admin API under `/_edgetenants/`: its endpoints, its client, seeds, the reset, snapshots of the state.

What AWS has too is not here.
"""
