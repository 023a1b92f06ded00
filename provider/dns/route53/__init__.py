"""Route 53: what its zones have, and changes in batches.

calls.py (protocol) ◀── store ──▶ zone_list     which zones there are
                          ├─────▶ zone_views    what a zone has, by pages
                          ├─────▶ zone_writer   one change in flight for each zone, in batches
                          └─────▶ change_marks  whether a change is served
"""
