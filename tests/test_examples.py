"""The examples in docstrings of the Python API run, with the rehearsal model and no network."""

import doctest
import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palimpsest
from palimpsest import project
from palimpsest.app.wiring import App
from palimpsest.public.session_object import Session, open_session

MODULES = [
    "palimpsest.project",
    "palimpsest.public.session_object",
    "palimpsest.public.recorded_session",
    "palimpsest.public.session_calls",
    "palimpsest.public.session_inspection",
    "palimpsest.public.session_lifecycle",
    "palimpsest.public.session_runs",
    "palimpsest.public.keyed_storage",
]

ENVIRONMENT = {"PALIMPSEST_REHEARSAL_DELAY": "0"}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """An application in a new folder, offline, as a script has it."""
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    made = App(start=tmp_path, overrides={"model": "rehearsal/rules"})
    yield made
    made.close()


def examples() -> list[Any]:
    """Return every docstring of the API that contains an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    codes = []
    for name in MODULES:
        module = importlib.import_module(name)
        codes += [
            pytest.param(example, id=example.name.removeprefix("palimpsest."))
            for example in finder.find(module, name)
            if example.examples
        ]
    return codes


@pytest.mark.slow
@pytest.mark.parametrize("example", examples())
def test_the_example_does_what_it_says(app: App, example: doctest.DocTest) -> None:
    session = open_session(app)
    session.prompt("Hello.")
    example.globs = {"session": session, "app": app, "storage": palimpsest.keyed_storage()}
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL

    failed = doctest.DocTestRunner(optionflags=flags).run(example, out=said.append)

    assert failed.failed == 0, "".join(said)


def test_every_function_about_the_project_is_offered_explained_and_has_an_example() -> None:
    own = {
        name: function
        for name, function in vars(project).items()
        if inspect.isfunction(function)
        and function.__module__ == project.__name__
        and name[0] != "_"
    }

    assert {name: getattr(palimpsest, name) for name in own} == own
    assert [name for name, function in own.items() if ">>>" not in (function.__doc__ or "")] == []


def test_every_method_of_a_session_is_explained_and_typed() -> None:
    public = [name for name in dir(Session) if not name.startswith("_")]
    bare = [name for name in public if not (getattr(Session, name).__doc__ or "").strip()]
    untyped = [
        name
        for name in public
        if callable(member := getattr(Session, name)) and "return" not in member.__annotations__
    ]

    assert (bare, untyped) == ([], [])


def test_every_method_of_a_session_has_an_example_that_runs() -> None:
    """Methods that draw, share or talk to servers have examples in docs/, which are tested there."""
    shown_elsewhere = {"aio", "servers", "connect_servers", "view", "redecide"}
    public = {name for name in dir(Session) if not name.startswith("_")}
    bare = {
        name for name in public if ">>>" not in (getattr(Session, name).__doc__ or "")
    } - shown_elsewhere

    assert bare == set()
