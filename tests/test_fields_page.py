"""docs/fields.md names every field of the log, every setting and every variable, with a test for each."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from tests.doc_tables import DOCS, Row, names, not_shown, table, titles
from tests.session.config.test_settings_page import settings

from palimpsest.session.config.settings import Config
from palimpsest.transcript import errors, messages, parts
from palimpsest.transcript.session_record import sessions

PAGE = DOCS / "fields.md"
PACKAGE = Path(__file__).parents[1] / "kernel_ext" / "palimpsest"
SECTIONS = [title for title in titles(PAGE, "###") if "`" in title]
HEAD = "OpenCode's field"
KINDS = {"type", "status"}
"""The discriminator fields of parts and states."""


def members(union: Any) -> tuple[type[BaseModel], ...]:
    """Return the models of a discriminated union."""
    return get_args(get_args(union)[0])


MODELS: dict[str, type[BaseModel]] = {
    model.__name__: model
    for model in (
        sessions.SessionInfo,
        messages.UserMessage,
        messages.AssistantMessage,
        parts.PartBase,
        *members(parts.Part),
        *members(parts.ToolState),
    )
}


def own_fields(model: type[BaseModel]) -> set[str]:
    """Return the fields of a model, without those that every part has."""
    common = set(parts.PartBase.model_fields) if model is not parts.PartBase else set()
    inherited = common if issubclass(model, parts.PartBase) else set()
    return set(model.model_fields) - inherited - KINDS


def named_fields(rows: list[Row]) -> set[str]:
    """Return the names in the second cells of rows."""
    return {name for row in rows for name in names(row[1])}


def rows() -> Iterator[Row]:
    """Yield every row of the page."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[-1] != "shown by" and not set(line) <= set("|-"):
            yield cells


def test_every_record_has_a_table() -> None:
    assert {names(title)[0] for title in SECTIONS} == set(MODELS)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_field_has_a_row_and_no_other(title: str) -> None:
    model = MODELS[names(title)[0]]
    named = named_fields(table(PAGE, HEAD, title))

    assert {name.partition(".")[0] for name in named} == own_fields(model)
    for name in named:
        assert has_field(model, name), name


def has_field(model: type[BaseModel], name: str) -> bool:
    """Return whether a model has a field, by its dotted name."""
    first, _, rest = name.partition(".")
    if first not in model.model_fields:
        return False
    inner = model_in(model.model_fields[first].annotation)
    return not rest or (inner is not None and has_field(inner, rest))


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a field's type, if any."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def test_every_error_has_a_row_with_its_fields() -> None:
    kinds = {error.model_fields["type"].default: error for error in members(errors.ErrorValue)}
    named = {names(row[1])[0]: row[2] for row in table(PAGE, "OpenCode's error")}

    assert set(named) == set(kinds)
    for kind, fields in named.items():
        assert set(fields.split(", ")) == set(kinds[kind].model_fields) - {"type"}


def test_every_setting_has_a_row_and_no_other() -> None:
    assert named_fields(table(PAGE, "OpenCode's setting")) == set(settings(Config))


def test_every_variable_has_a_row_and_no_other() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    variables = {
        name for name in re.findall(r"\bPALIMPSEST_[A-Z_]+", source) if not name.endswith("_")
    }

    assert named_fields(table(PAGE, "OpenCode's flag")) == variables


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: f"{row[0]} {row[1]}")
def test_each_row_names_the_tests_that_show_it(row: Row) -> None:
    assert list(not_shown(row[-1])) == []


def test_a_field_without_a_row_is_missed() -> None:
    class Newer(parts.TextPart):
        """A part with one field more."""

        mood: str = ""

    assert own_fields(Newer) - named_fields(table(PAGE, HEAD, "### Text: `TextPart`")) == {"mood"}
