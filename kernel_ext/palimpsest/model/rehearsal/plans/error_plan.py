"""Mend or explain the failed cell that a prompt means by ``@error``.

Five mistakes are known: a wrong column, a missing import, a wrong name, a missing file, types that do not
fit. What is told of the cell is data; none of it is run, and a cell is offered only where it parses.
"""

import ast
import builtins
import difflib
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.rehearsal.generation.cell_repairs import (
    bound_names,
    column_owner,
    import_line,
    path_places,
    replace_column,
    replace_name,
    replace_path,
    with_import,
    writes_file,
)
from palimpsest.model.rehearsal.generation.type_repairs import mend_types
from palimpsest.model.rehearsal.parsing.cell_source import CellSource, is_python_cell
from palimpsest.model.rehearsal.parsing.error_report import (
    REDACTED,
    ErrorReport,
    ToldVariable,
    read_error_report,
)
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.tables import Variable, parse_description
from palimpsest.model.rehearsal.parsing.tool_outputs import fenced, literal, quoted, span
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner, Steps
from palimpsest.model.rehearsal.plans.table_search import list_variables

MEANINGS = {
    "KeyError": "a key or a column was asked for that is not there",
    "AttributeError": "an attribute or a method was asked for that the object does not have",
    "NameError": "a name was used that is not defined, because it is misspelt, not imported, or its cell has not run",
    "UnboundLocalError": "a function read a name of its own before it had a value",
    "FileNotFoundError": "a file or folder was asked for that is not there",
    "TypeError": "a value has a type that does not fit what is done with it",
    "ValueError": "a value has the right type, but its content does not fit",
    "IndexError": "a position was asked for that lies outside",
    "ZeroDivisionError": "a number was divided by zero",
    "ModuleNotFoundError": "a module was imported that is not installed under this name",
    "ImportError": "a name was imported that the module does not have",
    "SyntaxError": "the text is no valid Python",
    "IndentationError": "lines are indented in a way that does not fit",
    "AssertionError": "an `assert` did not hold",
    "RecursionError": "a function called itself too many times",
    "MemoryError": "there was not enough memory",
    "KeyboardInterrupt": "the cell was stopped",
    "PermissionError": "the file may not be opened in this way",
}
"""What exceptions say, in plain words."""
KNOWN = (
    "a wrong column, a missing import, a misspelt name, a missing file, and types that do not fit"
)
COLUMN_CUTOFF = 0.6
NAME_CUTOFF = 0.7
PATH_CUTOFF = 0.6
SHORTEST_NAME = 3
"""A shorter name is close to too many others."""
MOST_LISTED = 20
_FIX = r"\b(?:fix|mend|repair|correct|solve|debug|patch)\b"
_LEFT = r"\b(?:explain|do(?:n't| not) (?:fix|mend|repair|correct|change))\b"
_NO_ATTRIBUTE = lazy_pattern(r"'(?:DataFrame|DataFrameGroupBy)' object has no attribute '(\w+)'")
_LISTED_KEYS = lazy_pattern(
    r"(?:None of (?:\[Index\()?|Label\(s\) )?(\[.*?\])(?:, dtype=.*| not (?:in index|found in axis)| are in the .*| do not exist)\Z",
    re.DOTALL,
)
"""How pandas names several columns that are missing."""
_NOT_DEFINED = lazy_pattern(r"name '(\w+)' is not defined")
_NOT_FOUND = (
    lazy_pattern(r"\[Errno 2\] No such file or directory: (.+)\Z", re.DOTALL),
    lazy_pattern(r"\[Errno 2\] File (?:b)?('.+'|\".+\") does not exist"),
    lazy_pattern(r"(.+) not found\.\Z"),
)


@dataclass(frozen=True)
class Finding:
    """What is wrong with a cell, and the mended source where there is one."""

    what: str
    mended: str = ""
    line: str = ""
    """The line that mends a cell of which not all is told."""


Search = Steps[Finding | None]


def error_intent(prompt: ParsedPrompt) -> str:
    """Return ``fix`` or ``explain`` for a prompt about ``@error``, else nothing."""
    if "error" not in {name.casefold() for name in prompt.mentions}:
        return ""
    return "fix" if prompt.matches(_FIX) and not prompt.matches(_LEFT) else "explain"


def error_plan(runner: PlanRunner, *, mends: bool) -> Plan:
    """Say what was wrong; to mend, give the whole corrected cell too."""
    report = read_error_report(_note(runner))
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
    finding = None if _why_not(report) else (yield from _find(runner, report))
    thought = f"The error is {report.exception}, in {report.where}."
    return PlanAnswer(_fixed(report, finding) if mends else _explained(report, finding), thought)


