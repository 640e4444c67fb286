"""Find the rollouts of subagents in the folder of the opened rollout, or in the neighbouring dated folders.

Codex sorts its rollouts by year, month and day; a subagent's may have a later day than its parent's. Only names of
files are used, never a path in a rollout; links are skipped.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from palimpsest.recordings.format_parts.codex_threads import (
    THREAD_ID,
    NamedThreads,
    ThreadHeader,
    thread_header,
)
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.sources import is_too_deep
from palimpsest.store.disk import is_regular, open_regular
from palimpsest.transcript.strings.relative_paths import recorded_name

MAX_NAMES = 50_000
"""Maximum file names that are considered."""
MAX_HEADERS = 500
"""Maximum headers that are read to find threads that file names do not show."""
MAX_HEADER_BYTES = 1_000_000
MAX_SUBAGENT_BYTES = 256_000_000
"""Size of the largest rollout that is read as a subagent; one that is imported directly may have any size."""
DAY_FOLDER = re.compile(r"\d{4}/\d{2}/\d{2}")
ROLLOUT_NAME = re.compile(rf"({THREAD_ID.pattern})\.jsonl")


class RolloutTree:
    """Finds the rollouts of a session's subagents by file name or header, within limits, and checks their parents."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._file_by_thread: dict[str, Path] = {}
        """Files, by the thread id in their names."""
        self._headers_by_thread: dict[str, tuple[Path, ThreadHeader]] | None = None
        """The files beside the opened rollout with their headers, by thread id; None before they are read."""
        remaining_names = MAX_NAMES
        for folder in _folders(self._path):
            for rollout in _rollout_files(folder, remaining_names):
                remaining_names -= 1
                if match := ROLLOUT_NAME.search(rollout.name):
                    self._file_by_thread.setdefault(match[1], rollout)

    def subagents(self, threads: NamedThreads, report: Report) -> Iterator[tuple[str, Path]]:
        """Yield the ids of the threads that a rollout started, with their files; report missing and unrelated files."""
        for thread_id in threads.possible_subagents:
            file = self._file_by_thread.get(thread_id)
            if file is None:
                file = self._headers_beside().get(thread_id, (None, None))[0]
            if file is None:
                report("", f"The rollout of the subagent {thread_id} is not beside it.")
            elif self._is_subagent(thread_id, file, threads.own_thread_id, report):
                yield thread_id, file
        if threads.has_review:
            for thread_id, (file, header) in self._headers_beside().items():
                if (
                    header.parent_id == threads.own_thread_id
                    and thread_id not in threads.possible_subagents
                ):
                    yield thread_id, file

    def _is_subagent(self, thread_id: str, file: Path, parent_id: str, report: Report) -> bool:
        header = _read_header(file)
        if header is None:
            report(file.name, "It is no rollout that can be read, and was left out.")
        elif header.thread_id != thread_id or header.parent_id != parent_id:
            report(
                file.name, f"It does not name {parent_id} as the session that began it; left out."
            )
        elif file.stat().st_size > MAX_SUBAGENT_BYTES:
            megabytes = MAX_SUBAGENT_BYTES >> 20
            report(file.name, f"It is larger than {megabytes} MB; import it by itself.")
        else:
            return True
        return False

    def _headers_beside(self) -> dict[str, tuple[Path, ThreadHeader]]:
        """Return the headers of the files beside the opened rollout, read once."""
        if self._headers_by_thread is None:
            self._headers_by_thread = {}
            for file in _rollout_files(self._path.parent, MAX_HEADERS):
                if file != self._path and (header := _read_header(file)) is not None:
                    self._headers_by_thread.setdefault(header.thread_id, (file, header))
        return self._headers_by_thread


def _folders(path: Path) -> Iterable[Path]:
    """Return the rollout's folder, or, for dated folders, the folders of its day and later days."""
    day_folder = path.parent
    if not DAY_FOLDER.fullmatch("/".join(day_folder.parts[-3:])):
        return (day_folder,)
    folders = [day_folder]
    for year in _numbered_folders(day_folder.parent.parent.parent):
        for month in _numbered_folders(year) if year.name >= day_folder.parts[-3] else ():
            folders += (d for d in _numbered_folders(month) if d.parts[-3:] > day_folder.parts[-3:])
    return folders


def _numbered_folders(folder: Path) -> list[Path]:
    return _matching_entries(
        folder,
        MAX_NAMES,
        lambda entry: entry.name.isdecimal() and entry.is_dir(follow_symlinks=False),
    )


def _rollout_files(folder: Path, max_count: int) -> list[Path]:
    """Return the files that may be rollouts, sorted, without links."""
    return _matching_entries(
        folder,
        max_count,
        lambda entry: entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False),
    )


def _matching_entries(
    folder: Path, max_count: int, is_match: Callable[[os.DirEntry[str]], bool]
) -> list[Path]:
    """Return the matching entries among the first ``max_count`` of a folder, sorted; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            first_entries = [
                entry for entry, _ in zip(entries, range(max(max_count, 0)), strict=False)
            ]
            return sorted(folder / entry.name for entry in first_entries if is_match(entry))
    except OSError:
        return []


def _read_header(file: Path) -> ThreadHeader | None:
    """Return the facts in a rollout's first line; None where it is no rollout."""
    try:
        if not is_regular(file):
            return None
        with open_regular(file) as file_object:
            line = (file_object.read(MAX_HEADER_BYTES) or b"").split(b"\n", 1)[0]
    except OSError:
        return None
    record = JsonValue(line).decoded()
    header = record.at("payload")
    is_header = isinstance(header.raw, dict) and record.get("type") == "session_meta"
    if not is_header or is_too_deep(header.raw):
        return None
    return thread_header(header, recorded_name(file.stem))
