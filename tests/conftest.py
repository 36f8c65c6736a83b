"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# Examples are timed by nobody: on a busy machine a deadline fails a test that is right.
settings.register_profile("eyetest", deadline=None)
settings.load_profile("eyetest")