def _note(runner: PlanRunner) -> str:
    """Return the note of this prompt; a prompt that is taken up again has it in an earlier turn."""
    turns = runner.conversation.turns
    if turns and turns[-1].error_note:
        return turns[-1].error_note
    same = [turn.error_note for turn in turns if turn.prompt == runner.prompt.text]
    return same[-1] if same else ""


def _why_not(report: ErrorReport) -> str:
    """Return why the source cannot be mended, whatever the error is."""
    if report.elsewhere:
        return f"The error was raised by code of cell {report.elsewhere}, whose source is not told here"
    if not is_python_cell(report.source):
        return "The cell is not in Python"
    return ""


def _find(runner: PlanRunner, report: ErrorReport) -> Search:
    """Look for what is wrong in the failing statement, of a source that is cut only in its line."""
    cell = CellSource(report.line_text if report.is_cut else report.source)
    finder = FINDERS.get(report.exception)
    if finder is None or cell.tree is None:
        return None
    return (
        yield from finder(runner, report, cell, cell.region(1 if report.is_cut else report.line))
    )


def _column(runner: PlanRunner, report: ErrorReport, cell: CellSource, lines: range) -> Search:
    attribute = _NO_ATTRIBUTE.match(report.message)
    wrong = [attribute[1]] if attribute else _missing_keys(report)
    if not wrong:
        return None
    owner = column_owner(cell, lines, wrong[0])
    tables = [one for one in report.variables if one.name == owner]
    tables = tables[:1] or [one for one in report.variables if one.is_table]
    if len(tables) > 1:
        names = ", ".join(span(one.name) for one in tables)
        return Finding(f"{span(wrong[0])} is missing, and I cannot tell of which table: {names}")
    if not tables or not tables[0].kind:
        return None
    table = tables[0]
    if not table.is_table:
        what = f"{span(table.name)}, which is a {span(table.kind)}"
        return Finding(f"{span(wrong[0])} is not in {what}")
    columns = yield from _columns(runner, table)
    if not columns:
        return Finding(
            f"{span(wrong[0])} is no column of {span(table.name)}, and I could not see its columns"
        )
    text, rights = cell.text, []
    for name in wrong:
        close = _closest(name, columns, COLUMN_CUTOFF)
        if len(close) != 1:
            return Finding(_no_close(name, table.name, columns, close))
        now = CellSource(text)
        changed = replace_column(now, lines, name, close[0], None if attribute else owner)
        rights.append(
            f"{span(name)} is no column of {span(table.name)}; the closest of its {len(columns)} columns is {span(close[0])}"
        )
        if changed is None:
            return Finding(
                f"{'. '.join(rights)}. I could not find in the source where the name is read"
            )
        text = changed
    return Finding(". ".join(rights), text)


def _missing_keys(report: ErrorReport) -> list[str]:
    """Return the names that a KeyError says are missing."""
    if report.exception != "KeyError":
        return []
    said = literal(report.message)
    if not isinstance(said, str):
        return []
    listed = _LISTED_KEYS.match(said)
    if listed:
        keys = literal(listed[1])
        return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []
    named = re.fullmatch(r"Columns? not found: (.+)", said)
    if named:
        return [key.strip().strip("'\"") for key in named[1].split(", ")]
    return [said]


def _columns(runner: PlanRunner, table: ToldVariable) -> Steps[tuple[str, ...]]:
    """Return a table's columns, as told, or from the variables tool where not all are told."""
    if table.tells_all_columns or not runner.can("variables"):
        return table.columns
    thought = f"Not all columns of {table.name} are told, so I look at them."
    result = yield runner.act(thought, "variables", name=table.name)
    seen = tuple(one.label for one in parse_description(result.text))
    return seen or table.columns


def _no_close(wrong: str, table: str, columns: tuple[str, ...], close: list[str]) -> str:
    if close:
        both = " and ".join(span(one) for one in close)
        return f"{span(wrong)} is no column of {span(table)}, and {both} are equally close"
    listed = ", ".join(span(one) for one in columns[:MOST_LISTED])
    more = f" and {len(columns) - MOST_LISTED} more" if len(columns) > MOST_LISTED else ""
    return f"{span(wrong)} is no column of {span(table)}, and none has a name like it. I see {listed}{more}"


