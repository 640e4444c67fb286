"""The entry point of ``palimpsest``: parse the command line, carry out the operation, end with its exit code.

The parser is made of the list of operations, and of the fields of the one that is asked for: ``--help`` imports none.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest import __version__
from palimpsest.frontends import terminal
from palimpsest.frontends.operations.modules import MODULES

if TYPE_CHECKING:
    from palimpsest.frontends.operation_text.command_report import OutputForm
    from palimpsest.frontends.operations.operation import Form, Operation

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


def parser(asked: str = "") -> ArgumentParser:
    """Return the parser of the command line: with the arguments of the command that is asked for, or of all."""
    commands = {name: words for one in MODULES for name, words in one.commands.items()}
    made = TerminalParser(
        prog="palimpsest",
        description="Look at recorded sessions of any agent: no kernel, no key, no network.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    behind = made.add_subparsers(dest="command", required=True, metavar="|".join(commands))
    for name, words in commands.items():
        command = behind.add_parser(
            name, help=words, description=words, formatter_class=RawDescriptionHelpFormatter
        )
        if name == (asked or name):
            _add_arguments(command, name)
    return made


def _add_arguments(command: ArgumentParser, name: str) -> None:
    from palimpsest.frontends.operation_table import TABLE
    from palimpsest.frontends.operations.operation import Argument

    form, operation = TABLE.command(name)
    for taken in form.takes:
        field = operation.model_fields[taken]
        argument = next(one for one in field.metadata if isinstance(one, Argument))
        default = None if field.is_required() else field.default
        options = {"default": default, "help": field.description, **argument.options}
        flags = (taken,) if field.is_required() else (f"--{taken}",)
        command.add_argument(*(argument.flags or flags), **options)
    if form.in_project:
        command.add_argument(
            "--project", metavar="DIR", help="the project's folder; else this one's"
        )
    output = command.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="write JSON (docs/command-line.md)")
    if form.has_rows:
        command.epilog = CONDITION
        output.add_argument(
            "--markdown", action="store_true", help="write Markdown, for a pull request"
        )
        command.add_argument(
            "--fail-if", metavar="CONDITION", action="append", help="end with 1 where it holds"
        )
        command.add_argument("--baseline", metavar="FILE.json", help="an earlier report, by --json")
    command.set_defaults(form=form, operation=operation)


def asked_operation(given: Namespace) -> "Operation":
    """Return the operation that the arguments are; raises UserError."""
    form: Form = given.form
    operation: type[Operation] = given.operation
    return operation.of(**{name: getattr(given, name) for name in form.takes})


def run_command(given: Namespace) -> int:
    """Carry out the operation and write its report; returns the exit code. Raises UserError."""
    from palimpsest.frontends.command_line.condition import read_condition
    from palimpsest.frontends.command_line.terminal_desk import terminal_desk
    from palimpsest.frontends.command_line.threshold import failed, read_baseline
    from palimpsest.transcript.errors import UserError

    conditions = [read_condition(one) for one in getattr(given, "fail_if", None) or ()]
    named = getattr(given, "baseline", None)
    if named and not conditions:
        raise UserError("--baseline is for a condition; give --fail-if as well.")
    baseline = read_baseline(Path(named)) if named else None
    operation = asked_operation(given)
    with terminal_desk(given) as desk:
        report = operation.report(operation.done_at_once(desk))
    over = failed(conditions, report.json(), baseline) if conditions else []
    form: OutputForm = "markdown" if getattr(given, "markdown", False) else "text"
    terminal.write(f"{report.written('json' if given.json else form)}\n")
    tell(one.sentence for one in report.problems)
    tell(over)
    return FAILED if over else 0


def tell(sentences: Iterable[str]) -> None:
    """Write sentences to standard error, one a line."""
    for one in sentences:
        terminal.write_error(f"palimpsest: {one}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and never raises."""
    words = sys.argv[1:] if arguments is None else arguments
    asked = next((one for one in words if not one.startswith("-")), "-")
    given = parser(asked).parse_args(words)
    from palimpsest.transcript.errors import PalimpsestError

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
