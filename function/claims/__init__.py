"""What a claim and its plan say, which domains they may have, and the terms that result from both.

Nothing here knows which resources exist."""
