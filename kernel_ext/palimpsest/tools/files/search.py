"""The glob and grep tools: find files by name, and lines by content.

Border: reads the project's tree in a thread. Patterns come from a model, so each match has a time
limit and lets other threads run meanwhile; the user's code shares this process.
"""

import codecs
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import regex
from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import in_thread
from palimpsest.tools.file_access.file_contents import TextFile, is_binary, read_real
from palimpsest.tools.file_access.gitignore import walk
from palimpsest.tools.file_access.globs import compile_glob, split_base
from palimpsest.tools.file_access.paths import (
    ResolvedPath,
    is_key_file,
    missing,
    reach,
    reach_folder,
)
from palimpsest.tools.tool import Abort, ToolContext, ToolOutcome
from palimpsest.transcript.context_values.hidden_cells import (
    NONE_HIDDEN,
    BrokenNotebook,
    HiddenRuns,
    without_hidden_cells,
)
from palimpsest.transcript.errors import Aborted, UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

MOST_PATHS = 100
MOST_HITS = 200
MOST_LINE_CHARS = 300
LARGEST_FILE_BYTES = 20_000_000
LONGEST_SEARCH_SECONDS = 20.0
LONGEST_MATCH_SECONDS = 2.0
"""Time limit for one line; a good pattern takes microseconds, and one that takes seconds may take years."""

WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class GlobArguments(BaseModel):
    """Input of the glob tool."""

    pattern: str = Field(
        min_length=1, description="Such as **/*.py, data/*.{csv,parquet}, or *.ipynb at any depth."
    )
    path: str = Field(default=".", description="Folder to search in.")


class GlobTool:
    """The glob tool, which finds files by name."""

    name = "glob"
    description = "Find files by name pattern, the newest first."
    arguments: type[BaseModel] = GlobArguments
    concurrent = True
    permission = "glob"

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the files that match, newest first."""
        base, pattern = split_base(arguments.pattern)
        wanted = compile_glob(pattern)
        start = base if base.startswith(("/", "~")) else f"{arguments.path}/{base}"
        place = await reach_folder(context, start)
        await context.ask(
            self.permission, [arguments.pattern], title=f"Find {arguments.pattern}", always=["*"]
        )
        root = context.root.resolve()
        names = _NameSearch(root, place.path, wanted, context.abort)
        paths, ignored = await in_thread(context.abort, names.run)
        shown = [_name(path, root) for path in paths[:MOST_PATHS]]
        lines = ["(Only ignored files match.)"] if ignored and paths else []
        lines += shown or [f"No file matches {arguments.pattern} in {_where(place)}."]
        if len(paths) > MOST_PATHS:
            lines.append(f"({len(paths) - MOST_PATHS} more files match; narrow the pattern.)")
        if names.cut_short:
            lines.append(f"(Stopped after {LONGEST_SEARCH_SECONDS:.0f} s; give a deeper path.)")
        return ToolOutcome(arguments.pattern, "\n".join(lines), {"count": len(paths)})


@dataclass
class _NameSearch:
    """One search for file names."""

    root: Path
    folder: Path
    wanted: re.Pattern[str]
    abort: Abort
    cut_short: bool = False

    def run(self) -> tuple[list[Path], bool]:
        """Return the matching files and whether they are ignored ones, which are only searched if needed."""
        paths = self._named(ignored_too=False)
        return (paths, False) if paths else (self._named(ignored_too=True), True)

    def _named(self, *, ignored_too: bool) -> list[Path]:
        deadline = time.monotonic() + LONGEST_SEARCH_SECONDS
        found: list[tuple[float, str, Path]] = []
        for one in walk(self.root, self.folder, ignored_too=ignored_too):
            if self.abort.is_set():
                raise Aborted(self.abort.reason)
            if time.monotonic() > deadline:
                self.cut_short = True
                break
            if self.wanted.match(recorded_name(one.path.relative_to(self.folder).as_posix())):
                found.append((-_modified(one.path), str(one.path), one.path))
        return [path for _, _, path in sorted(found)]


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


class GrepArguments(BaseModel):
    """Input of the grep tool."""

    pattern: str = Field(
        min_length=1, description="Python regular expression, matched line by line."
    )
    path: str = Field(default=".", description="File or folder to search in.")
    include: str | None = Field(
        default=None, description="Search only files of this name pattern, such as *.py."
    )


class GrepTool:
    """The grep tool, which finds lines by content."""

    name = "grep"
    description = (
        "Search file contents with a regular expression; returns matching lines with their numbers, by file. "
        "Ignored and binary files are passed over."
    )
    arguments: type[BaseModel] = GrepArguments
    concurrent = True
    permission = "grep"

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the lines that match, by file."""
        pattern = compiled(arguments.pattern)
        include = compile_glob(arguments.include) if arguments.include else None
        place = await reach(context, arguments.path)
        if not place.path.exists():
            raise missing(place)
        title = f"Search {arguments.pattern}"
        await context.ask(self.permission, [arguments.pattern], title=title, always=["*"])
        if place.path.is_file():
            # Searching a named file reads it, so a key file asks as for the read tool.
            await context.ask("read", [place.shown], title=title, always=place.always("read"))
        root = context.root.resolve()
        literal, hidden = prefilter(arguments.pattern), context.hidden_runs()
        search = _Search(pattern, literal, context.abort, root, hidden)
        await in_thread(context.abort, lambda: search.run(place.path, include))
        output = context.scrubber()(search.in_words(arguments.pattern, _where(place)))
        metadata = {"count": search.count, "files": len(search.hits)}
        return ToolOutcome(arguments.pattern, output, metadata)


