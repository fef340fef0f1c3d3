"""`--eqsat-stats`: what the passes report about their work, e-graph sizes among it."""

import sys
from collections.abc import Mapping

from ..passes.pipeline import Observer
from .opt_arguments import OptArguments


def statistics_printer(arguments: OptArguments) -> Observer | None:
    """What to call with a pass's statistics, where the command line asks for them."""
    return print_statistics if arguments.eqsat_stats else None


def print_statistics(name: str, statistics: Mapping[str, object]) -> None:
    """One line for each figure on stderr; figures by ruleset are indented below theirs."""
    print(f"// {name}", file=sys.stderr)
    _print_level(statistics, "  ")


def _print_level(statistics: Mapping[str, object], indent: str) -> None:
    width = max((len(str(key)) for key in statistics), default=0)
    for key, value in statistics.items():
        if isinstance(value, Mapping):
            print(f"//{indent}{key}", file=sys.stderr)
            _print_level(value, indent + "  ")
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            print(f"//{indent}{key!s:<{width}}  {shown}", file=sys.stderr)
