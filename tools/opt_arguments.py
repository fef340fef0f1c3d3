"""luminal-opt's command line: the options of mlir-opt, and one flag for every registered pass."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from luminal.errors import LuminalError


class UsageError(LuminalError):
    """The command line or a file it names is wrong."""


@dataclass(frozen=True)
class OptArguments:
    """What one run does: a field for each option; `pass_flags` (`name` or `name=options`) are in order."""

    input: str
    output: str
    help: bool
    show_passes: bool
    pass_pipeline: str | None
    target: str | None
    stage: str | None
    split_input_file: bool
    verify_diagnostics: bool
    verify_each: bool
    mlir_print_ir_before_all: bool
    mlir_print_ir_after_all: bool
    mlir_print_ir_after_change: bool
    mlir_print_ir_module_scope: bool
    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    mlir_print_local_scope: bool
    mlir_elide_elementsattrs_if_larger: int | None
    mlir_timing: bool
    eqsat_stats: bool
    allow_unregistered_dialect: bool
    pass_flags: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see luminal-opt --help)")


SWITCHES = {
    "--help": "show this help with every luminal pass, and exit",
    "--show-passes": "list all passes, upstream ones too, with options and defaults, and exit",
    "--split-input-file": "process the parts between '// -----' lines one by one",
    "--verify-diagnostics": "check diagnostics against the input's expected-* comments",
    "--mlir-print-ir-before-all": "print the IR before each pass to stderr",
    "--mlir-print-ir-after-all": "print the IR after each pass to stderr",
    "--mlir-print-ir-after-change": "print the IR to stderr after each pass that changed it",
    "--mlir-print-ir-module-scope": "print the whole module there",
    "--mlir-print-op-generic": "print the generic op form",
    "--mlir-print-debuginfo": "print locations",
    "--mlir-print-local-scope": "print types and attributes in place, without aliases",
    "--mlir-timing": "report the time of each pass to stderr",
    "--eqsat-stats": "report e-graph statistics to stderr",
    "--allow-unregistered-dialect": "accept ops of unknown dialects",
}


def option_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="luminal-opt",
        usage="luminal-opt [options] [--<pass>[=<options>] ...] [input | -]",
        description="Run MLIR passes, luminal's and upstream's, over a file or stdin.",
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="input file (default: stdin)")
    add("-o", dest="output", metavar="FILE", default="-", help="output file (default: stdout)")
    add("--pass-pipeline", metavar="TEXT", help="run 'builtin.module(pass{option=value},...)'")
    add("--target", metavar="NAME", help="lower for cpu, cuda[:sm_90a] or metal, printing every stage")
    add("--stage", metavar="NAME", help="with --target: stop at this stage and print it alone")
    add(
        "--verify-each",
        metavar="BOOL",
        type=_boolean,
        default=True,
        help="verify after each pass (default: true)",
    )
    add(
        "--mlir-elide-elementsattrs-if-larger",
        metavar="N",
        type=int,
        help="elide constants of more than N elements",
    )
    for name, text in SWITCHES.items():
        add(name, action="store_true", help=text)
    return parser


def parse_arguments(argv: Sequence[str]) -> OptArguments:
    """The run that `argv` asks for. Raises UsageError for a malformed command line; pass names are checked
    later.
    """
    known, unknown = option_parser().parse_known_args([_long_form(argument) for argument in argv])
    for argument in unknown:
        if not argument.startswith("--") or argument == "--":
            raise UsageError(
                f"unexpected argument '{argument}': there is one input file (see luminal-opt --help)"
            )
    arguments = OptArguments(**vars(known), pass_flags=tuple(argument[2:] for argument in unknown))
    if (
        sum((bool(arguments.pass_flags), arguments.pass_pipeline is not None, arguments.target is not None))
        > 1
    ):
        others = " ".join(f"--{flag}" for flag in arguments.pass_flags)
        raise UsageError(
            f"give one of --pass-pipeline, --target and single-pass flags ({others or 'none given'})"
        )
    if arguments.stage is not None and arguments.target is None:
        raise UsageError("--stage needs --target")
    return arguments


def _long_form(argument: str) -> str:
    """`-canonicalize` as `--canonicalize` (LLVM's tools take one dash or two), and the short forms of
    options.
    """
    if len(argument) > 2 and argument[0] == "-" and argument[1] != "-":
        argument = "-" + argument
    return {"-h": "--help", "--verify-each": "--verify-each=true"}.get(argument, argument)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return text.lower() in ("true", "1")
