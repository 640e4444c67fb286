"""The entry point of ``palimpsest``: parse the command line, run the operation, return its exit code.

The parser is built from the list of operations and from the fields of the requested one: ``--help`` imports none.
"""

import atexit
import os
import sys
import threading
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from palimpsest import __version__
from palimpsest.frontends import terminal
from palimpsest.frontends.operation_base.operation_modules import MODULES
from palimpsest.paused_collection import collection_paused

if TYPE_CHECKING:
    from palimpsest.frontends.operation_base.operation import Form, Operation
    from palimpsest.frontends.operation_text.command_report import OutputForm

CONDITION_HOLDS, BAD_INPUT, INTERRUPTED = 1, 2, 130
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
CONDITION_HELP = """a condition is made of columns (the keys of --json), numbers, + - * /, comparisons, and, or, not;
baseline is what the column of its comparison has in the first row, or in the report that --baseline names.
The first row of several is not judged itself, unless --baseline names a report."""


class TerminalParser(ArgumentParser):
    """A parser whose help and errors, which quote the input, are written without control characters."""

    def _print_message(self, message: str, file: Any = None) -> None:
        (terminal.write if file is sys.stdout else terminal.write_error)(message.rstrip("\n"))


def build_parser(command_name: str = "") -> ArgumentParser:
    """Return the parser of the command line: with the arguments of one command, or of all."""
    commands = dict(command for module in MODULES for command in module.commands.items())
    parser = TerminalParser(
        prog="palimpsest",
        description="Look at recorded sessions of any agent: no kernel, no key, no network.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="|".join(commands))
    for name, help_text in commands.items():
        subparser = subparsers.add_parser(
            name, help=help_text, description=help_text, formatter_class=RawDescriptionHelpFormatter
        )
        if name == (command_name or name):
            _add_arguments(subparser, name)
    return parser


def _add_arguments(parser: ArgumentParser, name: str) -> None:
    from palimpsest.frontends.operation_base.operation import Argument
    from palimpsest.frontends.operation_table import TABLE

    form, operation = TABLE.command(name)
    for field_name in form.fields:
        field = operation.model_fields[field_name]
        argument = next(value for value in field.metadata if isinstance(value, Argument))
        default = None if field.is_required() else field.default
        options = {"default": default, "help": field.description, **argument.options}
        flags = (field_name,) if field.is_required() else (f"--{field_name}",)
        parser.add_argument(*(argument.flags or flags), **options)
    if form.in_project:
        parser.add_argument(
            "--project", metavar="DIR", help="the project's folder; else this one's"
        )
    output_options = parser.add_mutually_exclusive_group()
    output_options.add_argument(
        "--json", action="store_true", help="write JSON (docs/command-line.md)"
    )
    if form.has_rows:
        parser.epilog = CONDITION_HELP
        output_options.add_argument(
            "--markdown", action="store_true", help="write Markdown, for a pull request"
        )
        parser.add_argument(
            "--fail-if", metavar="CONDITION", action="append", help="end with 1 where it holds"
        )
        parser.add_argument("--baseline", metavar="FILE.json", help="an earlier report, by --json")
    parser.set_defaults(form=form, operation=operation)


def requested_operation(arguments: Namespace) -> "Operation":
    """Return the operation for the parsed arguments; raises UserError."""
    form: Form = arguments.form
    operation: type[Operation] = arguments.operation
    return operation.with_arguments(**{name: getattr(arguments, name) for name in form.fields})


def run_command(arguments: Namespace) -> int:
    """Run the operation, write its report and return the exit code; raises UserError."""
    from palimpsest.frontends.command_line.terminal_context import terminal_context

    check_conditions = condition_checker(arguments)
    operation = requested_operation(arguments)
    with terminal_context(arguments) as context:
        report = operation.report(operation.run_synchronously(context))
    failures = check_conditions(report.json())
    form: OutputForm = "markdown" if getattr(arguments, "markdown", False) else "text"
    terminal.write(f"{report.as_text('json' if arguments.json else form)}\n")
    write_sentences(problem.sentence for problem in report.problems)
    write_sentences(failures)
    return CONDITION_HOLDS if failures else 0


def condition_checker(arguments: Namespace) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    """Return a function that returns a sentence for each condition that holds for a report; raises UserError."""
    condition_texts = getattr(arguments, "fail_if", None) or ()
    baseline_file = getattr(arguments, "baseline", None)
    if not condition_texts:
        if baseline_file:
            from palimpsest.transcript.errors import UserError

            raise UserError("--baseline is for a condition; give --fail-if as well.")
        return lambda _report: ()
    from palimpsest.frontends.command_line.condition import parse_condition
    from palimpsest.frontends.command_line.threshold import failed_conditions, read_baseline

    conditions = [parse_condition(text) for text in condition_texts]
    baseline = read_baseline(Path(baseline_file)) if baseline_file else None
    return lambda report: failed_conditions(conditions, report, baseline)


def write_sentences(sentences: Iterable[str]) -> None:
    """Write sentences to standard error, each on a line."""
    for sentence in sentences:
        terminal.write_error(f"palimpsest: {sentence}")


# What a command imports and makes stays until its end: a collection would find nothing, again and again.
@collection_paused()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and never raises."""
    # Plugins of pydantic watch validation; looking for one reads the metadata of all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    words = sys.argv[1:] if arguments is None else arguments
    command_name = next((word for word in words if not word.startswith("-")), "-")
    parsed_arguments = build_parser(command_name).parse_args(words)
    from palimpsest.transcript.errors import PalimpsestError

    try:
        return run_command(parsed_arguments)
    except PalimpsestError as error:
        write_sentences([str(error)])
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does; Python must not fail to flush it at exit either.
        sys.stdout = None
        return 0
    except OSError as error:
        file_name = error.filename or "A file"
        write_sentences([f"{file_name} cannot be used: {error.strerror or error}."])
    except KeyboardInterrupt:
        write_sentences(["Stopped; what was imported stays."])
        return INTERRUPTED
    except (IndexError, ValueError, RecursionError, MemoryError) as error:
        write_sentences([f"It cannot be read: {type(error).__name__}."])
    return BAD_INPUT


def main_and_exit() -> NoReturn:
    """Run the command line, and end the process with its exit code."""
    end_process(main())


def end_process(status: int) -> NoReturn:
    """End the process with an exit code, but without freeing each object first, a tenth of a command's time.

    Exit handlers run, and all output is written. While other threads run, Python waits for them and ends as usual.
    """
    if threading.active_count() == 1:
        atexit._run_exitfuncs()  # noqa: SLF001 - what Python itself calls here
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            sys.exit(status)  # Python says what could not be written
        os._exit(status)
    sys.exit(status)
