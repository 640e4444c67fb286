"""Find the table that a prompt is about: among the variables, else in the project's data files."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.model.rehearsal.generation.load_code import free_name, load_code, variable_name
from palimpsest.model.rehearsal.generation.pandas_code import quote
from palimpsest.model.rehearsal.parsing.entity_linking import link_columns, link_variables, unlinked
from palimpsest.model.rehearsal.parsing.prompt_parser import is_data_file
from palimpsest.model.rehearsal.parsing.tables import (
    Column,
    Table,
    Variable,
    parse_description,
    parse_dtypes,
    parse_tables,
    parse_variables,
)
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, quoted, span
from palimpsest.model.rehearsal.parsing.word_matching import near, words_of
from palimpsest.model.rehearsal.plans.plan_runner import PlanEnded, PlanRunner, Steps

MOST_TABLES = 6
MOST_HEADERS = 4
"""More files than this are listed for the user to choose from."""
NAMED = 1.5
"""A variable whose whole name is in the prompt scores at least this."""


@dataclass(frozen=True)
class FoundTable:
    """A table, the variables that were listed during the search, and a note."""

    table: Table
    variables: tuple[Variable, ...] = ()
    note: str = ""
    """What the person should know about the choice."""


@dataclass(frozen=True)
class PlainVariable:
    """A variable that is no table."""

    variable: Variable
    variables: tuple[Variable, ...] = ()


Finding = Steps[FoundTable | PlainVariable]
"""Ends the plan where nothing is found."""


def find_data(runner: PlanRunner, seen: tuple[Variable, ...] | None = None) -> Finding:
    """Find what the prompt is about; ``seen`` are the variables when they were listed already."""
    if not runner.can("python") and not runner.can("variables"):
        raise PlanEnded(
            "I would need the `variables` or the `python` tool for this, and neither is offered in this step."
        )
    variables = seen if seen is not None else (yield from list_variables(runner))
    paths = [path for path in runner.prompt.paths if is_data_file(path)]
    if paths:
        return (yield from _named_file(runner, paths[0], variables))
    named = link_variables(runner.prompt.words, variables)
    named |= dict.fromkeys((*runner.prompt.mentions, *runner.prompt.ticks), 3.0)
    thing = _thing(variables, named)
    tables = [variable for variable in variables if variable.is_table]
    tables.sort(key=lambda variable: -named.get(variable.name, 0.0))
    if thing and named[thing.name] > (named.get(tables[0].name, 0.0) if tables else 0.0):
        return PlainVariable(thing, variables)
    known: list[Table] = []
    if tables:
        scores = [named.get(variable.name, 0.0) for variable in tables]
        is_named = scores[0] >= NAMED and scores[0] > max(scores[1:], default=0.0)
        candidates = tables[:1] if is_named or len(tables) == 1 else tables[:MOST_TABLES]
        known = yield from describe_tables(runner, [variable.name for variable in candidates])
        found = _choose(runner, known, named, variables)
        if found:
            return found
        # A single unknown word is more likely a value of this table than a column of another.
        strange = len(unlinked(runner.prompt.words, ()))
        if not strange or (strange == 1 and len(tables) == 1):
            return _best_guess(runner, known, variables)
    try:
        return (yield from _from_files(runner, variables, must_fit=bool(tables)))
    except PlanEnded:
        if not tables:
            raise
    return _best_guess(runner, known, variables)


def list_variables(runner: PlanRunner) -> Steps[tuple[Variable, ...]]:
    """Ask which variables there are."""
    thought = "I look at which variables there are."
    if runner.can("variables"):
        return parse_variables((yield runner.act(thought, "variables")).text)
    code = '{name: type(value).__name__ for name, value in dict(globals()).items() if not name.startswith("_")}'
    return parse_variables((yield runner.act(thought, "python", code=code)).value)


def _thing(variables: Sequence[Variable], named: dict[str, float]) -> Variable | None:
    code = {"DataFrame", "module", "function", "type"}
    others = [variable for variable in variables if variable.kind not in code]
    best = max(others, key=lambda v: named.get(v.name, 0.0), default=None)
    return best if best and named.get(best.name, 0.0) >= NAMED else None


def describe_tables(runner: PlanRunner, names: Sequence[str]) -> Steps[list[Table]]:
    """Ask for the columns of these tables."""
    if len(names) == 1 and runner.can("variables"):
        result = yield runner.act(
            f"I look at the columns of {names[0]}.", "variables", name=names[0]
        )
        columns = parse_description(result.text)
        if columns:
            return [Table(names[0], columns)]
    if not runner.can("python"):
        return []
    if len(names) == 1:
        code = f"{names[0]}.dtypes.astype(str).to_dict()"
        result = yield runner.act(
            f"I ask for the columns of {names[0]} and their types.", "python", code=code
        )
        return [Table(names[0], columns)] if (columns := parse_dtypes(result.value)) else []
    inner = ",\n".join(f"    {quote(name)}: {name}.dtypes.astype(str).to_dict()" for name in names)
    thought = "Several tables could be meant, so I look at their columns."
    result = yield runner.act(thought, "python", code=f"{{\n{inner},\n}}")
    return parse_tables(result.value)


def _choose(
    runner: PlanRunner,
    tables: list[Table],
    named: dict[str, float],
    variables: tuple[Variable, ...],
) -> FoundTable | None:
    """Return the table that the words fit best, if they fit any."""
    scores: dict[str, float] = {}
    for table in tables:
        links = sum(one.score for one in link_columns(runner.prompt.words, table.columns))
        scores[table.name] = links + 2 * named.get(table.name, 0.0)
    best = max(tables, key=lambda table: scores[table.name], default=None)
    if best is None or scores[best.name] <= 0:
        return None
    ties = [n for n in scores if abs(scores[n] - scores[best.name]) < 0.01 and n != best.name]
    note = f"{span(ties[0])} would fit as well; I took {span(best.name)}." if ties else ""
    return FoundTable(best, variables, note)


def _best_guess(
    runner: PlanRunner, tables: list[Table], variables: tuple[Variable, ...]
) -> FoundTable:
    """Choose a table when no words fit one: that of the latest topic, or the only one; else ask."""
    latest = runner.topic.table.name if runner.topic else ""
    same = [table for table in tables if table.name == latest] or tables
    if len(same) == 1:
        return FoundTable(same[0], variables)
    listed = ", ".join(span(variable.name) for variable in variables if variable.is_table)
    if not tables:
        raise PlanEnded(f"I found these tables but could not read their columns: {listed}.")
    raise PlanEnded(
        f"Which table do you mean? I see {listed}. Name one, for example with {span('@' + tables[0].name)}."
    )


def _named_file(runner: PlanRunner, path: str, variables: tuple[Variable, ...]) -> Finding:
    """Use the table that holds this file already, else load it."""
    name = variable_name(path)
    exists = any(variable.name == name and variable.is_table for variable in variables)
    if exists and not runner.prompt.matches(r"\b(load|import|read|reload)\b"):
        known = yield from describe_tables(runner, [name])
        if known:
            note = f"I used the variable {span(name)} that exists already."
            return FoundTable(known[0], variables, note)
    return (yield from load_file(runner, path, variables))


def _from_files(runner: PlanRunner, variables: tuple[Variable, ...], *, must_fit: bool) -> Finding:
    """Look for a data file that the words fit."""
    paths = yield from data_files(runner, must_fit=must_fit)
    runner.need("python", "to load a file")
    words = runner.prompt.words
    by_name = [path for path in paths if any(_names_file(path, word.stem) for word in words)]
    if by_name:
        return (yield from load_file(runner, by_name[0], variables))
    if paths and must_fit and len(paths) > MOST_HEADERS:
        raise PlanEnded("No file fits.")
    fitting = yield from _by_header(runner, paths[:MOST_HEADERS], must_fit=must_fit)
    if fitting:
        return (yield from load_file(runner, fitting, variables))
    if paths:
        listed = "\n".join(f"- {span(path)}" for path in paths[:20])
        raise PlanEnded(f"No table is loaded yet. Which of these files do you mean?\n\n{listed}")
    listed = ", ".join(span(variable.name) for variable in variables[:15])
    seen = f"The variables I see: {listed}" if listed else "There are no variables yet either"
    raise PlanEnded(
        f"I found no table to work on: no DataFrame among the variables, and no data file in the project. {seen}."
    )


def _by_header(runner: PlanRunner, paths: Sequence[str], *, must_fit: bool) -> Steps[str | None]:
    """Return the file whose first line the words fit; the only one, if it need not fit."""
    if len(paths) == 1 and not must_fit and not unlinked(runner.prompt.words, ()):
        return paths[0]
    scores: dict[str, float] = {}
    for path in paths:
        if not runner.can("read") or not path.endswith((".csv", ".tsv")):
            continue
        thought = f"I look at the first line of {path} for its columns."
        result = yield runner.act(thought, "read", path=path, limit=1)
        header = re.search(r"(?m)^\s*1[:\t|] ?(.*)$", result.text)
        between = "\t" if path.endswith(".tsv") else ","
        columns = next(csv.reader([header[1]], delimiter=between), []) if header else []
        links = link_columns(runner.prompt.words, [Column(name.strip()) for name in columns])
        scores[path] = sum(mention.score for mention in links)
    best = max(scores, key=lambda path: scores[path], default=None)
    return best if best and scores[best] > 0 else None


def _names_file(path: str, stem: str) -> bool:
    pieces = [word.stem for word in words_of(path.rsplit("/", 1)[-1].split(".", 1)[0])]
    return len(stem) > 3 and any(near(stem, piece) for piece in pieces)


def data_files(runner: PlanRunner, *, must_fit: bool) -> Steps[list[str]]:
    """Return the data files of the project."""
    if runner.can("glob"):
        thought = "No table fits, so I look for a data file in the project."
        paths = paths_in((yield runner.act(thought, "glob", pattern="**/*.csv")).text)
        if not paths and not must_fit:
            thought, others = (
                "There is no csv file, so I look for other tables.",
                "**/*.{tsv,parquet,xlsx,feather}",
            )
            paths = paths_in((yield runner.act(thought, "glob", pattern=others)).text)
        return paths
    if runner.can("list"):
        result = yield runner.act("No table fits, so I look for a data file in the folder.", "list")
        return [line for line in result.paths if line.endswith((".csv", ".tsv"))]
    return []


def paths_in(text: str) -> list[str]:
    """Return the paths that a glob output lists."""
    return [line for line in ToolResult(text).paths if is_data_file(line)]


def load_file(runner: PlanRunner, path: str, variables: tuple[Variable, ...]) -> Finding:
    """Read a file into a variable named after it; an existing variable is never overwritten."""
    runner.need("python", f"to load {span(path)}")
    taken = {variable.name for variable in variables}
    name = free_name(variable_name(path), taken)
    module = module_name("pd", "pandas", variables)
    thought = f"No variable holds {path}, so I read it into {name}."
    result = yield runner.act(thought, "python", code=load_code(path, name, module))
    root = re.search(r"Project root: (.+)", runner.conversation.system)
    if root and result.error and result.error[0] == "FileNotFoundError":
        path = f"{root[1].strip().rstrip('/')}/{path}"
        thought = "The path is relative to the project, so I try it from there."
        result = yield runner.act(thought, "python", code=load_code(path, name, module))
    if result.error:
        raise PlanEnded(f"I could not load {span(path)}: {': '.join(result.error)}")
    columns = parse_dtypes(result.value)
    if not columns:
        raise PlanEnded(
            f"I loaded {span(path)} into {span(name)}, but could not read its columns:\n\n{quoted(result.words)}"
        )
    return FoundTable(Table(name, columns), variables, f"I loaded {span(path)} into {span(name)}.")


def module_name(usual: str, other: str, variables: Sequence[Variable]) -> str:
    """Return the usual name to import a module under, or another where the user has a variable of that name."""
    return other if any(v.name == usual and v.kind != "module" for v in variables) else usual