def _closest(wrong: str, choices: Iterable[str], cutoff: float) -> list[str]:
    """Return the name that is closest to a wrong one; several where they are equally close."""
    scores: dict[str, float] = {}
    for choice in choices:
        score = difflib.SequenceMatcher(None, _flat(choice), _flat(wrong)).ratio()
        if choice != wrong and score >= cutoff:
            scores[choice] = round(score + (0.01 if choice[:1] == wrong[:1] else 0.0), 6)
    best = max(scores.values(), default=0.0)
    return [choice for choice, score in scores.items() if score == best]


def _flat(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold()) or name


def _name(runner: PlanRunner, report: ErrorReport, cell: CellSource, lines: range) -> Search:
    found = _NOT_DEFINED.search(report.message)
    if found is None:
        return None
    name = found[1]
    line = import_line(cell, name)
    if line:
        return Finding(
            f"{span(name)} is not imported; {span(line)} is missing", with_import(cell, line), line
        )
    bound = bound_names(cell, report.line)
    if name in bound:
        return Finding(
            f"{span(name)} is used before it is defined, in line {bound[name]} of the same cell"
        )
    listed: tuple[Variable, ...] = ()
    if runner.can("variables"):
        listed = yield from list_variables(runner)
    names = [one for one, first in bound.items() if report.line is None or first <= report.line]
    names += [one.name for one in report.variables]
    own = dict.fromkeys([*names, *(one.name for one in listed)])
    if len(name) < SHORTEST_NAME:
        return Finding(f"{span(name)} is not defined, and so short a name is close to many others")
    close = _closest(name, own, NAME_CUTOFF)
    what = "variable or name of the cell"
    if not close:
        close = _closest(name, (one for one in dir(builtins) if one[0] != "_"), NAME_CUTOFF)
        what = "name of Python"
    if len(close) != 1:
        both = f", and {' and '.join(map(span, close))} are equally close" if close else ""
        return Finding(
            f"{span(name)} is not defined{both or ', and I see no name that is close to it'}"
        )
    mended = replace_name(cell, lines, name, close[0])
    return Finding(
        f"{span(name)} is not defined; the closest {what} is {span(close[0])}", mended or ""
    )


def _file(runner: PlanRunner, report: ErrorReport, cell: CellSource, lines: range) -> Search:
    path = _missing_path(report.message)
    if not path:
        return None
    if writes_file(cell, lines):
        folder = posixpath.dirname(path)
        why = f", since there is no folder {span(folder)}" if folder else ""
        return Finding(f"{span(path)} cannot be written{why}")
    if not path_places(cell, path):
        return Finding(
            f"there is no file {span(path)}, and the cell does not hold this path as a text"
        )
    files = yield from _files(runner, path)
    close = _close_paths(path, files)
    if len(close) != 1:
        listed = ", ".join(span(one) for one in close[:5])
        seen = f"; I see {listed}, and cannot tell which is meant" if close else ""
        return Finding(
            f"there is no file {span(path)}{seen or ', and I see none with a name like it'}"
        )
    near, absolute = _from_here(runner, close[0])
    mended = replace_path(cell, path, near, absolute)
    return Finding(f"there is no file {span(path)}; the project has {span(close[0])}", mended or "")


def _missing_path(message: str) -> str:
    for pattern in _NOT_FOUND:
        if found := pattern.match(message):
            said = literal(found[1].strip())
            return said if isinstance(said, str) else found[1].strip().strip("'\"")
    return ""


def _files(runner: PlanRunner, path: str) -> Steps[list[str]]:
    """Return files of the project that may be meant."""
    stem, ending = posixpath.splitext(posixpath.basename(path.replace("\\", "/")))
    if not runner.can("glob"):
        if not runner.can("list"):
            return []
        result = yield runner.act(f"There is no {path}, so I look which files there are.", "list")
        return _tree_paths(result.text)
    patterns = [f"**/*{ending}"] if re.fullmatch(r"\.\w+", ending) else []
    patterns += [f"**/{stem}.*"] if re.fullmatch(r"[\w-]+", stem) else []
    for pattern in patterns:
        thought = f"There is no {path}, so I look for a file with a name like it."
        result = yield runner.act(thought, "glob", pattern=pattern)
        if not result.failed and _close_paths(path, result.paths):
            return result.paths
    return []


def _tree_paths(text: str) -> list[str]:
    """Read the paths of files from an indented list."""
    found: list[str] = []
    folders: list[tuple[int, str]] = []
    for line in text.splitlines():
        name, depth = line.strip(), len(line) - len(line.lstrip())
        folders = [one for one in folders if one[0] < depth]
        if name.endswith("/"):
            folders.append((depth, name.strip("/")))
        elif name and not name.startswith("("):
            found.append("/".join([*(one for _, one in folders if one not in {"", "."}), name]))
    return found


