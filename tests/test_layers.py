"""Imports point downwards through the layers, and each outside library is imported in one place.

import-linter checks the same contract in `make check`; this test explains it in one table, includes imports
inside functions, and needs nothing but the sources.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "kernel_ext" / "palimpsest"

LAYERS = (
    {"testing"},
    {"project"},
    {"boot"},
    {"ipython_extension"},
    {"public"},
    {"app"},
    {"frontends", "rehearsal"},
    {"lessons"},
    {"review", "session", "live_policies"},
    {"loop", "context_policies"},
    {"processor", "recordings", "request_items"},
    {"context", "model", "tools", "store", "render"},
    {"transcript"},
)
"""From top to bottom; folders on one line do not import each other."""
TOP = LAYERS[0]

PURE = {"context", "render", "transcript"}
IMPURE = {
    "asyncio", "datetime", "litellm", "os", "pathlib", "random", "socket", "subprocess",
    "threading", "tiktoken", "time",
}  # fmt: skip

HOMES = {
    "litellm": {"model/adapter/litellm_model.py"},
    "tiktoken": {"model/tokenizer.py"},
    "IPython": {"ipython_extension.py", "frontends/"},
    "ipykernel": {"ipython_extension.py", "frontends/"},
    "ipywidgets": {"ipython_extension.py", "frontends/"},
    "anywidget": {"ipython_extension.py", "frontends/"},
    "tornado": {"server_extension.py"},
    "jupyter_server": {"server_extension.py"},
    "mcp": {"tools/mcp/client.py", "tools/mcp/transports.py"},
}

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    """Yield the names of all modules that a source imports, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_of(module: str) -> str:
    """Return the folder, or the top-level module, that a module belongs to."""
    return module.removeprefix("palimpsest.").split(".")[0]


def layer_of(folder: str) -> int | None:
    """Return the index of a folder's layer, or None for the package's own ``__init__``."""
    return next((place for place, names in enumerate(LAYERS) if folder in names), None)


def wrong_imports(path: str, source: str) -> list[str]:
    """Return the imports of a module that its layer does not allow."""
    here = path.removesuffix(".py").split("/")[0]
    own = layer_of(here)
    wrong: list[str] = []
    for name in imported(source):
        outside = name.split(".")[0]
        there = layer_of(folder_of(name)) if outside == "palimpsest" else None
        sideways = there is not None and own is not None and folder_of(name) != here
        if outside == "palimpsest" and folder_of(name) in TOP and here not in TOP:
            wrong.append(f"nothing imports {name}, which is for those who test")
        elif sideways and there <= own:
            wrong.append(f"{here} lies not above {name}")
        if here in PURE and outside in IMPURE:
            wrong.append(f"{here} is pure and imports {name}")
        if outside in HOMES and not any(path.startswith(home) for home in HOMES[outside]):
            wrong.append(f"{outside} lives in {', '.join(sorted(HOMES[outside]))}")
    return wrong


def test_every_module_imports_only_what_lies_below() -> None:
    wrong = {
        path: found
        for path in MODULES
        if (found := wrong_imports(path, (PACKAGE / path).read_text(encoding="utf-8")))
    }

    assert len(MODULES) > 400
    assert wrong == {}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("loop/turn.py", "from palimpsest.session.open_sessions.live_session import Live"),
        ("store/log/journal.py", "from palimpsest.tools import registry"),
        ("context/reduction/pruning.py", "import time"),
        ("tools/execution/python.py", "from IPython import get_ipython"),
        ("transcript/ids.py", "def f():\n    import palimpsest.app.wiring"),
        ("session/open_sessions/live_session.py", "from palimpsest.testing import ScriptedModel"),
        ("public/session_object.py", "from palimpsest import testing"),
        ("frontends/frontend.py", "import tornado.ioloop"),
    ],
)
def test_an_import_that_points_upwards_or_strays_is_found(path: str, line: str) -> None:
    assert wrong_imports(path, line)


def test_every_folder_has_a_layer() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    assert folders
    assert folders <= set().union(*LAYERS)
