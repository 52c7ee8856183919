"""Hypothesis as this room runs it: the same examples every time, few enough to stay quick."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "plan",
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("PLAN_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("plan")
