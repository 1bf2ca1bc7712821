"""Settings of every test: no example is judged by the clock, the machines that run them are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
