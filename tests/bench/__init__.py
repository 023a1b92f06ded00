"""Benchmarks against named rivals. They report ratios of paired runs and never fail because of timing."""
