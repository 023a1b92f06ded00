"""What AWS does not say: each open question, how it is read here, where that comes from, what switches it.

The settings themselves are in `settings`.
"""
