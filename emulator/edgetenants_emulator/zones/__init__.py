"""DNS zones: what they answer, records set by hand, batches of changes, and who sees a change when.

Whoever asks over all zones is in `dns`.
"""
