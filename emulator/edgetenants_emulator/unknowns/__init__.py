"""Behaviour that AWS does not document: open questions, the emulator's choices, sources, and settings.

The settings themselves are in `settings`.
"""
