"""What is asked of CloudFront, what it has, what was last written, and how the three differ: plain values.

Nothing here calls AWS, remembers anything or decides what is done about it."""
