"""Large problems: a plan in hand is improved window by window."""

from solver.windows.improve import improved

__all__ = ["improved"]
