"""For all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A slow machine is no failure: what must be fast is measured by `make bench`.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
