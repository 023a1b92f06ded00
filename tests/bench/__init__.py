"""Measurements against named rivals: ratios taken pairwise in one run, never a pass or fail by the clock."""
