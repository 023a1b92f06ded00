"""What applies to calls of all services: the log, rate limits and faults.

The operations themselves are in other packages.
"""
