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

from palimpsest.tools.calls.error_containment import run_in_thread
from palimpsest.tools.file_access.file_contents import TextFile, is_binary, read_resolved_file
from palimpsest.tools.file_access.gitignore import walk_files
from palimpsest.tools.file_access.globs import compile_glob, split_base
from palimpsest.tools.file_access.paths import (
    ResolvedPath,
    is_key_file,
    missing_path_error,
    resolve_permitted,
    resolve_permitted_folder,
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

MAX_PATHS = 100
MAX_HITS = 200
"""Maximum matching lines of one search."""
MAX_LINE_CHARS = 300
MAX_FILE_BYTES = 20_000_000
MAX_SEARCH_SECONDS = 20.0
MAX_MATCH_SECONDS = 2.0
"""Maximum time to match one line; a good pattern takes microseconds, and one that takes seconds may take years."""

UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
        name_pattern = compile_glob(pattern)
        start_path = base if base.startswith(("/", "~")) else f"{arguments.path}/{base}"
        place = await resolve_permitted_folder(context, start_path)
        await context.ask(
            self.permission, [arguments.pattern], title=f"Find {arguments.pattern}", always=["*"]
        )
        root = context.root.resolve()
        search = _NameSearch(root, place.path, name_pattern, context.abort)
        paths, are_ignored = await run_in_thread(context.abort, search.run)
        names = [_shown_name(path, root) for path in paths[:MAX_PATHS]]
        lines = ["(Only ignored files match.)"] if are_ignored and paths else []
        lines += names or [f"No file matches {arguments.pattern} in {_place_text(place)}."]
        if len(paths) > MAX_PATHS:
            lines.append(f"({len(paths) - MAX_PATHS} more files match; narrow the pattern.)")
        if search.is_incomplete:
            lines.append(f"(Stopped after {MAX_SEARCH_SECONDS:.0f} s; give a deeper path.)")
        return ToolOutcome(arguments.pattern, "\n".join(lines), {"count": len(paths)})


@dataclass
class _NameSearch:
    root: Path
    folder: Path
    name_pattern: re.Pattern[str]
    abort: Abort
    is_incomplete: bool = False

    def run(self) -> tuple[list[Path], bool]:
        """Return the matching files, and whether they are ignored files, which are only searched if no other matches."""
        paths = self._matching_names(include_ignored=False)
        return (paths, False) if paths else (self._matching_names(include_ignored=True), True)

    def _matching_names(self, *, include_ignored: bool) -> list[Path]:
        deadline = time.monotonic() + MAX_SEARCH_SECONDS
        dated_matches: list[tuple[float, str, Path]] = []
        for entry in walk_files(self.root, self.folder, include_ignored=include_ignored):
            if self.abort.is_set():
                raise Aborted(self.abort.reason)
            if time.monotonic() > deadline:
                self.is_incomplete = True
                break
            if self.name_pattern.match(_shown_name(entry.path, self.folder)):
                dated_matches.append((-_modified_time(entry.path), str(entry.path), entry.path))
        return [path for _, _, path in sorted(dated_matches)]


def _modified_time(path: Path) -> float:
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
        pattern = compile_regex(arguments.pattern)
        name_pattern = compile_glob(arguments.include) if arguments.include else None
        place = await resolve_permitted(context, arguments.path)
        if not place.path.exists():
            raise missing_path_error(place)
        title = f"Search {arguments.pattern}"
        await context.ask(self.permission, [arguments.pattern], title=title, always=["*"])
        if place.path.is_file():
            # Searching a named file reads it, so a key file asks as for the read tool.
            await place.ask_permission(context, "read", title)
        root = context.root.resolve()
        literal, hidden_runs = required_bytes(arguments.pattern), context.hidden_runs()
        search = _LineSearch(pattern, literal, context.abort, root, hidden_runs)
        await run_in_thread(context.abort, lambda: search.run(place.path, name_pattern))
        output = context.scrubber()(search.as_text(arguments.pattern, _place_text(place)))
        metadata = {"count": search.match_count, "files": len(search.hits_by_file)}
        return ToolOutcome(arguments.pattern, output, metadata)


def compile_regex(pattern: str) -> "regex.Pattern[str]":
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


def first_match(
    pattern: "regex.Pattern[str]", line: str, location: str
) -> "regex.Match[str] | None":
    """Return the first match in a line; raises UserError where that takes too long."""
    try:
        return pattern.search(line, timeout=MAX_MATCH_SECONDS, concurrent=True)
    except TimeoutError as error:
        raise UserError(
            f"{pattern.pattern!r} takes too long on {location}: nested repeats make the search grow without end. Write it "
            "without a repeat inside a repeat."
        ) from error


MIN_LITERAL_CHARS = 3
"""Minimum characters of a literal by which whole files are passed over before their lines are matched."""
BRACKET = re.compile(r"[()\[\]{}]")
LITERAL_RUN = re.compile(r"\\[dDwWsSbB]|\\[^\w]|[\w@%&=<>~,;:'\"!/-]+|.", re.DOTALL)


def required_bytes(pattern: str) -> bytes | None:
    """Return bytes that every line that matches a pattern must contain; None where they cannot be determined.

    Only the part before the first bracket is used, since what follows may be optional.
    """
    if "|" in pattern or "(?" in pattern or not pattern.isascii():
        return None
    bracket = BRACKET.search(pattern)
    head = pattern[: bracket.start()] if bracket else pattern
    longest_literal = ""
    for match in LITERAL_RUN.finditer(head):
        token = match[0]
        if token == "\\":
            # An escape with an argument, such as \\x41: the text after it is not literal.
            return None
        if not (token[0].isalnum() or token[0] in "_@%&=<>~,;:'\"!/-"):
            continue
        # A repeat or an option applies to the last character before it.
        run = token[:-1] if pattern[match.end() : match.end() + 1] in set("*?{") else token
        longest_literal = max(longest_literal, run, key=len)
    return longest_literal.encode() if len(longest_literal) >= MIN_LITERAL_CHARS else None


@dataclass
class _LineSearch:
    """One search for lines: its pattern, limits and results."""

    pattern: "regex.Pattern[str]"
    literal_bytes: bytes | None
    abort: Abort
    root: Path
    hidden_runs: HiddenRuns = NONE_HIDDEN
    hits_by_file: dict[str, list[str]] = field(default_factory=dict)
    match_count: int = 0
    notes: list[str] = field(default_factory=list)

    def run(self, start_path: Path, name_pattern: re.Pattern[str] | None) -> None:
        """Search a file or folder until it is done or a limit of lines or time is reached; raises Aborted."""
        deadline = time.monotonic() + MAX_SEARCH_SECONDS
        for path in self._files(start_path, name_pattern):
            if self.abort.is_set():
                raise Aborted(self.abort.reason)
            if self.match_count >= MAX_HITS:
                self.notes.append(f"(Stopped after {self.match_count} lines; narrow the search.)")
                return
            if time.monotonic() <= deadline:
                self._search_file(path, _shown_name(path, self.root), deadline)
            if time.monotonic() > deadline:
                self.notes.append(
                    f"(Stopped after {MAX_SEARCH_SECONDS:.0f} s; the rest was not searched. Narrow it with path or include.)"
                )
                return

    def _files(self, start_path: Path, name_pattern: re.Pattern[str] | None) -> Iterator[Path]:
        if start_path.is_file():
            yield start_path
            return
        for entry in walk_files(self.root, start_path):
            if name_pattern and not name_pattern.match(_shown_name(entry.path, start_path)):
                continue
            if not entry.is_link and not is_key_file(_shown_name(entry.path, self.root)):
                yield entry.path

    def _search_file(self, path: Path, shown_name: str, deadline: float) -> None:
        data = self._read_file(path, shown_name)
        lacks_literal = self.literal_bytes is not None and self.literal_bytes not in data
        if (lacks_literal and not data.startswith(UTF16_BOMS)) or is_binary(data):
            return
        try:
            whole_text = TextFile.from_bytes(data).text
            text = without_hidden_cells(whole_text, shown_name, self.hidden_runs).text
        except BrokenNotebook:
            self.notes.append(
                f"({shown_name} was not searched: a broken notebook with hidden cells.)"
            )
            return
        lines: list[str] = []
        for number, line in enumerate(text.split("\n"), 1):
            if self.abort.is_set() or time.monotonic() > deadline:
                break
            match = first_match(self.pattern, line, f"line {number} of {shown_name}")
            if match is not None:
                lines.append(f"  {number}: {_cut_line(line, match.start())}")
                self.match_count += 1
                if self.match_count >= MAX_HITS:
                    break
        if lines:
            self.hits_by_file[shown_name] = lines

    def _read_file(self, path: Path, shown_name: str) -> bytes:
        try:
            size = path.stat().st_size
            if size <= MAX_FILE_BYTES:
                return read_resolved_file(path) if path.is_file() else b""
        except OSError:
            return b""
        self.notes.append(f"({shown_name} was not searched: it has {size:,} bytes.)")
        return b""

    def as_text(self, pattern: str, location: str) -> str:
        """Return the matches as text, file by file."""
        lines = [
            line
            for shown_name, matches in self.hits_by_file.items()
            for line in (shown_name, *matches)
        ]
        return "\n".join((lines or [f"No line matches {pattern!r} in {location}."]) + self.notes)


def _shown_name(path: Path, root: Path) -> str:
    """Return a path relative to a folder that contains it, else the whole path."""
    try:
        name = path.relative_to(root).as_posix()
    except ValueError:
        name = "."
    return recorded_name(str(path) if name == "." else name)


def _place_text(place: ResolvedPath) -> str:
    return "the project" if place.display_path == "." else place.display_path


def _cut_line(line: str, position: int) -> str:
    line = line.rstrip("\r")
    if len(line) <= MAX_LINE_CHARS:
        return line
    start = max(0, min(position - MAX_LINE_CHARS // 4, len(line) - MAX_LINE_CHARS))
    end = start + MAX_LINE_CHARS
    return f"{'...' if start else ''}{line[start:end]}{'...' if end < len(line) else ''}"
