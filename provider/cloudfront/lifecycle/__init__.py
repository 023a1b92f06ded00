"""What is the same for every kind between the look and the report: what differs, what is done, what is kept.

A kind's own fields are in its room; `clients/skeleton.py` puts it all in order."""
