"""luminal-run: real models answering through luminal, beside torch eager in the same run."""

import argparse
import sys
from collections.abc import Sequence

from luminal.errors import LuminalError


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-run` command. Exit status: 0, or 1 after one clear message."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "chat":
            from .run_chat import chat

            return chat(arguments)
        from .run_embed import embed

        return embed(arguments)
    except LuminalError as error:
        print(f"luminal-run: error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nluminal-run: interrupted", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="luminal-run", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    chat = commands.add_parser("chat", help="SmolLM2-135M-Instruct answers a question")
    chat.add_argument("question", help="what to ask")
    chat.add_argument("--max-tokens", type=_positive, default=128, help="at most (default: %(default)s)")
    chat.add_argument("--context", type=_positive, default=512, help="cache size (default: %(default)s)")
    embed = commands.add_parser("embed", help="all-MiniLM-L6-v2 embeds texts and compares them")
    embed.add_argument("text", nargs="+", help="texts to embed")
    for command in (chat, embed):
        command.add_argument("--threads", type=_positive, default=0, help="default: all processors")
        command.add_argument("--no-eager", action="store_true", help="do not run torch eager for comparison")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got '{text}'")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
