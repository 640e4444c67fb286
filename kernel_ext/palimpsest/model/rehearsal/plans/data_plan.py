"""Answer a prompt about data: find the table, link words to columns, compute, and describe the result."""

import difflib
from dataclasses import replace

from palimpsest.model.rehearsal.generation import result_text
from palimpsest.model.rehearsal.generation.pandas_code import quote, source
from palimpsest.model.rehearsal.generation.plot_code import chart_of, plot_lines, write_code
from palimpsest.model.rehearsal.generation.plot_text import plot_text
from palimpsest.model.rehearsal.parsing.data_request import DataRequest, continues
from palimpsest.model.rehearsal.parsing.entity_linking import (
    ColumnMention,
    link_columns,
    link_values,
    unlinked,
)
from palimpsest.model.rehearsal.parsing.query_defaults import fill_defaults
from palimpsest.model.rehearsal.parsing.query_spec import (
    LinkedPrompt,
    QuerySpec,
    make_query_spec,
    merge,
)
from palimpsest.model.rehearsal.parsing.tables import (
    Column,
    Table,
    Variable,
    dict_in,
    parse_dtypes,
)
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, quoted, span
from palimpsest.model.rehearsal.parsing.vocabulary import QUALITIES
from palimpsest.model.rehearsal.parsing.word_matching import words_of
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner, Steps
from palimpsest.model.rehearsal.plans.table_search import (
    FoundTable,
    PlainVariable,
    find_data,
    module_name,
)
from palimpsest.model.rehearsal.plans.variable_plan import answer_variable

NUMBER_OF_ROWS = r"\b(?:how many|(?:the |its )?(?:number|count) of(?: the| its)?) (?:rows|lines|records|entries)\b|\brow count\b"
MOST_VALUES = 50
"""Values of a column that are looked through for a word of the prompt."""
SHOWN_AS_IT_IS = frozenset({"rows", "head"})
"""Operations whose output is quoted and not parsed, so that what pandas left out of it is seen."""
OWN_COUNT = frozenset({"count", "shape", "describe", "rows", "plot"})
"""Operations whose result already shows how many rows there are, or is a drawing."""


def data_plan(
    runner: PlanRunner,
    wish: DataRequest,
    seen: tuple[Variable, ...] | None = None,
    table: Table | None = None,
) -> Plan:
    """Compute what the prompt asks of a table or another variable.

    ``seen`` are variables that were listed already, ``table`` one that was described already.
    """
    before = None if runner.prompt.paths or not continues(runner.prompt) else runner.topic
    if before and not (set(runner.prompt.mentions) - {before.table.name}):
        found: FoundTable | PlainVariable = FoundTable(before.table)
    elif table:
        found = FoundTable(table, seen or ())
    else:
        before = None
        found = yield from find_data(runner, seen)
    if isinstance(found, PlainVariable):
        return (yield from answer_variable(runner, wish, found))
    if wish.op == "columns":
        return _columns(found)
    runner.need("python", "to compute this")
    table, linked = yield from link(runner, found)
    spec = make_query_spec(wish, linked, table, before)
    spans = _taken(runner, linked.columns, table)
    spans += [(value.start, value.end) for value in linked.values]
    left = [linked.prompt.words[at].text for at in sorted(unlinked(linked.prompt.words, spans))]
    left += [
        word.text for word in linked.prompt.words if word.text in QUALITIES and not spec.measures
    ]
    if before:
        named = spec.measures or spec.groups or spec.filters
        if not (named or wish.op or wish.statistic or wish.chart or wish.number):
            return PlanAnswer(
                _not_linked(left, table),
                "None of the words names a column or a value.",
                runner.topic,
            )
        spec = replace(merge(before, spec, wish), table=table)
    spec = fill_defaults(spec, runner.prompt.words)
    spec, notes = fit_to_chart(spec)
    asks_rows = bool(runner.prompt.matches(NUMBER_OF_ROWS)) and spec.op not in OWN_COUNT
    spec = replace(spec, counts_rows=asks_rows)
    notes = [
        note for note in (found.note, *notes, *_rivals(linked, spec), _ignored(left, spec)) if note
    ]
    return (yield from compute(runner, spec, notes, found.variables))


def link(runner: PlanRunner, found: FoundTable) -> Steps[tuple[Table, LinkedPrompt]]:
    """Link the words to columns, and to values where words are left over."""
    table, words = found.table, runner.prompt.words
    columns = link_columns(words, table.columns)
    columns = tuple(m for m in columns if not _is_table_name(m, runner, table))
    free = unlinked(words, _taken(runner, columns, table))
    if not free or not table.categories:
        return table, LinkedPrompt(runner.prompt, columns)
    known = table.values
    if not known:
        said = " ".join(words[at].text for at in sorted(free))
        code = values_code(table)
        thought = f"{said!r} is no column, so I look whether it is a value of one."
        result = yield runner.act(thought, "python", code=code)
        keys, told = {column.key for column in table.columns}, dict_in(result.value).items()
        known = {k: tuple(v) for k, v in told if k in keys and isinstance(v, list)}
        table = replace(table, values=known)
    return table, LinkedPrompt(
        runner.prompt, columns, link_values(words, free, known, table.columns)
    )


