"""Measures kernels on the machine at hand, once each, and remembers the seconds on disk.

The search ranks candidates by an analytic model; what it cannot tell apart, a `Measurer` times. A result is
kept in a `TuningDatabase`: equal kernels at equal sizes are never timed twice, in any process, and databases
of equal machines can be merged.
"""

from .database import TuningDatabase, database_path
from .measurer import Budget, LogEntry, Measurer

__all__ = ["Budget", "LogEntry", "Measurer", "TuningDatabase", "database_path"]
