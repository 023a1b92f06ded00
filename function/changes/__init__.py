"""Changes that move or interrupt served domains: their steps, and which of them wait for a confirmation.

Their messages to the claim's author are in `answer/conditions.py`."""
