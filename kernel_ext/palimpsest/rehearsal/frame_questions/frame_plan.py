"""Answer a prompt about data: find the table, link words to columns, compute, and describe the result."""

from dataclasses import replace

from palimpsest.rehearsal.frame_questions import result_text
from palimpsest.rehearsal.frame_questions.data_request import DataRequest
from palimpsest.rehearsal.frame_questions.entity_linking import (
    ColumnMention,
    link_columns,
    link_values,
    unlinked_words,
)
from palimpsest.rehearsal.frame_questions.pandas_code import as_source
from palimpsest.rehearsal.frame_questions.plot_code import chart_of, plot_lines, write_code
from palimpsest.rehearsal.frame_questions.query_defaults import fill_defaults
from palimpsest.rehearsal.frame_questions.query_spec import LinkedPrompt, QuerySpec, make_query_spec
from palimpsest.rehearsal.frame_questions.table_search import FoundTable, find_data, show_variable
from palimpsest.rehearsal.parsing.tables import Table, Variable, dict_in
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, inline_code, text_block
from palimpsest.rehearsal.parsing.vocabulary import COLUMN_WORDS_BY_ADJECTIVE
from palimpsest.rehearsal.parsing.word_matching import words_of
from palimpsest.rehearsal.plan_runner import Plan, PlanAnswer, PlanRunner, Steps

MAX_SEARCHED_COLUMNS = 8
MAX_NAMED_WORDS = 5
MAX_NAMED_RIVALS = 3
MAX_LISTED_COLUMNS = 60
MAX_QUOTED_LINES = 40
MAX_VALUES = 50
"""Maximum values of a column that are searched for a word of the prompt."""
QUOTED_OPERATIONS = frozenset({"rows", "head"})
"""Operations whose output is quoted and not parsed, so that pandas' omissions are visible."""


def frame_plan(
    runner: PlanRunner,
    request: DataRequest,
    known_variables: tuple[Variable, ...] | None = None,
    table: Table | None = None,
) -> Plan:
    """Answer a prompt about a table, or show another variable.

    ``known_variables`` are the variables, if they were listed already; ``table`` is one that was described already.
    """
    found_table = FoundTable(table) if table else (yield from find_data(runner, known_variables))
    if isinstance(found_table, Variable):
        return (yield from show_variable(runner, found_table))
    if request.op == "columns":
        return _columns_answer(found_table)
    runner.require_tool("python", "to compute this")
    spec, notes = yield from query_steps(runner, request, found_table)
    return (yield from compute_plan(runner, spec, notes))


def query_steps(
    runner: PlanRunner, request: DataRequest, found_table: FoundTable
) -> Steps[tuple[QuerySpec, list[str]]]:
    """Return the query for a prompt about a table, with notes about the words of the prompt."""
    table = found_table.table
    linked_prompt = yield from _link_words(runner, table)
    spec = make_query_spec(request, linked_prompt, table)
    spans = _linked_spans(runner, linked_prompt.columns, table)
    spans += [(value.start, value.end) for value in linked_prompt.values]
    words = runner.prompt.words
    unlinked_texts = [words[index].text for index in sorted(unlinked_words(words, spans))]
    if not spec.measures:
        unlinked_texts += [word.text for word in words if word.text in COLUMN_WORDS_BY_ADJECTIVE]
    spec = fill_defaults(spec, words)
    spec, fit_note = fit_to_types(spec)
    notes = [
        found_table.note,
        fit_note,
        *_rival_notes(linked_prompt, spec),
        _ignored_words_note(unlinked_texts, spec),
    ]
    return spec, [note for note in notes if note]


