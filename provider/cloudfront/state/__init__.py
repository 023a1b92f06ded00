"""Plain values: the desired state, the observed state, the last write, and how the three differ.

Nothing here calls AWS, keeps state or decides what to do about a difference."""
