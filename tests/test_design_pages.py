"""Pages of docs/design, CONTRIBUTING.md and the README of each folder name what exists.

What stands in backticks and looks like a module, a file, a function, a class or a setting is looked for
in the repository as it is: its paths, and the words of its code without comments and docstrings.
"""

import fnmatch
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts import wrap_pages
from scripts.wrap_pages import ROOT

pytestmark = pytest.mark.slow

SOURCES = {
    ".py",
    ".pyi",
    ".ts",
    ".tsx",
    ".mts",
    ".cjs",
    ".mjs",
    ".sh",
    ".toml",
    ".cfg",
    ".yaml",
    ".in",
}
CONFIGURATION = {"Makefile", "package.json", "plugin.json", "run"}
THIS = Path(__file__).relative_to(ROOT).as_posix()
LEFT_OUT = {
    ".git",
    ".venv",
    "node_modules",
    "__pycache__",
    "static",
    "lib",
    "dist",
    "build",
    ".yarn",
}
CODE_SPAN = re.compile(r"`([^`]+)`")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
ENDING = r"\.(?:py|tsx?|md|cfg|toml|jsonl?|lock|in|ipynb|sh)"
A_FILE = re.compile(r"\.?[\w{},*<>-]+(?:[/.][\w{},*<>-]+)*" + ENDING)
A_FOLDER = re.compile(r"\.?[a-zA-Z_][\w.-]*(?:/[\w.{},*-]+)*/|[a-z_]\w*(?:/[\w{},*]+)+")
A_NAME = re.compile(r"\.?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(.*\))?")
A_TEST = re.compile(r"(test_\w+)\.\.\.")
SAID_IN_PYTHON = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|^\s*#.*$', re.MULTILINE)
SAID_IN_SCRIPT = re.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|^\s*//.*$", re.MULTILINE)
"""Comments and docstrings, which may speak of what is gone."""
WORD = re.compile(r"[A-Za-z_]\w*")
MODULES = re.compile(r"^\| module \|.*\n\|[-| ]+\n((?:\|.*\n)+)", re.MULTILINE)

ELSEWHERE = {
    "OutStream._fid": "ipykernel's stream of outputs",
    "RLIMIT_AS": "a limit of POSIX that was considered",
    "nest_asyncio": "a library that a person may use",
    "package-lock.json": "npm's file, which was considered",
    "preexec_fn": "an argument of subprocess that is not given",
    "pydantic.py": "a file that stands in for a library",
    "vfork": "a call of the system",
}
"""Names in backticks that are not in this repository, with what they are."""


@functools.cache
def paths() -> frozenset[str]:
    """Return the files and folders of the repository."""
    found: set[str] = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        inside = Path(folder).relative_to(ROOT).as_posix()
        found |= {f"{inside}/{name}" for name in (*folders, *files)}
    return frozenset(path.removeprefix("./") for path in found)


@functools.cache
def endings() -> frozenset[str]:
    """Return each path from each of its folders on, modules also without their ending."""
    all_paths = {*paths(), *(path.removesuffix(".py") for path in paths())}
    pieces = (path.split("/") for path in all_paths)
    return frozenset("/".join(parts[start:]) for parts in pieces for start in range(len(parts)))


@functools.cache
def words() -> dict[str, frozenset[str]]:
    """Return the words of each file of code; its own name is one of them."""
    by_file = {}
    for path in paths():
        name = Path(path)
        if (name.suffix in SOURCES or name.name in CONFIGURATION) and path != THIS:
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            said = SAID_IN_SCRIPT if name.suffix in {".ts", ".tsx"} else SAID_IN_PYTHON
            by_file[path] = frozenset({name.stem, *WORD.findall(said.sub("", text))})
    return by_file


@functools.cache
def all_words() -> frozenset[str]:
    return frozenset().union(*words().values())


def expanded(name: str) -> Iterator[str]:
    """Yield the names that one stands for, such as ``test_{a,b}.py``, and ``<room>/<tool>.py`` as a pattern."""
    name = re.sub(r"<\w+>", "*", name)
    braces = re.search(r"\{([^}]*)\}", name)
    if not braces:
        yield name
        return
    for choice in braces[1].split(","):
        yield from expanded(name[: braces.start()] + choice + name[braces.end() :])


def is_there(path: str) -> bool:
    """Return whether a path, or a pattern of one, ends the path of a file, a module or a folder."""
    path = path.strip("/")
    return bool(fnmatch.filter(endings(), path)) if "*" in path else path in endings()


def is_known(dotted: str) -> bool:
    """Return whether a name is a word of the code, and one with dots a module, its content, or an attribute."""
    *owners, name = dotted.split(".")
    if not owners:
        return name in all_words()
    module = "/".join(owners)
    files = (f"/{module}.py", f"/{module}/__init__.pyi", f"/{module}/__init__.py")
    if is_there(f"{module}/{name}") or any(
        name in said and f"/{path}".endswith(files) for path, said in words().items()
    ):
        return True
    is_attribute = owners[0] != "palimpsest" and not name[0].isupper()
    return is_attribute and any(word.issuperset({*owners, name}) for word in words().values())


