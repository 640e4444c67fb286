"""The entry point of ``palimpsest``: parse the command line, run the subcommand, end with its exit code.

Nothing heavy is imported before a subcommand runs, so that ``--help`` answers at once.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any

from palimpsest import __version__
from palimpsest.transcript.errors import PalimpsestError

WRONG, INTERRUPTED = 2, 130
EXAMPLES = """examples:
  palimpsest inspect session.jsonl
  palimpsest import ~/.codex/sessions --project .
  palimpsest compare session.jsonl --policy recorded opencode.prune "sweagent.last_n n=10"
  palimpsest compare before.jsonl after.jsonl --markdown
  palimpsest report session.jsonl -o session.html
  palimpsest inspect session.jsonl --json > main.json
  palimpsest inspect session.jsonl --baseline main.json --fail-if "cost > 1.1 * baseline"

exit code: 0; 1 where a condition of --fail-if holds; 2 where something cannot be read or is not understood.
"""
CONDITION = """a condition is made of columns (the keys of --json), numbers, + - * /, comparisons, and, or, not;
baseline is what the column of its comparison has in the first row, or in the report that --baseline names."""


class TerminalParser(ArgumentParser):
    """A parser whose help and errors, which quote what was given, are written as every other text."""

    def _print_message(self, message: str, file: Any = None) -> None:
        from palimpsest.frontends import terminal

        (terminal.write if file is sys.stdout else terminal.write_error)(message.rstrip("\n"))


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    made = TerminalParser(
        prog="palimpsest",
        description="Look at recorded sessions of any agent: no kernel, no key, no network.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    commands = made.add_subparsers(
        dest="command", required=True, metavar="import|inspect|compare|report"
    )
    _add_import(commands.add_parser("import", **_about("Import recordings into a project.")))
    _add_inspect(
        commands.add_parser(
            "inspect", **_about("Say what sessions hold, cost and lost.", CONDITION)
        )
    )
    _add_compare(
        commands.add_parser(
            "compare",
            **_about("Compare policies over one recording, or two recordings.", CONDITION),
        )
    )
    _add_report(
        commands.add_parser(
            "report",
            **_about("Write a session's inspector as one HTML file, without server and network."),
        )
    )
    return made


def _about(words: str, below: str = "") -> dict[str, Any]:
    return {
        "help": words,
        "description": words,
        "epilog": below,
        "formatter_class": RawDescriptionHelpFormatter,
    }


def _add_import(command: ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", help="a recording, or a folder of recordings")
    command.add_argument("--project", metavar="DIR", help="the project's folder; else this one's")
    command.add_argument("--json", action="store_true", help="write JSON")


def _add_inspect(command: ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", help="a recording, a folder, or a project")
    _add_common(command)


def _add_compare(command: ArgumentParser) -> None:
    command.add_argument(
        "path", metavar="PATH", nargs="+", help="a recording with policies, or two recordings"
    )
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        action="append",
        help='names, with numbers as in "sweagent.last_n n=10"; recorded, raw, all (the default)',
    )
    command.add_argument(
        "--window", metavar="N", type=int, default=0, help="tokens of the context window to assume"
    )
    command.add_argument(
        "--summary",
        metavar="TEXT",
        help="what stands where policies would have had a summary: stub(1500), extract(2000), recorded",
    )
    _add_common(command)


def _add_report(command: ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", help="a recording, a folder, or a project")
    command.add_argument(
        "-o", "--output", metavar="FILE.html", required=True, help="a new file, or an older report"
    )
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        action="append",
        help='what to compare with, with numbers as in "sweagent.last_n n=10"; else three of the field',
    )
    command.add_argument(
        "--texts",
        choices=("none", "preview", "all"),
        default="preview",
        help="of the session's texts: none, the first 200 characters (the default), or all",
    )
    command.add_argument(
        "--session", metavar="ID", default="", help="one session, by its id or number from 1"
    )
    _add_prices(command)
    command.add_argument("--json", action="store_true", help="write JSON (docs/command-line.md)")


def _add_prices(command: ArgumentParser) -> None:
    command.add_argument(
        "--price",
        metavar="PRICE",
        action="append",
        help="the prices of a model, units, MODEL=in/out/read/write (USD per million tokens), or a price file",
    )
    command.add_argument(
        "--lifetime", metavar="TIME", help="how long the cache keeps a prefix: seconds, or 5m, 1h"
    )


def _add_common(command: ArgumentParser) -> None:
    command.add_argument(
        "--session", metavar="ID", default="", help="one session, by its id or number from 1"
    )
    _add_prices(command)
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON (docs/command-line.md)")
    form.add_argument("--markdown", action="store_true", help="write Markdown, for a pull request")
    command.add_argument(
        "--fail-if", metavar="CONDITION", action="append", help="end with 1 where it holds"
    )
    command.add_argument("--baseline", metavar="FILE.json", help="an earlier report, by --json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and never raises."""
    given = parser().parse_args(arguments)
    from palimpsest.frontends.command_line.commands import run_command
    from palimpsest.frontends.command_line.report_output import tell

    try:
        return run_command(given)
    except PalimpsestError as error:
        tell([str(error)])
    except BrokenPipeError:
        # The reader has gone, as `head` does; nothing is left to say, at the end of Python neither.
        sys.stdout = None
        return 0
    except OSError as error:
        tell([f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."])
    except KeyboardInterrupt:
        tell(["Stopped; what was imported stays."])
        return INTERRUPTED
    except (IndexError, ValueError, RecursionError, MemoryError) as error:
        tell([f"It cannot be read: {type(error).__name__}."])
    return WRONG