def compiled(pattern: str) -> "regex.Pattern[str]":
    """Compile a regular expression written by the model; raises UserError."""
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise UserError(
            f"{pattern!r} is not a valid regular expression: {error}. "
            "To search for special characters as they are, put a backslash before each."
        ) from error
    except (RecursionError, MemoryError) as error:
        raise UserError(
            "The regular expression is too long or too deeply nested. Search for less of it."
        ) from error


def match_in(pattern: "regex.Pattern[str]", line: str, where: str) -> "regex.Match[str] | None":
    """Return the first match in a line; raises UserError where that takes too long."""
    try:
        return pattern.search(line, timeout=LONGEST_MATCH_SECONDS, concurrent=True)
    except TimeoutError as error:
        raise UserError(
            f"{pattern.pattern!r} takes too long on {where}: nested repeats make the search grow without end. Write it "
            "without a repeat inside a repeat."
        ) from error


SHORTEST_PREFILTER = 3
GROUPING = re.compile(r"[()\[\]{}]")
PLAIN_RUN = re.compile(r"\\[dDwWsSbB]|\\[^\w]|[\w@%&=<>~,;:'\"!/-]+|.", re.DOTALL)


def prefilter(pattern: str) -> bytes | None:
    """Return bytes that every matching line must contain, or None when they cannot be determined.

    Only the part before the first bracket is used, since what follows may be optional.
    """
    if "|" in pattern or "(?" in pattern or not pattern.isascii():
        return None
    bracket = GROUPING.search(pattern)
    head = pattern[: bracket.start()] if bracket else pattern
    longest = ""
    for match in PLAIN_RUN.finditer(head):
        token = match[0]
        if token == "\\":
            # An escape with an argument, such as \\x41: what follows it is not literal.
            return None
        if not (token[0].isalnum() or token[0] in "_@%&=<>~,;:'\"!/-"):
            continue
        # A repeat or an option applies to the last character before it.
        run = token[:-1] if pattern[match.end() : match.end() + 1] in set("*?{") else token
        longest = max(longest, run, key=len)
    return longest.encode() if len(longest) >= SHORTEST_PREFILTER else None


@dataclass
class _Search:
    """One search for lines: its pattern and limits, and what it has found so far."""

    pattern: "regex.Pattern[str]"
    literal: bytes | None
    abort: Abort
    root: Path
    hidden: HiddenRuns = NONE_HIDDEN
    hits: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0
    notes: list[str] = field(default_factory=list)

    def run(self, start: Path, include: re.Pattern[str] | None) -> None:
        """Search a file or folder until done, at the limit of lines, or out of time; raises Aborted."""
        deadline = time.monotonic() + LONGEST_SEARCH_SECONDS
        for path in self._files(start, include):
            if self.abort.is_set():
                raise Aborted(self.abort.reason)
            if self.count >= MOST_HITS:
                self.notes.append(f"(Stopped after {self.count} lines; narrow the search.)")
                return
            if time.monotonic() <= deadline:
                self._file(path, _name(path, self.root), deadline)
            if time.monotonic() > deadline:
                self.notes.append(
                    f"(Stopped after {LONGEST_SEARCH_SECONDS:.0f} s; the rest was not searched. Narrow it with path or include.)"
                )
                return

    def _files(self, start: Path, include: re.Pattern[str] | None) -> Iterator[Path]:
        if start.is_file():
            yield start
            return
        for one in walk(self.root, start):
            if include and not include.match(recorded_name(one.path.relative_to(start).as_posix())):
                continue
            if not one.is_link and not is_key_file(_name(one.path, self.root)):
                yield one.path

    def _file(self, path: Path, shown: str, deadline: float) -> None:
        data = self._bytes(path, shown)
        if self.literal is not None and self.literal not in data and not data.startswith(WIDE):
            return
        if is_binary(data):
            return
        try:
            text = without_hidden_cells(TextFile.decode(data).text, shown, self.hidden).text
        except BrokenNotebook:
            self.notes.append(f"({shown} was not searched: a broken notebook with hidden cells.)")
            return
        lines: list[str] = []
        for number, line in enumerate(text.split("\n"), 1):
            if self.abort.is_set() or time.monotonic() > deadline:
                break
            match = match_in(self.pattern, line, f"line {number} of {shown}")
            if match is not None:
                lines.append(f"  {number}: {_cut(line, match.start())}")
                self.count += 1
                if self.count >= MOST_HITS:
                    break
        if lines:
            self.hits[shown] = lines

    def _bytes(self, path: Path, shown: str) -> bytes:
        try:
            size = path.stat().st_size
            if size <= LARGEST_FILE_BYTES:
                return read_real(path) if path.is_file() else b""
        except OSError:
            return b""
        self.notes.append(f"({shown} was not searched: it has {size:,} bytes.)")
        return b""

    def in_words(self, pattern: str, where: str) -> str:
        """Return the matches as text, file by file."""
        lines = [line for shown, found in self.hits.items() for line in (shown, *found)]
        return "\n".join((lines or [f"No line matches {pattern!r} in {where}."]) + self.notes)


def _name(path: Path, root: Path) -> str:
    return recorded_name(path.relative_to(root).as_posix() if root in path.parents else str(path))


def _where(place: ResolvedPath) -> str:
    return "the project" if place.shown == "." else place.shown


def _cut(line: str, position: int) -> str:
    line = line.rstrip("\r")
    if len(line) <= MOST_LINE_CHARS:
        return line
    start = max(0, min(position - MOST_LINE_CHARS // 4, len(line) - MOST_LINE_CHARS))
    end = start + MOST_LINE_CHARS
    return f"{'...' if start else ''}{line[start:end]}{'...' if end < len(line) else ''}"