def values_code(table: Table) -> str:
    """Return code that lists the values of the text columns."""
    lines = [
        f"    {quote(c.key)}: {table.name}[{quote(c.key)}].unique()[:{MOST_VALUES}].tolist(),"
        for c in table.categories[:8]
    ]
    return "\n".join(["{", *lines, "}"])


def _taken(
    runner: PlanRunner, columns: tuple[ColumnMention, ...], table: Table
) -> list[tuple[int, int]]:
    """Return the words that are accounted for: columns, the table's name, names of files."""
    spans = [(mention.start, mention.end) for mention in columns]
    name = {word.stem for word in words_of(table.name)}
    for path in runner.prompt.paths:
        name |= {word.stem for word in words_of(path)}
    spans += [
        (at, at + 1)
        for at, word in enumerate(runner.prompt.words)
        if word.stem in name or word.text[0].isdigit()
    ]
    return spans


def _is_table_name(mention: ColumnMention, runner: PlanRunner, table: Table) -> bool:
    """Tell whether a mention is the table's name, no column: after *in*, *from*, *of*, *many*, or with @."""
    name = "".join(word.stem for word in words_of(table.name))
    said = "".join(word.stem for word in runner.prompt.words[mention.start : mention.end])
    before = runner.prompt.words[mention.start - 1].text if mention.start else ""
    return said == name and (
        before in {"in", "from", "many", "of"} or f"@{table.name}" in runner.prompt.text
    )


def _ignored(left: list[str], spec: QuerySpec) -> str:
    if not left or spec.op == "shape":
        return ""
    words = ", ".join(span(word) for word in left[:5])
    return f"I could link {words} to no column and no value, so it is not part of this answer."


def _not_linked(left: list[str], table: Table) -> str:
    said = ", ".join(span(word) for word in left[:5])
    listed = ", ".join(span(column.label) for column in table.columns[:20])
    return (
        f"{said}: I found no such column or value in {span(table.name)}. Its columns are {listed}."
    )


def _rivals(linked: LinkedPrompt, spec: QuerySpec) -> list[str]:
    used = set(spec.measures) | set(spec.groups)
    notes = []
    for mention in linked.columns:
        others = [column for column in mention.rivals if column not in used]
        if mention.column in used and others:
            listed = " or ".join(span(column.label) for column in others[:3])
            notes.append(f"I took {span(mention.column.label)}; you may also have meant {listed}.")
    return notes


def fit_to_chart(spec: QuerySpec) -> tuple[QuerySpec, list[str]]:
    """Adapt a spec that the columns' types do not allow, and say so."""
    words = [column for column in spec.measures if not column.numeric and not column.temporal]
    if spec.op == "statistic" and words and (spec.statistic or "mean") not in {"min", "max"}:
        label = span(words[0].label)
        note = f"{label} holds no numbers, so it has no {spec.statistic or 'mean'}; I counted its values instead."
        return replace(spec, op="count", groups=(*spec.groups, *words)[:2], measures=()), [note]
    if spec.op == "count" and spec.groups and spec.measures:
        return replace(spec, measures=()), []
    if spec.op == "share" and not spec.groups + spec.measures and spec.filters:
        column = spec.filters[0].column
        return replace(spec, measures=(column,), filters=spec.filters[1:]), []
    if spec.op == "share" and not spec.groups + spec.measures:
        return replace(spec, op="count"), [
            "I found no column to take shares of, so I counted rows."
        ]
    return spec, []


def _columns(found: FoundTable) -> PlanAnswer:
    table = found.table
    listed = "\n".join(f"- {span(column.label)} ({column.dtype})" for column in table.columns[:60])
    more = f"\n- and {len(table.columns) - 60} more" if len(table.columns) > 60 else ""
    note = f"\n\n{found.note}" if found.note else ""
    text = f"{span(table.name)} has {len(table.columns)} columns:\n\n{listed}{more}{note}"
    topic = QuerySpec(table, "describe")
    return PlanAnswer(text, "The list of columns is in the result.", topic)


