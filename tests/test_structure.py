"""No import cycles between files, and no class name with two definitions; in Python and TypeScript.

Every import counts, also for types only and inside functions: to understand one file of a cycle one has to
read them all.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kernel_ext" / "palimpsest"
FRONT_END = ROOT / "labextension" / "src"

IMPORT = re.compile(r"""\b(?:import|export)\b[^;'"]*?["']([^'"]+)["']""")
DEFINITION = re.compile(
    r"^(?:export )?(?:default )?(?:abstract )?(?:class|interface|type|enum|function|const)"
    r" ([A-Z]\w*[a-z]\w*)",
    re.MULTILINE,
)
"""A class, interface, type or component; all-capital names are constants of their file."""

Graph = dict[str, set[str]]


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return files that import each other in a cycle, with the first one again at the end."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


@cache
def nodes(source: str) -> list[ast.stmt | ast.expr]:
    """Return the imports, classes and calls of a source, looked for once for all tests of this file."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def python_imports(sources: Mapping[str, str]) -> Graph:
    """Return the modules that each module imports; sources are keyed by dotted name."""
    graph: Graph = {}
    for module, source in sources.items():
        imported: set[str] = set()
        for node in nodes(source):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= whole if whole <= sources.keys() else {*whole, node.module}
        graph[module] = {name for name in imported if name in sources and name != module}
    return graph


def script_imports(sources: Mapping[Path, str]) -> Graph:
    """Return the files that each front end file imports; sources are keyed by absolute path."""
    graph: Graph = {}
    for path, source in sources.items():
        bases = [
            (path.parent / name).resolve()
            for name in IMPORT.findall(source)
            if name.startswith(".")
        ]
        imported = {Path(f"{base}{ending}") for base in bases for ending in ("", ".ts", ".tsx")}
        graph[str(path)] = {str(path) for path in imported & sources.keys()}
    return graph


def defined_repeatedly(defined: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that are defined in more than one place, with the places."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in defined:
        places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


@cache
def python_sources() -> dict[str, str]:
    sources = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
    return sources


@cache
def script_sources() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in FRONT_END.rglob("*.ts*")}


@pytest.mark.soak  # with each commit tests/test_layers.py holds each room to those below; this adds circles within a room
def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(python_imports(python_sources())) == []


def test_no_files_of_the_front_end_import_each_other_in_a_circle() -> None:
    assert circle(script_imports(script_sources())) == []


def test_a_circle_through_an_import_for_types_or_inside_a_function_is_found() -> None:
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import B\n"
    late = "def f():\n    from p import a\n"
    here = Path("/src")

    assert circle(python_imports({"p": "", "p.a": types, "p.b": late}))
    assert circle(
        script_imports(
            {
                here / "a.ts": "import type { B } from './b';",
                here / "b.tsx": "import {\n  a\n} from './a';",
            }
        )
    )


def test_a_class_name_means_one_thing() -> None:
    classes = (
        (node.name, module)
        for module, source in python_sources().items()
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
    )

    assert defined_repeatedly(classes) == {}


def test_a_type_or_component_of_the_front_end_has_a_name_of_its_own() -> None:
    names = (
        (name, path.name)
        for path, source in script_sources().items()
        for name in DEFINITION.findall(source)
    )

    assert defined_repeatedly(names) == {}


def test_no_class_reaches_into_its_inheritor() -> None:
    """``vars(self)`` reads attributes that a subclass sets; dependencies must be passed in."""
    offenders = [
        module
        for module, source in python_sources().items()
        for node in nodes(source)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "vars"
        and any(isinstance(argument, ast.Name) and argument.id == "self" for argument in node.args)
    ]

    assert offenders == []


MAX_COPIED_FIELDS = 7
"""Fields that a value may take over from another one under their own names; more is the same value once more."""


def copied_fields(call: ast.Call) -> int:
    """Return how many arguments of a call are the attributes of one other value that have their names."""
    owners = Counter(
        ast.unparse(keyword.value.value)
        for keyword in call.keywords
        if isinstance(keyword.value, ast.Attribute) and keyword.value.attr == keyword.arg
    )
    del owners["self"]
    return max(owners.values(), default=0)


def test_no_value_of_a_page_is_another_value_copied_field_by_field() -> None:
    sources = {
        module: source
        for module, source in python_sources().items()
        if module.startswith(("palimpsest.frontends.", "palimpsest.review.timeline_view."))
    }
    copies = [
        (module, ast.unparse(node.func))
        for module, source in sources.items()
        for node in nodes(source)
        if isinstance(node, ast.Call) and copied_fields(node) > MAX_COPIED_FIELDS
    ]

    assert copies == []
