"""Conventions for every file of the package: docstrings, sizes of folders, and public names."""

import ast
import configparser
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import palimpsest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kernel_ext" / "palimpsest"
MODULES = sorted(PACKAGE.rglob("*.py"))
INITS = [path for path in MODULES if path.name == "__init__.py" and path.parent != PACKAGE]
PUBLIC = {"app", "testing"}
"""Public folders; their ``__init__`` lists the public names."""
MAX_MODULES = 16
"""More than these in one folder, and a stranger reads names instead of guessing one."""
Look = Callable[[str], Iterator[str]]
ROOMS = ROOT / "docs" / "design" / "0036-rooms.md"
A_ROOM = re.compile(r"^\| `([\w/]+)` \| (.+) \|$", re.MULTILINE)
A_FILE = re.compile(r"`((?:\w+/)*\w+\.py)`")
TREE = re.compile(r"```\n(kernel_ext/palimpsest/\n.*?)```", re.DOTALL)


def docstring_faults(source: str) -> Iterator[str]:
    """Yield faults of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(source))
    if not docstring:
        yield "has no docstring"
    elif not docstring.splitlines()[0].endswith((".", ":")):
        yield "begins with a line that is no sentence"


def extra_contents(source: str) -> Iterator[str]:
    """Yield the contents of a folder's ``__init__`` beside its docstring."""
    yield from (f"holds {ast.unparse(statement)!r}" for statement in ast.parse(source).body[1:])


def listing_faults(source: str) -> Iterator[str]:
    """Yield faults of a public folder's ``__init__``, which may only import what it lists."""
    _, *rest = ast.parse(source).body
    imports = [statement for statement in rest if isinstance(statement, ast.ImportFrom)]
    named = sorted(alias.asname or alias.name for statement in imports for alias in statement.names)
    match [statement for statement in rest if statement not in imports]:
        case [ast.Assign(targets=[ast.Name(id="__all__")], value=value)]:
            if ast.literal_eval(value) != named:
                yield f"lists other names than it imports: {named}"
        case others:
            yield f"holds more than imports and __all__: {[ast.unparse(statement) for statement in others]}"


def faults_of(paths: list[Path], look: Look) -> list[str]:
    """Return the faults of files, each with the file's path before it."""
    return [
        f"{path.relative_to(PACKAGE).as_posix()} {problem}"
        for path in paths
        for problem in look(path.read_text(encoding="utf-8"))
    ]


def test_no_folder_holds_more_than_sixteen_modules() -> None:
    sizes = Counter(path.parent for path in MODULES if path.name != "__init__.py")

    assert {path.name: size for path, size in sizes.items() if size > MAX_MODULES} == {}


def test_no_folder_has_a_public_name() -> None:
    """An import of the folder would take the place of what the name stands for, such as ``palimpsest.policies``."""
    assert {path.stem for path in PACKAGE.iterdir()} & set(palimpsest.__all__) == set()


def test_every_module_says_what_it_is() -> None:
    assert len(MODULES) > 400
    assert faults_of(MODULES, docstring_faults) == []


def test_the_init_of_a_folder_is_its_docstring() -> None:
    inner = [path for path in INITS if path.parent.name not in PUBLIC]

    assert len(inner) > 10
    assert faults_of(inner, extra_contents) == []


def test_the_init_of_a_public_folder_imports_what_it_lists_and_nothing_else() -> None:
    public = [path for path in INITS if path.parent.name in PUBLIC]

    assert len(public) == len(PUBLIC)
    assert faults_of(public, docstring_faults) == []
    assert faults_of(public, listing_faults) == []


@pytest.mark.parametrize(
    ("look", "source"),
    [
        (docstring_faults, "x = 1\n"),
        (docstring_faults, '"""No sentence"""\n'),
        (extra_contents, '"""A folder."""\nx = 1\n'),
        (listing_faults, '"""A folder."""\nfrom a import b\n__all__ = ["c"]\n'),
        (listing_faults, '"""A folder."""\nfrom a import b\nx = 1\n__all__ = ["b"]\n'),
    ],
)
def test_what_is_out_of_shape_is_found(look: Look, source: str) -> None:
    assert list(look(source))


def test_the_tree_for_contributors_is_the_one_on_disk() -> None:
    match = TREE.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))

    assert match
    listed = {line.split()[0] for line in match[1].splitlines()[1:]}
    on_disk = {
        path.name + ("/" if path.is_dir() else "")
        for path in PACKAGE.iterdir()
        if path.suffix in {"", ".py"} and path.name != "__pycache__"
    }
    assert listed == on_disk


def test_the_page_of_rooms_lists_those_on_disk_in_the_words_of_their_docstrings() -> None:
    rooms = {
        path.parent.relative_to(PACKAGE).as_posix(): path
        for path in INITS
        if len(path.parent.relative_to(PACKAGE).parts) > 1
    }

    assert dict(A_ROOM.findall(ROOMS.read_text(encoding="utf-8"))) == {
        room: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
        for room, path in rooms.items()
    }


def test_the_page_of_rooms_lists_the_lowest_room_first() -> None:
    contracts = configparser.RawConfigParser()
    contracts.read(ROOT / "setup.cfg")
    told = [room for room, _ in A_ROOM.findall(ROOMS.read_text(encoding="utf-8"))]
    checked = 0
    for name in contracts.sections():
        if not name.startswith("importlinter:contract:rooms-"):
            continue
        folder = contracts[name]["containers"].strip().removeprefix("palimpsest.").replace(".", "/")
        layers = contracts[name]["layers"].split("\n")
        height = {
            f"{folder}/{room.strip()}": -place
            for place, layer in enumerate(layers)
            for room in layer.split("|")
        }
        listed = [
            height[room] for room in told if room.rpartition("/")[0] == folder and room in height
        ]
        assert listed == sorted(listed), folder
        checked += len(listed)
    assert checked == len(told)


def test_every_file_that_the_page_of_rooms_names_exists() -> None:
    named = set(A_FILE.findall(ROOMS.read_text(encoding="utf-8")))
    there = {path.relative_to(PACKAGE).as_posix() for path in MODULES}
    names = {path.name for path in MODULES}

    assert len(named) > 30
    assert named - there - names - {name for name in named if (ROOT / name).exists()} == set()