def _link_words(runner: PlanRunner, table: Table) -> Steps[LinkedPrompt]:
    """Link the words to columns, and to values where words are left over."""
    words = runner.prompt.words
    columns = link_columns(words, table.columns)
    columns = tuple(m for m in columns if not _is_table_name(m, runner, table))
    unlinked_positions = unlinked_words(words, _linked_spans(runner, columns, table))
    if not unlinked_positions or not table.categories:
        return LinkedPrompt(runner.prompt, columns)
    free_text = " ".join(words[index].text for index in sorted(unlinked_positions))
    reasoning = f"{free_text!r} is no column, so I look whether it is a value of one."
    result = yield runner.planned_call(reasoning, "python", code=values_code(table))
    keys, pairs = {column.key for column in table.columns}, dict_in(result.value).items()
    values = {k: tuple(v) for k, v in pairs if k in keys and isinstance(v, list)}
    value_mentions = link_values(words, unlinked_positions, values, table.columns)
    return LinkedPrompt(runner.prompt, columns, value_mentions)


def values_code(table: Table) -> str:
    """Return code that lists the values of the text columns."""
    lines = [
        f"    {as_source(c.key)}: {table.name}[{as_source(c.key)}].unique()[:{MAX_VALUES}].tolist(),"
        for c in table.categories[:MAX_SEARCHED_COLUMNS]
    ]
    return "\n".join(["{", *lines, "}"])


def _linked_spans(
    runner: PlanRunner, columns: tuple[ColumnMention, ...], table: Table
) -> list[tuple[int, int]]:
    """Return the spans of linked words: columns, the table's name, numbers."""
    spans = [(mention.start, mention.end) for mention in columns]
    name_stems = {word.stem for word in words_of(table.name)}
    spans += [
        (index, index + 1)
        for index, word in enumerate(runner.prompt.words)
        if word.stem in name_stems or word.text[0].isdigit()
    ]
    return spans


def _is_table_name(mention: ColumnMention, runner: PlanRunner, table: Table) -> bool:
    """Return whether a mention is the table's name and no column: after *in*, *from*, *of*, *many*, or with @."""
    joined_name = "".join(word.stem for word in words_of(table.name))
    joined_words = "".join(word.stem for word in runner.prompt.words[mention.start : mention.end])
    word_before = runner.prompt.words[mention.start - 1].text if mention.start else ""
    return joined_words == joined_name and (
        word_before in {"in", "from", "many", "of"} or f"@{table.name}" in runner.prompt.text
    )


def _ignored_words_note(unused_words: list[str], spec: QuerySpec) -> str:
    if not unused_words or spec.op == "shape":
        return ""
    word_list = ", ".join(inline_code(word) for word in unused_words[:MAX_NAMED_WORDS])
    return f"I could link {word_list} to no column and no value, so it is not part of this answer."


def _rival_notes(linked_prompt: LinkedPrompt, spec: QuerySpec) -> list[str]:
    """Return a note for each column whose words could also mean another column."""
    used_columns = set(spec.measures) | set(spec.groups)
    notes = []
    for mention in linked_prompt.columns:
        other_columns = [column for column in mention.rivals if column not in used_columns]
        if mention.column in used_columns and other_columns:
            columns_text = " or ".join(
                inline_code(column.label) for column in other_columns[:MAX_NAMED_RIVALS]
            )
            notes.append(
                f"I took {inline_code(mention.column.label)}; you may also have meant {columns_text}."
            )
    return notes


def fit_to_types(spec: QuerySpec) -> tuple[QuerySpec, str]:
    """Return the spec, changed where the columns' types do not allow it, and a note on the change; empty without one."""
    text_columns = [column for column in spec.measures if column.is_text]
    if spec.op == "statistic" and text_columns and (spec.statistic or "mean") not in {"min", "max"}:
        label = inline_code(text_columns[0].label)
        note = f"{label} holds no numbers, so it has no {spec.statistic or 'mean'}; I counted its values instead."
        return replace(
            spec, op="count", groups=(*spec.groups, *text_columns)[:2], measures=()
        ), note
    if spec.op == "count" and spec.groups and spec.measures:
        return replace(spec, measures=()), ""
    return spec, ""


