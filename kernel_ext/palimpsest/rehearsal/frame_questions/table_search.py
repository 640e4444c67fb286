"""Find the DataFrame or other variable that a prompt is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.rehearsal.frame_questions.entity_linking import link_columns, link_variables
from palimpsest.rehearsal.frame_questions.pandas_code import as_source
from palimpsest.rehearsal.parsing.tables import (
    Table,
    Variable,
    parse_description,
    parse_tables,
    parse_variables,
)
from palimpsest.rehearsal.parsing.tool_outputs import inline_code, text_block
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanEnded, PlanRunner, Steps

MAX_TABLES = 6
"""Maximum tables whose columns are looked at."""
MAX_NAMED_VARIABLES = 15
MAX_SHOWN_LINES = 30
MENTION_SCORE = 3.0
"""Score of a variable that the prompt names with @ or in backticks."""
MAX_TIE_DIFFERENCE = 0.01
"""Difference in score below which two tables fit equally."""
MIN_NAME_SCORE = 1.5
"""Minimum score of a variable whose whole name is in the prompt."""


@dataclass(frozen=True)
class FoundTable:
    """The table chosen for a prompt, and a note about the choice."""

    table: Table
    note: str = ""
    """A remark for the user, such as which other table would fit; empty without one."""


def find_data(
    runner: PlanRunner, known_variables: tuple[Variable, ...] | None
) -> Steps[FoundTable | Variable]:
    """Return the table or variable that the prompt is about; raise ``PlanEnded`` where there is none.

    ``known_variables`` are the variables, if the plan listed them already.
    """
    variables = (
        known_variables if known_variables is not None else (yield from list_variables(runner))
    )
    name_scores = link_variables(runner.prompt.words, variables)
    name_scores |= dict.fromkeys(
        (*runner.prompt.mentions, *runner.prompt.backticked_texts), MENTION_SCORE
    )
    other_variable = _best_other_variable(variables, name_scores)
    table_variables = [variable for variable in variables if variable.is_table]
    table_variables.sort(key=lambda variable: -name_scores.get(variable.name, 0.0))
    table_scores = [name_scores.get(variable.name, 0.0) for variable in table_variables]
    if other_variable and name_scores[other_variable.name] > max(table_scores, default=0.0):
        return other_variable
    if not table_variables:
        names = ", ".join(
            inline_code(variable.name) for variable in variables[:MAX_NAMED_VARIABLES]
        )
        variables_text = f"The variables I see: {names}" if names else "There are no variables yet"
        raise PlanEnded(
            f"I found no table to work on: there is no DataFrame among the variables. {variables_text}. "
            "Load a file in a cell first, for example with `pandas.read_csv`, or let me run that code."
        )
    is_named = table_scores[0] >= MIN_NAME_SCORE and table_scores[0] > max(
        table_scores[1:], default=0.0
    )
    candidates = table_variables[:1] if is_named else table_variables[:MAX_TABLES]
    described_tables = yield from describe_tables(runner, [table.name for table in candidates])
    return _best_table(runner, described_tables, name_scores, variables)


def list_variables(runner: PlanRunner) -> Steps[tuple[Variable, ...]]:
    """Return the variables that the ``variables`` tool lists."""
    runner.require_tool("variables", "for this")
    return parse_variables(
        (yield runner.planned_call("I look at which variables there are.", "variables")).text
    )


def _best_other_variable(
    variables: Sequence[Variable], name_scores: Mapping[str, float]
) -> Variable | None:
    """Return the variable, neither table nor code, with the highest score; None where no score is high enough."""
    excluded_kinds = {"DataFrame", "module", "function", "type"}
    other_variables = [variable for variable in variables if variable.kind not in excluded_kinds]
    best_variable = max(other_variables, key=lambda v: name_scores.get(v.name, 0.0), default=None)
    return (
        best_variable
        if best_variable and name_scores.get(best_variable.name, 0.0) >= MIN_NAME_SCORE
        else None
    )


def describe_tables(runner: PlanRunner, names: Sequence[str]) -> Steps[list[Table]]:
    """Return the tables with these names, with their columns, for which a tool is called."""
    if len(names) == 1 and "variables" in runner.tools:
        reasoning = f"I look at the columns of {names[0]}."
        result = yield runner.planned_call(reasoning, "variables", name=names[0])
        columns = parse_description(result.text)
        if columns:
            return [Table(names[0], columns)]
    if "python" not in runner.tools:
        return []
    entries_code = ",\n".join(
        f"    {as_source(name)}: {name}.dtypes.astype(str).to_dict()" for name in names
    )
    reasoning = "I ask for the columns of the tables that could be meant, and their types."
    result = yield runner.planned_call(reasoning, "python", code=f"{{\n{entries_code},\n}}")
    return parse_tables(result.value)


def _best_table(
    runner: PlanRunner,
    tables: list[Table],
    name_scores: Mapping[str, float],
    variables: tuple[Variable, ...],
) -> FoundTable:
    """Return the table that the prompt fits best, or the only one; raise ``PlanEnded`` where several fit equally."""
    scores: dict[str, float] = {}
    for table in tables:
        column_score = sum(link.score for link in link_columns(runner.prompt.words, table.columns))
        scores[table.name] = column_score + 2 * name_scores.get(table.name, 0.0)
    best_table = max(tables, key=lambda table: scores[table.name], default=None)
    if best_table and (scores[best_table.name] > 0 or len(tables) == 1):
        tied_names = [
            name
            for name in scores
            if abs(scores[name] - scores[best_table.name]) < MAX_TIE_DIFFERENCE
            and name != best_table.name
        ]
        choice_text = f" would fit as well; I took {inline_code(best_table.name)}."
        return FoundTable(
            best_table, inline_code(tied_names[0]) + choice_text if tied_names else ""
        )
    table_names = ", ".join(
        inline_code(variable.name) for variable in variables if variable.is_table
    )
    if best_table is None:
        raise PlanEnded(f"I found these tables but could not read their columns: {table_names}.")
    raise PlanEnded(
        f"Which table do you mean? I see {table_names}. Name one, for example with {inline_code('@' + best_table.name)}."
    )


def show_variable(runner: PlanRunner, variable: Variable) -> Plan:
    """Return the plan that shows the value of a variable that is not a table."""
    reasoning = f"{variable.name} is a {variable.kind}, so I look at what it holds."
    output = (yield runner.planned_call(reasoning, "variables", name=variable.name)).text
    text = f"{inline_code(variable.name)} is a {inline_code(variable.kind)}:\n\n{text_block(output, MAX_SHOWN_LINES)}"
    return PlanAnswer(text, "The result shows it.")