def missing_in_span(span: str) -> Iterator[str]:
    """Yield what a code span names and is nowhere; nothing for a span that is no name."""
    if begins := A_TEST.fullmatch(span):
        if not any(word.startswith(begins[1]) for word in all_words()):
            yield span
    elif A_FILE.fullmatch(span) or A_FOLDER.fullmatch(span):
        for path in expanded(span):
            made = not LEFT_OUT.isdisjoint(path.split("/"))
            if not made and not is_there(path) and f'"{path}"' not in strings():
                yield path
    elif (name := A_NAME.fullmatch(span)) and not is_known(name[1]):
        yield span


@functools.cache
def strings() -> str:
    """Return the code as one text, in which strings such as ``"text/plain"`` are looked for."""
    return "\n".join(
        (ROOT / path).read_text(encoding="utf-8", errors="replace") for path in words()
    )


def code_spans(text: str) -> Iterator[str]:
    """Yield the code spans of a page, also those over two lines; a table of modules names modules."""
    running = FENCED.sub("", text)
    for rows in MODULES.findall(running):
        for row in rows.splitlines():
            yield from (
                f"{module}.py"
                for module in CODE_SPAN.findall(row.split("|")[1])
                if "." not in module
            )
    for paragraph in re.split(r"\n(?=\s*\n|\s*[-|])", running):
        yield from (re.sub(r"\s+", " ", span) for span in CODE_SPAN.findall(paragraph))


def missing_names(text: str) -> list[str]:
    return sorted(
        {name for span in code_spans(text) for name in missing_in_span(span)} - ELSEWHERE.keys()
    )


PAGES = {page.relative_to(ROOT).as_posix(): page for page in wrap_pages.pages()}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_nothing_that_is_not_there(page: str) -> None:
    assert missing_names(PAGES[page].read_text(encoding="utf-8")) == []


def test_a_name_from_elsewhere_is_on_a_page_and_not_in_the_code() -> None:
    spans = {
        span for page in PAGES.values() for span in code_spans(page.read_text(encoding="utf-8"))
    }

    assert ELSEWHERE.keys() - spans == set()
    assert [name for name in ELSEWHERE if not list(missing_in_span(name))] == []


@pytest.mark.parametrize(
    "gone",
    [
        "context/hygiene",
        "context/reduction/gone.py",
        "tests/test_{walk,gone}.py",
        "tests/loop/test_gone*.py",
        "palimpsest.model.gone",
        "journal.Gone",
        "GoneForGood",
        "gone_for_good()",
        "compact.gone_for_good",
        "test_that_is_gone_for...",
    ],
)
def test_a_name_of_what_is_gone_is_found(gone: str) -> None:
    assert missing_names(f"It is `{gone}`.")
    assert not missing_names(f"```\n{gone}\n```")


@pytest.mark.parametrize(
    "there",
    [
        "context/reduction/pruning.py",
        "context/reduction",
        "reduction/pruning",
        "tests/test_{walk,shape}.py",
        "palimpsest.sessions",
        "journal.Journal",
        "Session.whatif",
        "compact.audit",
        "text/plain",
        "make check",
        "test_a_torn_tail...",
    ],
)
def test_a_name_of_what_is_there_is_none_of_them(there: str) -> None:
    assert missing_names(f"It is `{there}`.") == []


def test_a_table_of_modules_names_modules() -> None:
    assert missing_names("| module | idea |\n|---|---|\n| `journal`, `gone` | appends |\n") == [
        "gone.py"
    ]


def test_only_running_text_is_wrapped_and_no_code_span_is_broken() -> None:
    words = "word " * 22
    page = (
        f"# {words}title\n\n{words}`a span of code` # on\n\n"
        f"- {words}\n  goes on\n\n| {words} | {words} |\n\n```\n{words}{words}\n```\n"
    )

    assert wrap_pages.wrapped(page) == (
        f"# {words}title\n\n{words.strip()}\n`a span of code` # on\n\n"
        f"- {words}goes on\n\n| {words} | {words} |\n\n```\n{words}{words}\n```\n"
    )


TOP_FOLDERS = [
    *(init.parent for init in sorted((ROOT / "kernel_ext/palimpsest").glob("*/__init__.py"))),
    ROOT / "labextension/src",
    *(folder for folder in sorted((ROOT / "labextension/src").iterdir()) if folder.is_dir()),
]
MAX_LINES = 40


@pytest.mark.parametrize("folder", TOP_FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_top_folder_says_what_it_is_its_contract_and_where_to_begin(folder: Path) -> None:
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()

    assert lines[0] == f"# {folder.name}"
    assert [line for line in lines if line.startswith("## ")] == [
        "## Contract",
        "## Where to begin",
    ]
    assert len(lines) <= MAX_LINES