def _columns_answer(found_table: FoundTable) -> PlanAnswer:
    table = found_table.table
    column_lines = "\n".join(
        f"- {inline_code(column.label)} ({column.dtype})"
        for column in table.columns[:MAX_LISTED_COLUMNS]
    )
    more_text = (
        f"\n- and {len(table.columns) - MAX_LISTED_COLUMNS} more"
        if len(table.columns) > MAX_LISTED_COLUMNS
        else ""
    )
    note = f"\n\n{found_table.note}" if found_table.note else ""
    text = f"{inline_code(table.name)} has {len(table.columns)} columns:\n\n{column_lines}{more_text}{note}"
    return PlanAnswer(text, "The list of columns is in the result.")


def compute_plan(runner: PlanRunner, spec: QuerySpec, notes: list[str]) -> Plan:
    """Run the code for a spec, without the plot where that is impossible, and describe the result."""
    result = yield runner.planned_call(rule_thought(spec), "python", code=write_code(spec))
    if result.error and "ModuleNotFoundError" in result.error and spec.op == "plot":
        notes = [
            *notes,
            f"I could draw nothing ({result.error[1]}); install matplotlib for figures.",
        ]
        reasoning = "Plotting is not possible here, so I compute the numbers only."
        result = yield runner.planned_call(reasoning, "python", code=plot_lines(spec)[1])
        is_measured = any(column.is_numeric for column in spec.measures)
        spec = replace(spec, op="statistic" if is_measured else "count")
    if result.error:
        answer = f"The code failed with {result.error_text}"
        return PlanAnswer(answer, "The code failed and I know no repair.")
    if result.is_lost or not result.shown_text.strip():
        return PlanAnswer(
            "The code ran, but no result came back that I could read, so I state no numbers."
        )
    if result.is_shortened and not _is_quoted(spec):
        reasoning = "The output was shortened, so I print it whole."
        code = f"print({write_code(spec).splitlines()[-1]}.to_string())"
        full_result = yield runner.planned_call(reasoning, "python", code=code)
        if full_result.is_cut or full_result.error or full_result.is_lost:
            answer = "\n\n".join([_unseen_result_text(spec, result), *notes])
            return PlanAnswer(answer, "I cannot see all of it, so I state no numbers.")
        result = ToolResult(f"[stdout]\n{result.stdout}\n[result]\n{full_result.shown_text}")
    if spec.op == "plot":
        text = result_text.plot_text(spec, result, chart_of(spec))
    else:
        text = result_text.table_text(spec, result)
    body = (
        text
        or f"The result for {inline_code(spec.table.name)}:\n\n{text_block(result.shown_text, MAX_QUOTED_LINES)}"
    )
    answer = "\n\n".join([body, *notes])
    return PlanAnswer(answer, "The result answers the question; I read the numbers from it.")


def _is_quoted(spec: QuerySpec) -> bool:
    """Return whether the answer quotes the output without parsing it."""
    numeric_columns = [column for column in spec.measures + spec.groups if column.is_numeric]
    is_matrix = spec.op == "correlation" and len(numeric_columns) != 2
    return spec.op in QUOTED_OPERATIONS or is_matrix


def _unseen_result_text(spec: QuerySpec, result: ToolResult) -> str:
    """Return the answer for a result that is too long to be seen whole."""
    return (
        f"The result for {inline_code(spec.table.name)} is longer than I can see whole, so I name no highest, no lowest and no number "
        f"of it. Ask for a part of it, for example for the top 5. This much was shown:\n\n{text_block(result.shown_text, MAX_QUOTED_LINES)}"
    )


def rule_thought(spec: QuerySpec) -> str:
    """Return the model's thinking: the rule, its columns and conditions."""
    measures = ", ".join(column.label for column in spec.measures) or "none"
    groups = ", ".join(column.label for column in spec.groups) or "none"
    filters_text = ", ".join(f"{f.column.label} {f.operator} {f.value!r}" for f in spec.filters)
    condition_text = f"; condition: {filters_text}" if filters_text else ""
    chart_text = f" ({chart_of(spec)})" if spec.op == "plot" else ""
    return f"Rule: {spec.op}{chart_text} on {spec.table.name}. Measured: {measures}; grouped by: {groups}{condition_text}."
