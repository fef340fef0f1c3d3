"""luminal-opt's help: its options, every luminal pass with options and docs, and the upstream passes MLIR
carries.
"""

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import resources

from ..dialects.mlir import context, passmanager
from ..passes.registry import PASSES, PassEntry
from ..passes.targets import TARGETS
from .opt_arguments import option_parser

_EXAMPLES = """\
examples:
  luminal-opt model.mlir --canonicalize-views
  luminal-opt model.mlir --pass-pipeline='builtin.module(canonicalize-views,func.func(cse))' -o out.mlir
  luminal-opt model.mlir --target=cuda
"""


def help_text() -> str:
    """The text of `--help`."""
    names = ", ".join(name for name, _ in upstream_passes())
    parts = [option_parser().format_help(), "\nluminal passes (any may be given as --<pass>):\n"]
    parts += [_describe(entry) for entry in PASSES.values()]
    parts.append("\ntargets and their stages:\n")
    parts += [
        f"  {name:<7}{' -> '.join(stage.name for stage in stages)}\n" for name, stages in TARGETS.items()
    ]
    parts.append("\nupstream passes (--show-passes gives their options):\n")
    parts.append(
        textwrap.fill(names, 110, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    )
    return "".join(parts) + "\n\n" + _EXAMPLES


def passes_text() -> str:
    """The text of `--show-passes`: luminal's passes, then upstream's with their options' defaults, as MLIR
    prints them.
    """
    lines = ["luminal passes:\n", *(_describe(entry) for entry in PASSES.values()), "\nupstream passes:\n"]
    with context():
        for name, anchor in upstream_passes():
            manager = passmanager.PassManager(anchor)
            manager.add(name)
            options = re.search(r"\{(.*)\}", str(manager))
            lines.append(
                f"  {name}" + (f"  (on {anchor})\n" if anchor not in ("builtin.module", "any") else "\n")
            )
            if options and options[1].strip():
                lines.append(f"      {' '.join(options[1].split())}\n")
    return "".join(lines)


def upstream_passes() -> Iterator[tuple[str, str]]:
    """Name and anchor of each upstream pass and pass pipeline that this MLIR registers."""
    text = resources.files(__package__).joinpath("upstream_passes.txt").read_text()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, anchor = line.partition(" ")
            yield name, anchor or "builtin.module"


def _describe(entry: PassEntry) -> str:
    """The pass's name, summary and options; docs of options come from `name: text` lines of their class's
    docstring.
    """
    cls = entry.options_class()
    docs = dict(re.findall(r"^\s*`{0,2}(\w+)`{0,2}\s*:\s*(.+)$", inspect.getdoc(cls) or "", re.MULTILINE))
    text = f"  --{entry.name}\n      {entry.summary()}\n"
    for field in dataclasses.fields(cls):
        default = field.default if field.default is not dataclasses.MISSING else None
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        doc = docs.get(field.name, "")
        text += f"        {field.name.replace('_', '-')}=<{kind}>  {doc} (default: {default})\n"
    return text
