"""Every figure that is shown stands on docs/numbers.md by its key, and the page's example runs."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from tests.doc_tables import DOCS

import palimpsest
from palimpsest.context.compaction.lost_names import LOST_KINDS
from palimpsest.context_policies.calibration.proof import NO_PROOF
from palimpsest.review.comparison.policy_comparison import columns
from palimpsest.review.session_figures import SessionFigures
from palimpsest.review.tables.figures import PolicyFigures

PAGE = (DOCS / "numbers.md").read_text(encoding="utf-8")
NAMED = frozenset(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))
"""What the page names in its text and tables, without its examples."""
SOURCE = Path(palimpsest.__file__).parent
FORMS = frozenset({"count", "usd", "share", "seconds", "decimal"})
"""Of a column that holds a number; the others hold words."""
WORDS = frozenset({"unit", "sentence", "reasons", "models", "verdict", "holds", "own_rule"})
"""What figures have beside their numbers."""
WINDOW = ("used", "free", "over", "window", "reserve", "reported", "calibration")


def number_columns(path: Path) -> Iterator[str]:
    """Yield the keys of the columns with numbers that a module makes: ``TableColumn(key, title, form)``, or a row of its lists, with what it counts behind these."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    # The words of a Literal are no row.
    types = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    for node in nodes:
        if id(node) in types:
            continue
        match node:
            case ast.Call(
                func=ast.Name(id="TableColumn"), args=[ast.Constant(value=str(key)), _, form, *_]
            ):
                # Money has its form by its unit.
                if not isinstance(form, ast.Constant) or form.value in FORMS:
                    yield key
            case ast.Tuple(
                elts=[ast.Constant(value=str(key)), _, ast.Constant(value=form)]
                | [ast.Constant(value=str(key)), _, ast.Constant(value=form), ast.Constant()]
            ):
                if form in {*FORMS, "money"}:
                    yield key
            case _:
                pass


def numbers_of(kind: type) -> set[str]:
    """Return the fields of figures that are numbers."""
    return {
        figure.name for figure in fields(kind) if re.search(r"\b(?:int|float)\b", str(figure.type))
    }


def test_every_column_with_numbers_is_on_the_page() -> None:
    shown = {key for path in SOURCE.rglob("*.py") for key in number_columns(path)}

    assert {column.key for column in columns("USD") if column.form != "text"} <= shown
    assert {"recorded_cost", "peak_share", "returned_tokens", "loss"} <= shown
    assert sorted(shown - NAMED) == []


@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("a session, in JSON and in a corpus", numbers_of(SessionFigures)),
        ("a track of the inspector", numbers_of(PolicyFigures)),
        ("the proof", {*NO_PROOF.json()}),
        ("a context window", {*WINDOW}),
        ("what a compaction lost", {*LOST_KINDS}),
    ],
)
def test_every_figure_of_a_place_is_on_the_page(place: str, keys: set[str]) -> None:
    assert len(keys) > 5, place
    assert sorted(keys - NAMED - WORDS) == [], place


def test_the_example_by_hand_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)

    assert code.count("assert ") > 5
    exec(compile(code, "numbers.md", "exec"), {})
