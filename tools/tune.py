"""luminal-tune: look into, merge and clear the database of measured kernel times."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luminal.errors import LuminalError

if TYPE_CHECKING:
    from ..runtime.tuning import TuningDatabase

EPILOG = """\
The database is a text file, one JSON object a line: $LUMINAL_TUNING_DB, else tuning.jsonl in the cache
directory. Times count on machines with the same processor, vector features and number of cores, for the same
version of luminal's code generator; those of others are kept, so that one file may serve many machines.

examples:
  luminal-tune show --filter contract        the matrix products measured so far, slowest first
  luminal-tune merge all.jsonl other.jsonl   add what another machine measured to all.jsonl
  luminal-tune clear --outdated              forget what other versions of the code generator took
  luminal-tune clear --filter disturbed      forget what was measured while other processes were busy

exit status: 0 done, 1 a file cannot be read or written, 2 wrong arguments
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-tune` command."""
    arguments = _parser().parse_args(argv)
    status = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arguments.run(arguments)
            sys.stdout.flush()
        except LuminalError as error:
            print(f"luminal-tune: error: {error}", file=sys.stderr)
            status = 1
        except BrokenPipeError:  # `luminal-tune show | head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for warning in caught:
        print(f"luminal-tune: warning: {warning.message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="luminal-tune",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--database", type=Path, metavar="FILE", help="use this file")
    chosen.add_argument(
        "--filter", default="", metavar="TEXT", help="only entries whose line in `show` has this text"
    )
    show = commands.add_parser("show", parents=[chosen], help="list measured kernels, slowest first")
    show.set_defaults(run=_show)
    merge = commands.add_parser("merge", help="add the entries of other files to a file")
    merge.add_argument("target", type=Path, metavar="FILE", help="the file that grows; made if absent")
    merge.add_argument("sources", type=Path, nargs="+", metavar="OTHER", help="files to take entries from")
    merge.set_defaults(run=_merge)
    clear = commands.add_parser("clear", parents=[chosen], help="remove entries (all unless told otherwise)")
    clear.add_argument(
        "--outdated",
        action="store_true",
        help="only entries of this machine that another version of the code generator made",
    )
    clear.set_defaults(run=_clear)
    return parser


def _show(arguments: argparse.Namespace) -> None:
    from ..runtime.tuning import TuningDatabase

    database = TuningDatabase.open(arguments.database)
    if not len(database):
        print(f"{database.path}: nothing has been measured")
        return
    shown = 0
    for identity in sorted({entry["environment"] for entry in database}):
        entries = [entry for entry in database if entry["environment"] == identity]
        wanted = [entry for entry in entries if _matches(entry, arguments.filter)]
        shown += len(wanted)
        if wanted:
            print(_heading(database, identity))
        for entry in sorted(wanted, key=lambda entry: -entry["seconds"]):
            print(f"  {line_of(entry)}")
    print(f"{database.path}: {shown} of {len(database)} entries")


def _heading(database: TuningDatabase, identity: str) -> str:
    """An environment in words."""
    found = database.environments.get(identity)
    if found is None:
        return f"environment {identity}, not described:"
    here = ", this one" if identity == database.environment.identity else ""
    versions = ", ".join(found["versions"])
    machine = f"{found['cpu']} ({found['target']}), {found['cores']} cores"
    return f"{machine}; code generator {found['lowering']}, {versions}{here}:"


def line_of(entry: dict[str, Any]) -> str:
    """An entry on one line: seconds, kernel, sizes, how it was measured."""
    types = f"({', '.join(entry.get('operands', ()))}) -> {entry.get('result', '?')}"
    sizes = "".join(f" {name}={value}" for name, value in entry.get("symbols", {}).items())
    cold = entry.get("cold") or []
    notes = [
        f"{entry.get('threads', '?')} threads",
        f"{entry.get('runs', '?')} runs",
        *([f"operands {', '.join(map(str, cold))} from memory"] if cold else []),
        *(["broken off"] if entry.get("rough") else []),
        *(["disturbed"] if entry.get("disturbed") else []),
        entry["when"],
    ]
    kernel = f"{entry.get('op', entry['key'])} {types}{sizes}: {entry.get('body', '')}"
    return f"{_time(entry['seconds']):>11s}  {kernel}  [{', '.join(notes)}]"


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds * 1e9:.1f} ns"


def _matches(entry: dict[str, Any], text: str) -> bool:
    return text.lower() in line_of(entry).lower()


def _merge(arguments: argparse.Namespace) -> None:
    from ..runtime.tuning import TuningDatabase

    target = TuningDatabase.open(arguments.target)
    for source in arguments.sources:
        taken = target.merge(source)
        print(f"{taken} entries of {source} taken over; {target.path} has {len(target)}")
    target.save()


def _clear(arguments: argparse.Namespace) -> None:
    from ..runtime.tuning import TuningDatabase

    database = TuningDatabase.open(arguments.database)
    outdated = _outdated(database) if arguments.outdated else None
    removed = database.remove(
        lambda entry: (
            _matches(entry, arguments.filter) and (outdated is None or entry["environment"] in outdated)
        )
    )
    print(f"{removed} entries removed from {database.path}; {len(database)} left")


def _outdated(database: TuningDatabase) -> set[str]:
    """The environments that differ from this one in the compiler only."""
    here = database.environment.record()
    machine = ("cpu", "target", "features", "cores")
    return {
        identity
        for identity, record in database.environments.items()
        if identity != database.environment.identity and all(record[k] == here[k] for k in machine)
    }


if __name__ == "__main__":
    sys.exit(main())
