"""Correct or explain the failed cell that a prompt mentions as ``@error``.

Two mistakes are known: a wrong column and a missing import. The engine's note about the cell is data; none of it is
run, and a corrected cell is offered only where it parses.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from palimpsest.rehearsal.error_questions import cell_repairs
from palimpsest.rehearsal.error_questions.error_report import (
    ErrorReport,
    ReportedVariable,
    read_error_report,
)
from palimpsest.rehearsal.parsing.cell_source import CellSource, is_python_cell
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tables import parse_description
from palimpsest.rehearsal.parsing.tool_outputs import code_block, inline_code, python_literal
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanRunner, Steps

MEANING_BY_EXCEPTION = {
    "KeyError": "a key or a column was asked for that is not there",
    "AttributeError": "an attribute or a method was asked for that the object does not have",
    "NameError": "a name was used that is not defined, because it is misspelt, not imported, or its cell has not run",
    "FileNotFoundError": "a file or folder was asked for that is not there",
    "TypeError": "a value has a type that does not fit what is done with it",
    "ValueError": "a value has the right type, but its content does not fit",
    "IndexError": "a position was asked for that lies outside",
    "ZeroDivisionError": "a number was divided by zero",
    "ModuleNotFoundError": "a module was imported that is not installed under this name",
    "SyntaxError": "the text is no valid Python",
}
"""The meaning of exceptions, in plain words."""
KNOWN_MISTAKES = "a wrong column and a missing import"
MIN_COLUMN_SIMILARITY = 0.6
MAX_LISTED_COLUMNS = 20
MAX_LINE_CHARS = 120
_FIX = r"\b(?:fix|mend|repair|correct|solve|debug|patch)\b"
_NO_FIX = r"\b(?:explain|do(?:n't| not) (?:fix|mend|repair|correct|change))\b"
_NOT_DEFINED = re.compile(r"name '(\w+)' is not defined")
_MISSING_COLUMNS = re.compile(r"\['([^'\]]*)'(, [^\]]*)?\]")
"""Missing columns in some messages of pandas, such as ``['mass'] not in index``."""


@dataclass(frozen=True)
class Finding:
    """A cell's mistake, and the cell's corrected source; empty without a correction."""

    description: str
    corrected_source: str = ""


FindingSteps = Steps[Finding | None]


def error_request(prompt: ParsedPrompt) -> str:
    """Return ``fix`` or ``explain`` for a prompt about ``@error``, else an empty text."""
    if "error" not in {name.casefold() for name in prompt.mentions}:
        return ""
    return "fix" if prompt.matches(_FIX) and not prompt.matches(_NO_FIX) else "explain"


def error_plan(runner: PlanRunner, *, corrects: bool) -> Plan:
    """Return the plan that explains the mistake, or with ``corrects`` gives the whole corrected cell where it can."""
    report = read_error_report(_error_note(runner))
    if report is None:
        return PlanAnswer(
            "I see no failed cell: with this prompt came no error. Run the cell again, then ask once more.",
            "The request tells of no error.",
        )
    if not report.exception:
        return PlanAnswer(
            f"I see {report.where}, but I could not read which error it raised, so I give no code.",
            "The traceback names no exception that I can read.",
        )
    finding = None if _obstacle_to_repair(report) else (yield from _find_mistake(runner, report))
    thought = f"The error is {report.exception}, in {report.where}."
    return PlanAnswer(
        _repair_text(report, finding) if corrects else _explanation_text(report, finding), thought
    )


def _error_note(runner: PlanRunner) -> str:
    """Return the engine's note about the failed cell; for a repeated prompt it is in an earlier turn."""
    turns = runner.conversation.turns
    if turns and turns[-1].error_note:
        return turns[-1].error_note
    same_prompt_notes = [turn.error_note for turn in turns if turn.prompt == runner.prompt.text]
    return same_prompt_notes[-1] if same_prompt_notes else ""


def _obstacle_to_repair(report: ErrorReport) -> str:
    """Return why the source cannot be corrected for any kind of error; empty where it can."""
    if report.failing_cell:
        return (
            f"The error was raised by code of cell {report.failing_cell}, whose source I do not see"
        )
    if not is_python_cell(report.source):
        return "The cell is not in Python"
    if report.is_cut:
        return "The cell is too long: its middle was left out here"
    if report.is_redacted:
        return "The cell holds a secret that is hidden from me"
    return ""


def _find_mistake(runner: PlanRunner, report: ErrorReport) -> FindingSteps:
    cell = CellSource(report.source)
    finder = FINDER_BY_EXCEPTION.get(report.exception)
    if finder is None or cell.tree is None:
        return None
    return (yield from finder(runner, report, cell, cell.statement_lines(report.line_number)))


