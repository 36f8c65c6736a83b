"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import settings

# Examples are timed by nobody: on a busy machine a deadline fails a test that is right. CI tries the same ones every time.
settings.register_profile("eyetest", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("eyetest")
