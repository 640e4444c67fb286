"""Every command, method, subcommand, record and field named in docs/routes.md exists."""

import inspect
import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from tests.doc_tables import DOCS, names, not_shown, table

import palimpsest
from palimpsest import project
from palimpsest.app.wiring import App
from palimpsest.frontends.magic.line_parser import OPTIONS
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.page_channel.channel import CONNECTION_COMMANDS
from palimpsest.public.session_object import Session
from palimpsest.transcript.session_record import events

PAGE = DOCS / "routes.md"

BASE = {"id", "type"}
"""Fields of every command and record."""


def fields(cell: str) -> tuple[set[str], set[str]]:
    """Return the required fields, and the optional ones in brackets."""
    optional = {name for group in re.findall(r"\[([^\]]*)\]", cell) for name in _words(group)}
    needed = set(_words(re.sub(r"\[[^\]]*\]", "", cell)))
    return needed, optional


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def tagged(union: Any) -> dict[str, type[BaseModel]]:
    """Return the models of a union by the value of their ``type``."""
    kinds = get_args(get_args(union)[0])
    return {str(kind.model_fields["type"].default): kind for kind in kinds}


def own_fields(model: type[BaseModel]) -> tuple[set[str], set[str]]:
    needed = {name for name, field in model.model_fields.items() if field.is_required()} - BASE
    return needed, set(model.model_fields) - needed - BASE


COMMAND_MODELS = {**CONNECTION_COMMANDS, **TABLE.page_operations}
EVENT_MODELS = tagged(events.Event)
ROUTES = table(PAGE, "OpenCode's route")
EVENTS = table(PAGE, "OpenCode's event")
DIFFERENCES = table(PAGE, "matter")
TYPED = {"none", "a prompt", "by typing"}
"""Cells for actions that need no subcommand."""


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row[0]} {row[2]}")
def test_each_route_has_a_command_a_method_and_a_word(row: list[str]) -> None:
    _, _, command, payload, python, magic, _ = row

    (kind,) = names(command)
    assert fields(payload) == own_fields(COMMAND_MODELS[kind])
    for name in names(python):
        assert _found(name), name
    assert python == "none" or names(python)
    options = {option.long_name for option in OPTIONS}
    for word in names(magic):
        assert word in TABLE.forms or word in options, word
    assert magic in TYPED or names(magic)


def _found(name: str) -> bool:
    owner, _, attribute = name.rpartition(".")
    if owner == "palimpsest":
        return callable(getattr(palimpsest, attribute))
    home = App if owner == "App" else Session
    return inspect.getattr_static(home, attribute, None) is not None


@pytest.mark.parametrize("row", EVENTS, ids=lambda row: row[2])
def test_each_record_has_the_fields_that_are_named(row: list[str]) -> None:
    (kind,) = names(row[2])

    assert fields(row[3]) == own_fields(EVENT_MODELS[kind])


def test_no_record_and_no_command_is_left_out() -> None:
    told = {names(row[2])[0] for row in EVENTS}
    named = {names(row[2])[0] for row in ROUTES}

    assert told == set(EVENT_MODELS)
    assert named == set(COMMAND_MODELS)


def test_no_subcommand_and_no_method_is_left_out() -> None:
    page = set(names(PAGE.read_text(encoding="utf-8")))
    words = {word for row in ROUTES for word in names(row[5])}
    methods = {name for name in dir(Session) if not name.startswith("_")}
    functions = {
        f"palimpsest.{name}"
        for name, function in vars(project).items()
        if inspect.isfunction(function)
        and function.__module__ == project.__name__
        and name[0] != "_"
    }

    assert set(TABLE.forms) - words == {"help"}
    assert (methods | functions) - page == set()


@pytest.mark.parametrize("row", [*ROUTES, *EVENTS, *DIFFERENCES], ids=lambda row: row[0])
def test_each_row_names_the_tests_that_show_it(row: list[str]) -> None:
    assert list(not_shown(row[-1])) == []


def test_a_test_that_is_not_there_is_found() -> None:
    assert list(not_shown("`test_routes.py::test_that_nobody_wrote`"))
    assert list(not_shown("`test_gone.py::test_each_row_names_the_tests_that_show_it`"))
    assert list(not_shown("`doc_tables.py::not_shown`"))
    assert list(not_shown("by hand"))


def test_each_difference_says_what_both_do_and_why() -> None:
    assert all(len(row) == 5 and all(row) for row in DIFFERENCES)
    assert len({row[0] for row in DIFFERENCES}) == len(DIFFERENCES)