def _column_mistake(
    runner: PlanRunner, report: ErrorReport, cell: CellSource, lines: range
) -> FindingSteps:
    message = python_literal(report.message)
    if not isinstance(message, str):
        return None
    missing_columns = _MISSING_COLUMNS.search(message)
    if missing_columns and missing_columns[2]:
        return Finding(f"more than one column is missing: {inline_code(message)}")
    wrong_name = (
        missing_columns[1] if missing_columns else message.removeprefix("Column not found: ")
    )
    table_name = cell_repairs.column_owner(cell, lines, wrong_name)
    tables = [variable for variable in report.variables if variable.name == table_name]
    tables = tables[:1] or [variable for variable in report.variables if variable.is_table]
    if len(tables) != 1 or not tables[0].kind:
        return Finding(f"{inline_code(wrong_name)} is missing, and I cannot tell of which table")
    table = tables[0]
    if not table.is_table:
        return Finding(
            f"{inline_code(wrong_name)} is not in {inline_code(table.name)}, which is a {inline_code(table.kind)}"
        )
    columns = yield from _column_names(runner, table)
    closest_columns = _closest_names(wrong_name, columns)
    if len(closest_columns) != 1:
        return Finding(_no_match_text(wrong_name, table.name, columns, closest_columns))
    description = f"{inline_code(wrong_name)} is no column of {inline_code(table.name)}; the closest of its {len(columns)} columns is {inline_code(closest_columns[0])}"
    corrected_source = cell_repairs.replace_column(
        cell, lines, wrong_name, closest_columns[0], table_name
    )
    if corrected_source is None:
        return Finding(f"{description}. I could not find in the source where the name is read")
    return Finding(description, corrected_source)


def _column_names(runner: PlanRunner, table: ReportedVariable) -> Steps[tuple[str, ...]]:
    """Return a table's columns, as reported, or from the variables tool where the report is cut."""
    if table.names_all_columns or "variables" not in runner.tools:
        return table.columns
    thought = f"Not all columns of {table.name} are listed, so I look at them."
    result = yield runner.planned_call(thought, "variables", name=table.name)
    described = tuple(column.label for column in parse_description(result.text))
    return described or table.columns


def _no_match_text(
    wrong_name: str, table_name: str, columns: tuple[str, ...], closest_columns: list[str]
) -> str:
    if closest_columns:
        columns_text = " and ".join(inline_code(column) for column in closest_columns)
        return f"{inline_code(wrong_name)} is no column of {inline_code(table_name)}, and {columns_text} are equally close"
    listed_columns = ", ".join(inline_code(column) for column in columns[:MAX_LISTED_COLUMNS])
    more_text = (
        f" and {len(columns) - MAX_LISTED_COLUMNS} more"
        if len(columns) > MAX_LISTED_COLUMNS
        else ""
    )
    return f"{inline_code(wrong_name)} is no column of {inline_code(table_name)}, and none has a name like it. I see {listed_columns}{more_text}"


def _closest_names(wrong_name: str, choices: Iterable[str]) -> list[str]:
    """Return the name closest to a wrong one; several where they are equally close."""
    scores: dict[str, float] = {}
    for choice in choices:
        score = difflib.SequenceMatcher(
            None, _joined_letters(choice), _joined_letters(wrong_name)
        ).ratio()
        if choice != wrong_name and score >= MIN_COLUMN_SIMILARITY:
            scores[choice] = round(score + (0.01 if choice[:1] == wrong_name[:1] else 0.0), 6)
    best_score = max(scores.values(), default=0.0)
    return [choice for choice, score in scores.items() if score == best_score]


def _joined_letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold()) or name


def _import_mistake(
    _: PlanRunner, report: ErrorReport, cell: CellSource, __: range
) -> FindingSteps:
    yield from ()
    match = _NOT_DEFINED.search(report.message)
    if match is None:
        return None
    line = cell_repairs.import_line(cell, match[1])
    if not line:
        return Finding(f"{inline_code(match[1])} is not defined")
    description = f"{inline_code(match[1])} is not imported; {inline_code(line)} is missing"
    return Finding(description, cell_repairs.with_import(cell, line))


FINDER_BY_EXCEPTION: dict[
    str, Callable[[PlanRunner, ErrorReport, CellSource, range], FindingSteps]
] = {
    "KeyError": _column_mistake,
    "NameError": _import_mistake,
}


def _repair_text(report: ErrorReport, finding: Finding | None) -> str:
    summary = f"{inline_code(report.summary_line)} in {report.where}{_quoted_line(report)}."
    if obstacle := _obstacle_to_repair(report):
        return f"{summary} {obstacle}, so I give no corrected cell."
    if finding is None:
        return f"{summary} No rule of mine mends this, so I give no corrected cell. I know {KNOWN_MISTAKES}."
    place_text = f"{report.where[0].upper()}{report.where[1:]}"
    line = _quoted_line(report)
    sentence = f"{place_text}{f'{line},' if line else ''} raised {inline_code(report.summary_line)}: {finding.description}."
    if not finding.corrected_source or CellSource(finding.corrected_source).tree is None:
        return f"{sentence} I give no corrected cell, as it would be a guess."
    note = " I read `&lt;` before the name of a tag as `<`." if report.was_escaped else ""
    code = code_block(finding.corrected_source, "python")
    return f"{sentence} I have not run the corrected cell.{note}\n\n{code}"


def _explanation_text(report: ErrorReport, finding: Finding | None) -> str:
    meaning = MEANING_BY_EXCEPTION.get(report.exception)
    meaning_sentence = (
        f"It means that {meaning}" if meaning else "I have no plain words for this exception"
    )
    finding_text = _obstacle_to_repair(report) or (finding.description if finding else "")
    parts = [
        f"{inline_code(report.summary_line)} was raised in {report.where}{_quoted_line(report)}",
        meaning_sentence,
    ]
    return " ".join(f"{part}." for part in (*parts, finding_text, "I changed nothing") if part)


def _quoted_line(report: ErrorReport) -> str:
    line = report.line_text
    return (
        f", {inline_code(line if len(line) <= MAX_LINE_CHARS else f'{line[: MAX_LINE_CHARS - 3]}...')}"
        if line
        else ""
    )