def compute(
    runner: PlanRunner, spec: QuerySpec, notes: list[str], variables: tuple[Variable, ...] = ()
) -> Plan:
    """Run the code for a spec, repair it once if it fails, and describe the result."""
    plt = module_name("plt", "pyplot", variables)
    thought = thoughts(spec)
    result = yield runner.act(thought, "python", code=code_of(spec, plt))
    if result.error:
        repaired = yield from _repaired(runner, spec, result.error)
        if repaired is None:
            said = f"The code failed with {result.error_words}"
            return PlanAnswer(said, "The code failed and I know no repair.")
        spec, result, note = repaired
        notes = [*notes, note]
        if result.error:
            said = f"The code failed with {result.error_words}\n\n{note}"
            return PlanAnswer(said, "The repair failed too.")
    if result.lost or not result.words.strip():
        return PlanAnswer(
            "The code ran, but no result came back that I could read, so I state no numbers.",
            topic=spec,
        )
    if result.shortened and not _is_quoted(spec):
        thought = "The output was shortened, so I print it whole."
        code = f"print({write_code(spec).splitlines()[-1]}.to_string())"
        again = yield runner.act(thought, "python", code=code)
        if again.cut or again.error or again.lost:
            said = "\n\n".join([_unseen(spec, result), *notes])
            return PlanAnswer(said, "I cannot see all of it, so I state no numbers.", spec)
        result = ToolResult(f"[stdout]\n{result.stdout}\n[result]\n{again.words}")
    if spec.op == "plot":
        text = plot_text(spec, result, chart_of(spec))
    else:
        text = result_text.table_text(spec, result)
    body = text or f"The result for {span(spec.table.name)}:\n\n{quoted(result.words, 40)}"
    rows = [_row_count(spec, result)] if spec.counts_rows else []
    said = "\n\n".join([*rows, body, *notes])
    return PlanAnswer(said, "The result answers the question; I read the numbers from it.", spec)


def code_of(spec: QuerySpec, plt: str = "plt") -> str:
    """Return the code for a spec, with the number of rows where that was asked for too."""
    code = write_code(spec, plt)
    return f'print(len({source(spec)}), "rows")\n{code}' if spec.counts_rows else code


def _row_count(spec: QuerySpec, result: ToolResult) -> str:
    count = result.stdout.strip().splitlines()[0] if result.stdout.strip() else "an unknown number"
    where = f", of those{result_text.where(spec)}" if spec.filters else ""
    return f"{span(spec.table.name)} has **{count}**{where}."


def _is_quoted(spec: QuerySpec) -> bool:
    """Tell whether the answer shows the output as it is and reads nothing out of it."""
    numbers = [column for column in spec.measures + spec.groups if column.numeric]
    matrix = spec.op == "correlation" and len(numbers) not in {1, 2}
    return spec.op in SHOWN_AS_IT_IS or matrix


def _unseen(spec: QuerySpec, result: ToolResult) -> str:
    """Return an answer for a result that is longer than what can be seen of it."""
    return (
        f"The result for {span(spec.table.name)} is longer than I can see whole, so I name no highest, no lowest and no number "
        f"of it. Ask for a part of it, for example for the top 5. This much was shown:\n\n{quoted(result.words, 40)}"
    )


def thoughts(spec: QuerySpec) -> str:
    """Return which rule fired and with which columns, as the model's thinking."""
    measures = ", ".join(column.label for column in spec.measures) or "none"
    groups = ", ".join(column.label for column in spec.groups) or "none"
    where = ", ".join(f"{f.column.label} {f.test} {f.value!r}" for f in spec.filters)
    condition = f"; condition: {where}" if where else ""
    chart = f" ({chart_of(spec)})" if spec.op == "plot" else ""
    return f"Rule: {spec.op}{chart} on {spec.table.name}. Measured: {measures}; grouped by: {groups}{condition}."


def _repaired(
    runner: PlanRunner, spec: QuerySpec, error: tuple[str, str]
) -> Steps[tuple[QuerySpec, ToolResult, str] | None]:
    """Try one sensible repair."""
    kind, words = error
    if kind in {"ModuleNotFoundError", "ImportError"} and spec.op == "plot":
        thought = "Plotting is not possible here, so I compute the numbers only."
        result = yield runner.act(thought, "python", code=plot_lines(spec, "plt")[1])
        is_measured = any(column.numeric for column in spec.measures)
        numbers = replace(spec, op="statistic" if is_measured else "count")
        return numbers, result, f"I could draw nothing ({words}); install matplotlib for figures."
    if kind not in {"KeyError", "NameError", "AttributeError"}:
        return None
    thought = f"{kind}: the table may have changed, so I look at its columns again."
    code = f"{spec.table.name}.dtypes.astype(str).to_dict()"
    columns = parse_dtypes((yield runner.act(thought, "python", code=code)).value)
    renamed = rename(spec, columns)
    if renamed is None:
        return None
    thought = "I try again with the columns that are there now."
    result = yield runner.act(thought, "python", code=code_of(renamed))
    note = f"The first attempt failed ({kind}: {words}); I used the closest columns that exist."
    return renamed, result, note


def rename(spec: QuerySpec, columns: tuple[Column, ...]) -> QuerySpec | None:
    """Replace the spec's columns by the closest existing ones, or return None when one is missing."""
    by_label = {column.label: column for column in columns}
    renamed: dict[Column, Column] = {}
    for column in (*spec.measures, *spec.groups, *(one.column for one in spec.filters)):
        close = difflib.get_close_matches(column.label, by_label, n=1, cutoff=0.6)
        if not close:
            return None
        renamed[column] = by_label[close[0]]
    if not columns:
        return None
    return replace(
        spec,
        table=Table(spec.table.name, columns),
        measures=tuple(renamed[column] for column in spec.measures),
        groups=tuple(renamed[column] for column in spec.groups),
        filters=tuple(replace(one, column=renamed[one.column]) for one in spec.filters),
    )
