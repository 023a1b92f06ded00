"""Settings for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A slow machine must not fail tests; `make bench` measures performance.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
