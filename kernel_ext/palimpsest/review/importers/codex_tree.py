"""Find the rollouts of subagents: in the folder of the opened one, or in the dated folders that it lies in.

Codex keeps its rollouts by year, month and day, and a subagent's may lie under a later day than its parent's. Names
of files are looked at, never a path that a rollout holds; links are passed over.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from palimpsest.review.importers.codex_threads import (
    THREAD,
    NamedThreads,
    ThreadHeader,
    thread_header,
)
from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.json_fields import JsonValue
from palimpsest.review.importing.sources import too_deep
from palimpsest.store.disk import is_regular, open_regular
from palimpsest.transcript.strings.relative_paths import recorded_name

MOST_NAMES = 50_000
"""Names of files that are looked at."""
MOST_HEADERS = 500
"""Headers that are read where the name of a file does not tell its thread."""
HEADER_BYTES = 1_000_000
MOST_CHILD_BYTES = 256_000_000
"""A larger rollout is left out as a subagent; imported by itself, it may have any size."""
DAYS = re.compile(r"\d{4}/\d{2}/\d{2}")
ENDING = re.compile(rf"({THREAD.pattern})\.jsonl")


class RolloutTree:
    """The rollouts that may be subagents of the one at a path.

    Responsibilities: find a thread's file by its name, or by its header, within the limits; check that it names
    its parent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._files: dict[str, Path] = {}
        """Files by the thread in their names."""
        self._headers: dict[str, tuple[Path, ThreadHeader]] | None = None
        """Of the files beside the opened one, by their threads."""
        left = MOST_NAMES
        for folder in _folders(self._path):
            for one in _rollouts(folder, left):
                left -= 1
                if found := ENDING.search(one.name):
                    self._files.setdefault(found[1], one)

    def children(self, threads: NamedThreads, report: Report) -> Iterator[tuple[str, Path]]:
        """Yield the threads that a rollout began, with their files; says which are missing or none of its own."""
        for thread in threads.named:
            file = self._files.get(thread)
            if file is None:
                file = self._beside().get(thread, (None, None))[0]
            if file is None:
                report("", f"The rollout of the subagent {thread} is not beside it.")
            elif self._is_child(thread, file, threads.own, report):
                yield thread, file
        if threads.reviewed:
            for thread, (file, header) in self._beside().items():
                if header.parent == threads.own and thread not in threads.named:
                    yield thread, file

    def _is_child(self, thread: str, file: Path, parent: str, report: Report) -> bool:
        header = _header(file)
        if header is None:
            report(file.name, "It is no rollout that can be read, and was left out.")
        elif header.thread != thread or header.parent != parent:
            report(file.name, f"It does not name {parent} as the session that began it; left out.")
        elif file.stat().st_size > MOST_CHILD_BYTES:
            size = MOST_CHILD_BYTES >> 20
            report(file.name, f"It is larger than {size} MB; import it by itself.")
        else:
            return True
        return False

    def _beside(self) -> dict[str, tuple[Path, ThreadHeader]]:
        """Return the headers of the files beside the opened one, read once."""
        if self._headers is None:
            self._headers = {}
            for file in _rollouts(self._path.parent, MOST_HEADERS):
                if file != self._path and (header := _header(file)) is not None:
                    self._headers.setdefault(header.thread, (file, header))
        return self._headers


def _folders(path: Path) -> Iterable[Path]:
    """Return the folder of a rollout, or where it lies under a date the folders of this and later days."""
    day = path.parent
    if not DAYS.fullmatch("/".join(day.parts[-3:])):
        return (day,)
    found = [day]
    for year in _inside(day.parent.parent.parent):
        for month in _inside(year) if year.name >= day.parts[-3] else ():
            found += (one for one in _inside(month) if one.parts[-3:] > day.parts[-3:])
    return found


def _inside(folder: Path) -> list[Path]:
    """Return the folders with numbers as names."""
    return _chosen(
        folder, MOST_NAMES, lambda one: one.name.isdecimal() and one.is_dir(follow_symlinks=False)
    )


def _rollouts(folder: Path, most: int) -> list[Path]:
    """Return the files that may be rollouts, sorted; links are none."""
    return _chosen(
        folder, most, lambda one: one.name.endswith(".jsonl") and one.is_file(follow_symlinks=False)
    )


def _chosen(folder: Path, most: int, wanted: Callable[[os.DirEntry[str]], bool]) -> list[Path]:
    """Return what is wanted of the first entries of a folder, sorted; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            looked_at = [one for one, _ in zip(entries, range(max(most, 0)), strict=False)]
            return sorted(folder / one.name for one in looked_at if wanted(one))
    except OSError:
        return []


def _header(file: Path) -> ThreadHeader | None:
    """Return what a rollout's first line says; None where it is no rollout."""
    try:
        if not is_regular(file):
            return None
        with open_regular(file) as opened:
            line = (opened.read(HEADER_BYTES) or b"").split(b"\n", 1)[0]
    except OSError:
        return None
    record = JsonValue(line).decoded()
    meta = record.at("payload")
    known = isinstance(meta.raw, dict) and record.get("type") == "session_meta"
    return (
        thread_header(meta, recorded_name(file.stem)) if known and not too_deep(meta.raw) else None
    )
