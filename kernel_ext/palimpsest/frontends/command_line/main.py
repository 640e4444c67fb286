"""The entry point of ``palimpsest``: parse the command line, carry out the operation, end with its exit code.

The parser is made of the operations' fields. Review is imported by an operation that is carried out, so that ``--help``
answers at once.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from palimpsest import __version__
from palimpsest.frontends import terminal
from palimpsest.frontends.command_line.commands import (
    OPERATIONS,
    Argument,
    ReadRecordings,
    RecordingOperation,
)
from palimpsest.frontends.command_line.report_output import OutputForm, tell
from palimpsest.transcript.errors import PalimpsestError, UserError

FAILED, WRONG, INTERRUPTED = 1, 2, 130
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
    names = [command_of(one) for one in OPERATIONS]
    commands = made.add_subparsers(dest="command", required=True, metavar="|".join(names))
    for operation in OPERATIONS:
        words = str(operation.__doc__)
        command = commands.add_parser(
            command_of(operation),
            help=words,
            description=words,
            epilog=CONDITION if operation.has_rows else "",
            formatter_class=RawDescriptionHelpFormatter,
        )
        for name, (field, argument) in arguments_of(operation).items():
            flags = argument.flags or ((name,) if field.is_required() else (f"--{name}",))
            default = None if field.is_required() else field.default
            command.add_argument(
                *flags, default=default, help=field.description, **argument.options
            )
        _add_output(command, has_rows=operation.has_rows)
        command.set_defaults(operation=operation)
    return made


def command_of(operation: type[RecordingOperation]) -> str:
    """Return the word behind ``palimpsest``."""
    return str(operation.model_fields["type"].default)


def arguments_of(operation: type[RecordingOperation]) -> dict[str, tuple[FieldInfo, Argument]]:
    """Return the fields that are written, those of the operation before those of all."""
    fields = operation.model_fields.items()
    own_first = sorted(fields, key=lambda one: one[0] in ReadRecordings.model_fields)
    marked = ((name, field, mark) for name, field in own_first for mark in field.metadata)
    return {name: (field, mark) for name, field, mark in marked if isinstance(mark, Argument)}


def _add_output(command: ArgumentParser, *, has_rows: bool) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON (docs/command-line.md)")
    if has_rows:
        form.add_argument(
            "--markdown", action="store_true", help="write Markdown, for a pull request"
        )
        command.add_argument(
            "--fail-if", metavar="CONDITION", action="append", help="end with 1 where it holds"
        )
        command.add_argument("--baseline", metavar="FILE.json", help="an earlier report, by --json")


def asked_operation(given: Namespace) -> RecordingOperation:
    """Return the operation that the arguments are; raises UserError."""
    operation: type[RecordingOperation] = given.operation
    return operation.of(**{name: getattr(given, name) for name in arguments_of(operation)})


def run_command(given: Namespace) -> int:
    """Carry out the operation and write its report; returns the exit code. Raises UserError."""
    from palimpsest.frontends.command_line.condition import read_condition
    from palimpsest.frontends.command_line.threshold import failed, read_baseline

    conditions = [read_condition(one) for one in getattr(given, "fail_if", None) or ()]
    named = getattr(given, "baseline", None)
    if named and not conditions:
        raise UserError("--baseline is for a condition; give --fail-if as well.")
    baseline = read_baseline(Path(named)) if named else None
    report = asked_operation(given).answer()
    over = failed(conditions, report.json(), baseline) if conditions else []
    form: OutputForm = "markdown" if getattr(given, "markdown", False) else "text"
    terminal.write(f"{report.written('json' if given.json else form)}\n")
    tell(one.sentence for one in report.problems)
    tell(over)
    return FAILED if over else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and never raises."""
    given = parser().parse_args(arguments)
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
