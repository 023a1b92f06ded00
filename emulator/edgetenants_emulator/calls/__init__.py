"""What happens to a call of any service on its way: it is logged, limited in its rate, disturbed by a fault.

What it does is not here.
"""
