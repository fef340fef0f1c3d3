"""luminal-bench: luminal, torch eager and Inductor on the same work, each in a time block of its own."""

from .command import main

__all__ = ["main"]
