"""Answer prompts about a variable that is not a table: Series, arrays, lists, dicts, text, numbers."""

from dataclasses import replace

from palimpsest.model.rehearsal.generation.result_text import NAMES, table
from palimpsest.model.rehearsal.parsing.data_request import DataRequest
from palimpsest.model.rehearsal.parsing.tool_outputs import (
    ToolResult,
    quoted,
    scalar,
    series,
    span,
    tidy,
)
from palimpsest.model.rehearsal.plans.plan_runner import Plan, PlanAnswer, PlanRunner
from palimpsest.model.rehearsal.plans.table_search import PlainVariable

SEQUENCES = {"list", "tuple", "range", "deque"}
ARRAYS = {"Series", "ndarray", "Index"}
MAPPINGS = {"dict", "OrderedDict", "defaultdict", "Counter"}
BUILTIN = {
    "mean": "sum({0}) / len({0})",
    "sum": "sum({0})",
    "min": "min({0})",
    "max": "max({0})",
    "median": "import statistics\n\nstatistics.median({0})",
    "std": "import statistics\n\nstatistics.stdev({0})",
    "var": "import statistics\n\nstatistics.variance({0})",
}
"""How plain Python computes a statistic of a list."""
PLOTS = {"hist": "hist({0}, bins=20)", "bar": "bar(range(len({0})), {0})", "box": "boxplot({0})"}


def answer_variable(runner: PlanRunner, wish: DataRequest, thing: PlainVariable) -> Plan:
    """Describe, measure, count or draw one variable."""
    name, kind = thing.variable.name, thing.variable.kind
    asks_size = runner.prompt.has("length", "long", "len", "size", "big")
    if wish.op in {None, "describe", "shape"} and asks_size:
        wish = replace(wish, op="count")
    code, what = variable_code(name, kind, wish)
    if not code or not runner.can("python"):
        return (yield from show(runner, thing))
    thought = f"{name} is a {kind}, so the rule for {wish.op or 'describe'} asks for its {what}."
    result = yield runner.act(thought, "python", code=code)
    if result.error:
        return PlanAnswer(f"The code failed with {result.error_words}. {span(name)} is a {kind}.")
    return PlanAnswer(worded(name, what, wish, result), "The result answers the question.")


def variable_code(name: str, kind: str, wish: DataRequest) -> tuple[str, str]:
    """Return code for a request about a variable of this kind, and what it computes; empty to describe it."""
    items = f"{name}.values()" if kind in MAPPINGS else name
    if wish.op == "plot":
        return _plot(name, kind, wish), "drawing"
    if wish.op in {"count", "shape"}:
        return _size(name, kind, wish)
    if wish.op in {"statistic", "top"}:
        return _statistic(name, kind, items, wish)
    if wish.op in {"distinct", "nunique"} and kind not in {"int", "float", "str"}:
        if kind == "Series":
            return f"{name}.value_counts(dropna=False)", "counts"
        values = f"{items}.ravel().tolist()" if kind == "ndarray" else items
        return f"len(set({values}))", "number of different values"
    if wish.op == "missing" and kind == "Series":
        return f"{name}.isna().sum()", "number of missing values"
    if wish.op == "head" and kind in SEQUENCES | ARRAYS | {"str"}:
        number = wish.number or 5
        if kind == "Series":
            return f"{name}.{'tail' if wish.tail else 'head'}({number})", "part"
        return f"{name}[-{number}:]" if wish.tail else f"{name}[:{number}]", "part"
    if wish.op == "describe" and kind == "Series":
        return f"{name}.describe()", "statistics"
    return "", ""


def _size(name: str, kind: str, wish: DataRequest) -> tuple[str, str]:
    if kind in {"int", "float", "bool", "NoneType", "complex"}:
        return "", ""
    if kind == "ndarray":
        return f"{name}.shape", "shape"
    if kind == "str" and "word" in wish.why:
        return f"len({name}.split())", "number of words"
    return f"len({name})", "number of characters" if kind == "str" else "number of elements"


def _statistic(name: str, kind: str, items: str, wish: DataRequest) -> tuple[str, str]:
    method = wish.statistic or ("min" if wish.order == "least" else "max" if wish.order else "mean")
    what = NAMES.get(method, method)
    if kind == "ndarray" and method == "median":
        return f"import numpy as np\n\nnp.median({name})", what
    if kind in MAPPINGS and not wish.statistic and wish.order:
        pick, side = ("max", "largest") if wish.order == "most" else ("min", "smallest")
        return f"{pick}({name}.items(), key=lambda item: item[1])", f"{side} entry"
    if kind in ARRAYS:
        return f"{name}.{method}()", what
    if kind in SEQUENCES | MAPPINGS | {"set", "frozenset"}:
        return BUILTIN[method].format(items), what
    return "", ""


def _plot(name: str, kind: str, wish: DataRequest) -> str:
    start = "import matplotlib.pyplot as plt\n\nplt.figure()\n"
    if kind in MAPPINGS:
        return f"{start}plt.bar(list({name}), list({name}.values()))\nplt.show()\n{name}"
    if kind not in SEQUENCES | ARRAYS:
        return ""
    drawn = PLOTS.get(wish.chart or "", "plot({0})").format(name)
    numbers = (
        f'{name}.agg(["count", "mean", "min", "max"])'
        if kind == "Series"
        else f'print(len({name}), "values from", min({name}), "to", max({name}))'
    )
    if kind == "ndarray":
        numbers = f'print({name}.size, "values from", {name}.min(), "to", {name}.max())'
        drawn = drawn.replace(f"hist({name}", f"hist({name}.ravel()")
    return f"{start}plt.{drawn}\nplt.show()\n{numbers}"


def worded(name: str, what: str, wish: DataRequest, result: ToolResult) -> str:
    """Describe the result about a variable in text."""
    value = scalar(result.value)
    if what == "drawing":
        return f"I drew {span(name)}. The numbers behind it:\n\n{quoted(result.words)}"
    if value is not None and what != "part":
        return f"The {what} of {span(name)} is **{tidy(value)}**."
    rows: list[tuple[str, ...]] = [(label, tidy(number)) for label, number in series(result.value)]
    if rows and wish.op in {"distinct", "describe"}:
        return f"The {what} of {span(name)}:\n\n{table(['value', 'number'], rows)}"
    return f"The {what} of {span(name)}:\n\n{quoted(result.words)}"


def show(runner: PlanRunner, thing: PlainVariable) -> Plan:
    """Show what the variable holds."""
    name = thing.variable.name
    kind = thing.variable.kind
    if runner.can("variables"):
        thought = f"{name} is a {kind}, so I look at what it holds."
        shown = (yield runner.act(thought, "variables", name=name)).text
    else:
        thought = f"{name} is a {kind}, so I show it."
        shown = (yield runner.act(thought, "python", code=name)).words
    text = f"{span(name)} is a {span(kind)}:\n\n{quoted(shown, 30)}"
    return PlanAnswer(text, "The result shows it.")
