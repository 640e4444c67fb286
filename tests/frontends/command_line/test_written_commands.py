"""What stands behind ``palimpsest`` is read as an operation's value, and the parser has nothing beside its fields."""

import pytest

from palimpsest.frontends.command_line.commands import (
    OPERATIONS,
    CompareRecordings,
    ImportRecordings,
    InspectRecordings,
    RecordingOperation,
    ReportRecording,
)
from palimpsest.frontends.command_line.main import asked_operation, parser

NO_TEXT = "a\udce9.jsonl"
"""A name of a file whose bytes are no UTF-8, as Python hands it over."""


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("import a --project b", ImportRecordings(path="a", project="b")),
        ("import a --json", ImportRecordings(path="a")),
        (f"inspect {NO_TEXT}", InspectRecordings(path=NO_TEXT)),
        ("inspect a --session 2", InspectRecordings(path="a", session="2")),
        (
            f"inspect a --price units --price {NO_TEXT} --lifetime 1h",
            InspectRecordings(path="a", price=("units", NO_TEXT), lifetime="1h"),
        ),
        ("inspect a --fail-if cost>1 --baseline b", InspectRecordings(path="a")),
        ("compare a b", CompareRecordings(path=("a", "b"))),
        (
            "compare a --policy raw recorded --policy all --window 9 --summary stub(9)",
            CompareRecordings(
                path=("a",), policy=(("raw", "recorded"), ("all",)), window=9, summary="stub(9)"
            ),
        ),
        (
            f"report a -o {NO_TEXT} --texts none --policy raw",
            ReportRecording(path="a", file=NO_TEXT, texts="none", policy=(("raw",),)),
        ),
    ],
)
def test_a_line_is_an_operation(line: str, operation: RecordingOperation) -> None:
    assert asked_operation(parser().parse_args(line.split())) == operation


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_field_that_is_written_has_a_help(operation: type[RecordingOperation]) -> None:
    written = {
        name: field.description
        for name, field in operation.model_fields.items()
        if name not in ("id", "type")
    }

    assert all(written.values()), written
