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
    name_scores |= dict.fromkeys((*runner.prompt.mentions, *runner.prompt.backticked_texts), 3.0)
    other_variable = _best_other_variable(variables, name_scores)
    tables = [variable for variable in variables if variable.is_table]
    tables.sort(key=lambda variable: -name_scores.get(variable.name, 0.0))
    scores = [name_scores.get(variable.name, 0.0) for variable in tables]
    if other_variable and name_scores[other_variable.name] > max(scores, default=0.0):
        return other_variable
    if not tables:
        names = ", ".join(inline_code(variable.name) for variable in variables[:15])
        variables_text = f"The variables I see: {names}" if names else "There are no variables yet"
        raise PlanEnded(
            f"I found no table to work on: there is no DataFrame among the variables. {variables_text}. "
            "Load a file in a cell first, for example with `pandas.read_csv`, or let me run that code."
        )
    is_named = scores[0] >= MIN_NAME_SCORE and scores[0] > max(scores[1:], default=0.0)
    candidates = tables[:1] if is_named else tables[:MAX_TABLES]
    described_tables = yield from describe_tables(runner, [table.name for table in candidates])
    return _best_table(runner, described_tables, name_scores, variables)


def list_variables(runner: PlanRunner) -> Steps[tuple[Variable, ...]]:
    """Call the ``variables`` tool and return the variables that it lists."""
    runner.require_tool("variables", "for this")
    return parse_variables(
        (yield runner.planned_call("I look at which variables there are.", "variables")).text
    )


def _best_other_variable(
    variables: Sequence[Variable], name_scores: Mapping[str, float]
) -> Variable | None:
    """Return the variable, neither table nor code, with the highest score; None where no score is high enough."""
    code = {"DataFrame", "module", "function", "type"}
    others = [variable for variable in variables if variable.kind not in code]
    best = max(others, key=lambda v: name_scores.get(v.name, 0.0), default=None)
    return best if best and name_scores.get(best.name, 0.0) >= MIN_NAME_SCORE else None


def describe_tables(runner: PlanRunner, names: Sequence[str]) -> Steps[list[Table]]:
    """Call a tool for the columns of these tables, and return the tables with them."""
    if len(names) == 1 and "variables" in runner.tools:
        reasoning = f"I look at the columns of {names[0]}."
        result = yield runner.planned_call(reasoning, "variables", name=names[0])
        columns = parse_description(result.text)
        if columns:
            return [Table(names[0], columns)]
    if "python" not in runner.tools:
        return []
    inner = ",\n".join(
        f"    {as_source(name)}: {name}.dtypes.astype(str).to_dict()" for name in names
    )
    reasoning = "I ask for the columns of the tables that could be meant, and their types."
    result = yield runner.planned_call(reasoning, "python", code=f"{{\n{inner},\n}}")
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
    best = max(tables, key=lambda table: scores[table.name], default=None)
    if best and (scores[best.name] > 0 or len(tables) == 1):
        ties = [n for n in scores if abs(scores[n] - scores[best.name]) < 0.01 and n != best.name]
        choice = f" would fit as well; I took {inline_code(best.name)}."
        return FoundTable(best, inline_code(ties[0]) + choice if ties else "")
    table_names = ", ".join(inline_code(each.name) for each in variables if each.is_table)
    if best is None:
        raise PlanEnded(f"I found these tables but could not read their columns: {table_names}.")
    raise PlanEnded(
        f"Which table do you mean? I see {table_names}. Name one, for example with {inline_code('@' + best.name)}."
    )


def show_variable(runner: PlanRunner, variable: Variable) -> Plan:
    """Return the plan that shows the value of a variable that is not a table."""
    reasoning = f"{variable.name} is a {variable.kind}, so I look at what it holds."
    output = (yield runner.planned_call(reasoning, "variables", name=variable.name)).text
    text = f"{inline_code(variable.name)} is a {inline_code(variable.kind)}:\n\n{text_block(output, 30)}"
    return PlanAnswer(text, "The result shows it.")
