"""What stands behind ``palimpsest`` is read as the value of an operation of the table, by the one handler that others ask.

``--help`` is made of the list of modules, and a command of its own module.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frontends.command_line.command_line import PACKAGE
from tests.sample_size import thinned

from palimpsest.frontends import operations
from palimpsest.frontends.command_line.main import build_parser, main, requested_operation
from palimpsest.frontends.operation_base.operation import Argument, Operation
from palimpsest.frontends.operation_base.operation_modules import MODULES, OperationModule
from palimpsest.frontends.operation_table import TABLE, OperationIndex
from palimpsest.frontends.operations.notes import ListNotes
from palimpsest.frontends.operations.recordings import CompareRecordings, ShowFigures, WriteReport
from palimpsest.frontends.operations.sharing import Import
from palimpsest.frontends.page_channel.channel import _validated_command
from palimpsest.transcript.errors import UserError

NO_TEXT = "a\udce9.jsonl"
"""A name of a file whose bytes are no UTF-8, as Python hands it over."""


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("import a --project b", Import(path="a")),
        (f"import {NO_TEXT} --json", Import(path=NO_TEXT)),
        (f"inspect {NO_TEXT}", ShowFigures(path=NO_TEXT)),
        ("inspect a --session 2", ShowFigures(path="a", session="2")),
        (
            f"inspect a --price units --price {NO_TEXT} --lifetime 1h",
            ShowFigures(path="a", price=("units", NO_TEXT), lifetime="1h"),
        ),
        ("inspect a --fail-if cost>1 --baseline b", ShowFigures(path="a")),
        ("compare a b", CompareRecordings(path=("a", "b"))),
        (
            "compare a --policy raw recorded --policy all --window 9 --summary stub(9)",
            CompareRecordings(
                path=("a",), policy=(("raw", "recorded"), ("all",)), window=9, summary="stub(9)"
            ),
        ),
        (
            f"notes {NO_TEXT} --add x --item 3 --request 2 --verdict bad --tag t --author Ann",
            ListNotes(
                path=NO_TEXT, add="x", item="3", request=2, verdict="bad", tag="t", author="Ann"
            ),
        ),
        ("notes a --add x --break 4", ListNotes(path="a", add="x", cache_break=4)),
        ("notes a --change b --range 3-9", ListNotes(path="a", change="b", range="3-9")),
        (f"notes a --merge {NO_TEXT}", ListNotes(path="a", merge=NO_TEXT)),
        (
            f"report a -o {NO_TEXT} --texts none --policy raw",
            WriteReport(path="a", file=NO_TEXT, texts="none", policy=(("raw",),)),
        ),
    ],
)
def test_a_line_is_an_operation(line: str, operation: Operation) -> None:
    assert requested_operation(build_parser().parse_args(line.split())) == operation


COMMANDS = {name: words for module in MODULES for name, words in module.commands.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_argument_of_a_command_has_a_help(name: str) -> None:
    form, operation = TABLE.command(name)
    fields = {taken: operation.model_fields[taken] for taken in form.fields}
    given = {
        taken: mark
        for taken, field in fields.items()
        for mark in field.metadata
        if isinstance(mark, Argument)
    }

    assert set(fields) == set(given) == set(operation.model_fields) - {"id", "type"}
    assert all(field.description or given[taken].options["help"] for taken, field in fields.items())


@pytest.mark.parametrize("listed", MODULES, ids=lambda one: one.name)
def test_the_list_of_modules_says_what_each_brings(listed: OperationModule) -> None:
    found = OperationIndex.of_modules([listed])

    assert listed.types.split() == [*found.by_type]
    assert [*listed.commands] == [*found.terminal_forms]


def test_every_module_is_listed() -> None:
    room = Path(operations.__file__).parent
    files = {path.stem for path in room.glob("*.py")} - {
        "__init__",
        "argument_completion",
        "grammar",
        "operation",
    }

    assert files == {module.name for module in MODULES}


def test_what_has_two_interfaces_has_one_handler() -> None:
    cell, terminal = TABLE.forms["import"][1], TABLE.command("import")[1]

    assert cell is terminal is TABLE.operation_type("import")


ONE_ALONE = """
import sys
{statement}
room = "palimpsest.frontends.operations."
print(*sorted(name.removeprefix(room) for name in sys.modules if name.startswith(room)), *sys.modules.keys() & {{"pydantic"}})
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "modules"),
    thinned(
        [
            (
                "from palimpsest.frontends.command_line.main import build_parser; build_parser('-')",
                "",
            ),
            (
                "from palimpsest.frontends.command_line.main import build_parser; build_parser('inspect')",
                "recordings pydantic",
            ),
            (
                "from palimpsest.frontends.operation_table import TABLE; TABLE.operation_type('revert')",
                "reverts pydantic",
            ),
        ],
        3,
    ),
)
def test_one_operation_is_found_without_the_modules_of_the_others(
    statement: str, modules: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ONE_ALONE.format(statement=statement)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=True,
    )

    assert ran.stdout.split() == modules.split()


@pytest.mark.parametrize("kind", ["figures", "compare", "report"])
def test_no_page_asks_what_reads_or_writes_any_file(kind: str) -> None:
    with pytest.raises(UserError, match=f"Unknown command '{kind}'"):
        _validated_command({"id": "1", "type": kind, "path": "a", "file": "b"})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", 2),
        ("--help", 0),
        ("--version", 0),
        ("inspekt a", 2),
        ("-- inspect none", 2),
        ("--json inspect none", 2),
        ("inspect", 2),
        ("inspect none --project .", 2),
        ("import none --fail-if a>1", 2),
        ("report none", 2),
        ("import none --project ~nobody-of-this-name", 2),
        ("inspect ~nobody-of-this-name/a.jsonl", 2),
        ("inspect none --price ~nobody-of-this-name/prices.json", 2),
        ("compare none --help", 0),
    ],
)
def test_the_arguments_of_the_command_that_is_asked_for_are_the_whole_grammar(
    line: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()
    try:
        ended: object = main(words)
    except SystemExit as left:
        ended = left.code

    output = capsys.readouterr()
    assert ended == code
    assert bool(output.out) == (code == 0)
    assert bool(output.err) == (code != 0)