def _close_paths(path: str, files: Iterable[str]) -> list[str]:
    """Return the files of the same name, else of the closest one."""
    files = list(dict.fromkeys(files))
    name = posixpath.basename(path.replace("\\", "/"))
    same = [one for one in files if posixpath.basename(one).casefold() == name.casefold()]
    if not same:
        by_name = [posixpath.basename(one) for one in files]
        close = _closest(name, by_name, PATH_CUTOFF)
        same = [one for one in files if posixpath.basename(one) in close]
    return same


def _from_here(runner: PlanRunner, path: str) -> tuple[str, str]:
    """Return a project's file relative to the working directory, and its absolute path, where known."""
    root = re.search(r"(?:Project root|Workspace root folder): (.+)", runner.conversation.system)
    here = re.search(r"Working directory: (.+)", runner.conversation.system)
    base = root[1].strip().rstrip("/") if root else ""
    if not base or not here:
        return path, ""
    absolute = f"{base}/{path}"
    return posixpath.relpath(absolute, here[1].strip()), absolute


def _types(_: PlanRunner, report: ErrorReport, cell: CellSource, lines: range) -> Search:
    yield from ()
    variables = {one.name: one for one in report.variables}
    repair = mend_types(cell, lines, report.message, variables)
    names = {node.id for node in cell.nodes(lines) if isinstance(node, ast.Name)}
    told = [
        f"{span(one.name)} is {'an' if one.kind[0].lower() in 'aeiou' else 'a'} {span(one.kind)}"
        for one in report.variables
        if one.name in names and one.kind
    ]
    facts = f" ({', '.join(told[:6])})" if told else ""
    if repair is None:
        return Finding(
            f"The types do not fit{facts}, and the line does not show for certain which one to convert"
        )
    changes = " and ".join(f"{span(new)} instead of {span(old)}" for old, new in repair.changes)
    return Finding(f"The types do not fit{facts}; {changes} makes them fit", repair.text)


FINDERS: dict[str, Callable[[PlanRunner, ErrorReport, CellSource, range], Search]] = {
    "KeyError": _column,
    "AttributeError": _column,
    "NameError": _name,
    "FileNotFoundError": _file,
    "TypeError": _types,
}


def _fixed(report: ErrorReport, finding: Finding | None) -> str:
    said = f"{span(report.said)} in {report.where}{_quoted_line(report)}."
    if why := _why_not(report):
        return f"{said} {why}, so I give no corrected cell."
    if finding is None:
        return f"{said} No rule of mine mends this, so I give no corrected cell. I know {KNOWN}."
    if not finding.mended or CellSource(finding.mended).tree is None:
        return (
            f"{_sentence(finding.what, report)} I give no corrected cell, as it would be a guess."
        )
    return f"{_sentence(finding.what, report)} {_code(report, finding)}"


def _code(report: ErrorReport, finding: Finding) -> str:
    if not report.is_cut and not report.is_redacted:
        note = " I read `&lt;` before the name of a tag as `<`." if report.escaped else ""
        return f"I have not run the corrected cell.{note}\n\n{fenced(finding.mended, 'python')}"
    before = (report.line_text if report.is_cut else report.source).split("\n")
    after = finding.mended.split("\n")
    line = finding.line or "\n".join(one.strip() for one in after if one not in before)
    if REDACTED in line:
        return "The line holds a secret that is not told to me, so I do not write it down."
    why = "The cell holds a secret that is not told to me"
    if report.is_cut:
        why = "The cell is too long to be mended here: its middle was left out"
    what = "the line to put first" if finding.line else "the corrected line"
    return f"{why}. So this is {what} only, which I have not run:\n\n{quoted(line)}"


def _explained(report: ErrorReport, finding: Finding | None) -> str:
    meaning = MEANINGS.get(report.exception)
    words = f"It means that {meaning}" if meaning else "I have no plain words for this exception"
    found = _why_not(report) or (finding.what if finding else "")
    parts = [f"{span(report.said)} was raised in {report.where}{_quoted_line(report)}", words]
    return " ".join(f"{one}." for one in (*parts, found, "I changed nothing") if one)


def _sentence(what: str, report: ErrorReport) -> str:
    place = f"{report.where[0].upper()}{report.where[1:]}"
    line = _quoted_line(report)
    return f"{place}{f'{line},' if line else ''} raised {span(report.said)}: {what}."


def _quoted_line(report: ErrorReport) -> str:
    line = report.line_text
    return f", {span(line if len(line) <= 120 else f'{line[:117]}...')}" if line else ""
